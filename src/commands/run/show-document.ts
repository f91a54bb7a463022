import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import type { ModelgateError } from '../../errors.ts'
import type { OutputDocument } from '../../events/documents.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { createGate } from '../../output/gate.ts'
import { oneLine, type Columns } from '../../output/table-cells.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { printDocument, tell } from '../shared/call/print-document.ts'
import { readSettings } from '../shared/gateway/open-gateway.ts'
import { manifestCall, type ManifestOptions } from './manifest-command.ts'

interface Work<Document> {
  run(call: ManifestCall): Promise<Document>
  result(document: Document, columns: Columns): string
  notes?(document: Document): readonly string[]
  /** What it ends with although it has been shown, if it does not end well. */
  failure?(document: Document, call: ManifestCall): ModelgateError | undefined
}

/**
 * Does what a command below `run` is for, and shows the document that it ends with.
 * @throws what `run` throws; what `failure` makes of the document
 */
export async function showDocument<
  Document extends OutputDocument & { readonly warnings: readonly string[] },
>(
  context: Context,
  options: ManifestOptions,
  settings: Settings,
  { run, result, notes = () => [], failure }: Work<Document>,
): Promise<void> {
  const { json } = options
  const gate = createGate(context)
  const call = manifestCall(context, options, settings, gate)
  const document = await run(call)
  await printDocument(context, options, document, (_, columns) => result(document, columns), { gate })
  if (!json && !settings.quiet.value) {
    for (const warning of document.warnings) tell(context, `warning: ${warning}`)
    for (const note of notes(document)) tell(context, note)
  }
  const error = failure?.(document, call)
  if (error !== undefined) throw error
}

/**
 * Changes what is locked, and shows what was: the paths of the files, and on standard error a line for each instance.
 * @param describe what was done about an instance, in one line
 * @throws UsageError; FileError; ModelgateError (exit 13) for what cannot be changed so
 */
export async function showChange(
  context: Context,
  options: ManifestOptions,
  change: (call: ManifestCall) => Promise<RunChangeDocument>,
  describe: (instance: RunChangeDocument['instances'][number]) => string,
): Promise<void> {
  await showDocument(context, options, await readSettings(context, options), {
    run: change,
    result: ({ instances }) => pathLines(instances.flatMap(({ files }) => files)),
    notes: ({ instances }) =>
      instances.length === 0 ? ['Nothing to change: it is already locked.'] : instances.map(describe),
  })
}

export function pathLines(files: readonly { readonly path: string }[]): string {
  return files.map(({ path }) => `${oneLine(path)}\n`).join('')
}
