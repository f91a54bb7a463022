import type { Command } from 'commander'
import type { Context } from '../context.ts'
import { outputVersion } from '../events/output-schema.ts'
import { describeCall, findCall } from '../operations/read-log.ts'
import { callReport } from '../output/call-report.ts'
import { createOutput } from '../output/create-output.ts'
import { createGate } from '../output/gate.ts'
import { ownLog, unreadableLines } from './log.ts'
import { printReport } from './shared/call/print-document.ts'
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
  const gate = createGate(context)
  const mode = json ? 'json' : jsonl ? 'jsonl' : undefined
  const output = createOutput(context, { mode, quiet: quiet === true, usage: false, gate, result: 'job' })
  output.event({ type: 'start', version: outputVersion, command: 'log show', model: null })
  for (const message of warnings) output.event({ type: 'warning-add', message })
  if (mode === undefined) await printReport(context, gate, (_, columns) => callReport(call, columns))
  await output.end({ version: outputVersion, command: 'log show', call, warnings })
}
