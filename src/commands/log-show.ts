import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { outputVersion } from '../events/version.ts'
import { describeCall, findCall } from '../operations/read-log.ts'
import { callReport } from '../output/call-report.ts'
import type { Columns } from '../output/table-cells.ts'
import { ownLog, unreadableLines } from './log.ts'
import { printDocument } from './shared/call/print-document.ts'
import { addShared, type CommonOptions } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'

const logShowExamples: readonly Example[] = [
  ['modelgate log show', 'the last call'],
  ['modelgate log show 3'],
  ['modelgate log show 3 --json | jq -r .call.reply.text'],
]

/** `modelgate log show`: all of one call. */
export function registerLogShow(command: Command, context: Context): void {
  addExamples(command, logShowExamples)
  command.argument('[number]', 'number of the call, 1 being the newest, or its id', '1')
  addShared(command, 'json jsonl messages')
  command.action(async (name: string, _: unknown, self: Command) =>
    showCall(context, self.optsWithGlobals<CommonOptions>(), name),
  )
}

/** @throws UsageError, FileError */
async function showCall(
  context: Context,
  { json, jsonl, quiet }: CommonOptions,
  name: string,
): Promise<void> {
  const log = ownLog(context)
  const call = await describeCall(findCall(log, name), context.cwd)
  const warnings = unreadableLines(log)
  const document = { version: outputVersion, command: 'log show', call, warnings } as const
  const describe = (_: unknown, columns: Columns) => callReport(call, columns)
  await printDocument(context, { json, jsonl }, document, describe, { quiet: quiet === true })
}
