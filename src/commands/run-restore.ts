import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { RunRestoreDocument } from '../events/run-document.ts'
import { gap, oneLine } from '../output/table-cells.ts'
import { restoreVersion } from '../pipeline/changes/restore.ts'
import { byteText } from '../quantities.ts'
import { readNumber, takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { showDocument } from './run/show-document.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'

const runRestoreExamples: readonly Example[] = [
  ['modelgate run restore hero', 'lists its earlier files'],
  ['modelgate run restore hero 2', 'makes the second one the output'],
]

/** `modelgate run restore`: brings back what was put aside. */
export function registerRunRestore(command: Command, context: Context, restore = restoreVersion): void {
  addExamples(command, runRestoreExamples)
  command
    .argument('<job>', 'a job, or an instance such as photos[shoe]')
    .argument('[number]', 'number of the file in the list; without it they are listed')
  takeManifest(command)
  command.action(async (job: string, number: string | undefined, _: unknown, self: Command) => {
    const options = self.optsWithGlobals<ManifestOptions>()
    const chosen = number === undefined ? undefined : readNumber(number, 'file')
    await showDocument(context, options, await readSettings(context, options), {
      run: (call) => restore(call, job, chosen),
      result: lines,
      notes: (document) => [outcomeText(document)],
    })
  })
}

/** The path of what was restored; else a line for each: for scripts number, time, path, bytes and digest, with tabs. */
function lines({ versions, restored }: RunRestoreDocument, columns: number | undefined): string {
  if (restored !== null) return `${oneLine(versions[restored - 1]!.path)}\n`
  return versions
    .map(({ number, time, path, bytes, sha256 }) =>
      columns === undefined
        ? `${[`${number}`, time, path, `${bytes}`, sha256].map(oneLine).join('\t')}\n`
        : `${[`${number}`.padStart(3), time.slice(0, 16).replace('T', ' '), byteText(bytes).padStart(8), oneLine(path)].join(gap)}\n`,
    )
    .join('')
}

function outcomeText({ instance, versions, restored }: RunRestoreDocument): string {
  if (restored !== null) return `${instance}: file ${restored} is the output, adopted`
  if (versions.length === 0) return `No earlier file of ${instance} is kept here.`
  return 'Give its number to bring one back.'
}
