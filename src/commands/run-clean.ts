import type { Command } from 'commander'
import type { Context } from '../context.ts'
import type { RunCleanDocument } from '../events/run-document.ts'
import { padded, oneLine, gap } from '../output/table-cells.ts'
import { cleanProject } from '../pipeline/changes/clean.ts'
import { byteText } from '../quantities.ts'
import { takeManifest, type ManifestOptions } from './run/manifest-command.ts'
import { showDocument } from './run/show-document.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { readSettings } from './shared/gateway/open-gateway.ts'

interface CleanOptions extends ManifestOptions {
  yes?: true
  outputs?: true
}

const runCleanExamples: readonly Example[] = [
  ['modelgate run clean', 'lists what could be removed'],
  ['modelgate run clean --yes'],
  ['modelgate run clean --outputs --yes', 'also outputs of jobs that are gone'],
]

/** `modelgate run clean`: lists, or removes, what the lock does not name. */
export function registerRunClean(command: Command, context: Context, clean = cleanProject): void {
  addExamples(command, runCleanExamples)
  command
    .option('--yes', 'remove the files; without this flag they are only listed')
    .option('--outputs', 'also outputs of instances that the manifest no longer has')
  takeManifest(command)
  command.action(async (_: unknown, self: Command) => {
    const options = self.optsWithGlobals<CleanOptions>()
    const { yes, outputs } = options
    await showDocument(context, options, await readSettings(context, options), {
      run: (call) => clean(call, { isRemoving: yes === true, outputs: outputs === true }),
      result: itemLines,
      notes: (document) => [sumText(document)],
    })
  })
}

/** For scripts: path, kind, bytes and instance, separated by tabs. */
function itemLines({ items }: RunCleanDocument, columns: number | undefined): string {
  if (columns === undefined) {
    return items
      .map(
        ({ path, kind, bytes, instance }) =>
          `${[path, kind, String(bytes), instance ?? ''].map(oneLine).join('\t')}\n`,
      )
      .join('')
  }
  const rows = items.map(({ path, kind, bytes, instance }) => {
    const of = instance === null ? '' : ` (${oneLine(instance)})`
    return [padded(kind, 'candidate'.length), byteText(bytes).padStart(8), `${oneLine(path)}${of}`].join(gap)
  })
  return rows.map((row) => `${row}\n`).join('')
}

function sumText({ items, bytes, removed }: RunCleanDocument): string {
  if (items.length === 0) return 'There is nothing to remove.'
  const sum = `${items.length === 1 ? '1 file' : `${items.length} files`}, ${byteText(bytes)}`
  return removed ? `${sum}: removed.` : `${sum}: --yes removes ${items.length === 1 ? 'it' : 'them'}.`
}
