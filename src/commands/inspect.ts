import type { Command } from 'commander'
import { stateFolder } from '../context/folders.ts'
import type { Context } from '../context.ts'
import { UsageError } from '../errors.ts'
import type { InspectionDocument } from '../events/inspection.ts'
import { inspectAnyFile, inspectBytes } from '../files/inspect-file.ts'
import { inspectFiles } from '../operations/inspect-files.ts'
import { createGate } from '../output/gate.ts'
import { inspectionReport } from '../output/inspection-report.ts'
import type { Columns } from '../output/table-cells.ts'
import { addShared, type CommonOptions, addExamples } from './shared/options/common-options.ts'
import { showOperation } from './shared/call/run-operation.ts'
import { claimStandardInput } from './shared/input/standard-input.ts'

export function registerInspect(command: Command, context: Context): void {
  addExamples(command, [
    ['modelgate inspect boat.png', 'what it is, and what made it'],
    ['modelgate inspect --json *.png | jq ".files[].credentials"'],
    ['curl -s https://HOST/a.jpg | modelgate inspect -'],
  ])
  command.argument('<file...>', 'images, videos or other files; - is standard input')
  addShared(command, 'json jsonl messages')
  command.action(async (paths: readonly string[], options: CommonOptions) => {
    for (const path of paths) {
      if (path !== '-') continue
      if (options.stdin === false)
        throw new UsageError('The file "-" is standard input, which --no-stdin forbids.')
      claimStandardInput(context, 'the file -')
    }
    const describe = ({ files }: InspectionDocument, _: unknown, columns: Columns) =>
      files.map((file) => inspectionReport(file, columns)).join('\n')
    const call = { context, options, gate: createGate(context) }
    const inspect = (path: string) =>
      path === '-' ? inspectBytes(path, standardInput(context)) : inspectAnyFile(context, path)
    await showOperation(call, { result: 'job', describe }, (output) =>
      inspectFiles(context, output, paths, inspect, stateFolder(context)),
    )
  })
}

/** All of it, of any length; a signal ends the wait for more. */
function standardInput({ stdin, signal }: Context): AsyncIterable<Uint8Array> | readonly Uint8Array[] {
  if (stdin.kind === 'empty') return []
  signal.addEventListener('abort', () => stdin.release(), { once: true })
  return stdin.read()
}
