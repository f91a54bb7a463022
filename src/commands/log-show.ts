import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { outputVersion } from '../events/version.ts'
import { describeCall, findCall } from '../operations/read-log.ts'
import { callReport } from '../output/call-report.ts'
import type { Columns } from '../output/table-cells.ts'
import { damagedLines } from './log.ts'
import { openCalls } from '../files/calls/read-calls.ts'
import { stateFolder } from '../config/paths.ts'
import { printDocument } from './shared/call/print-document.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples } from './shared/help/help-layout.ts'

/** `modelgate log show`: all of one call. */
export function registerLogShow(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate log show', 'the last call'],
    ['modelgate log show 3fa9c2d1'],
    ['modelgate log show --json | jq -r .call.reply.text'],
  ])
  command.argument('[id]', 'id of the call, or the beginning of it; the last call without')
  addShared(command, 'json jsonl messages')
  command.action(async (id: string | undefined, _: unknown, self: Command) =>
    showCall(context, self.optsWithGlobals<CommonOptions>(), id),
  )
}

/** @throws UsageError, FileError */
async function showCall(
  context: Context,
  { json, jsonl, quiet }: CommonOptions,
  id: string | undefined,
): Promise<void> {
  const log = await openCalls(stateFolder(context))
  const call = await describeCall(findCall(log, id), context.cwd)
  const warnings = damagedLines(log)
  const document = { version: outputVersion, command: 'log show', call, warnings } as const
  const describe = (_: unknown, columns: Columns) => callReport(call, columns)
  await printDocument(context, { json, jsonl }, document, describe, { quiet: quiet === true })
}
