import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import type { ModelgateError } from '../../errors.ts'
import type { OutputDocument } from '../../events/documents.ts'
import { createGate, type Gate } from '../../output/gate.ts'
import { oneLine, type Columns } from '../../output/table-cells.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { printDocument, tell } from '../shared/call/print-document.ts'
import { readSettings } from '../shared/gateway/open-gateway.ts'
import { manifestCall, type ManifestOptions } from './manifest-command.ts'

interface Work<Document> {
  run(call: ManifestCall, settings: Settings, gate: Gate): Promise<Document>
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
  { run, result, notes = () => [], failure }: Work<Document>,
): Promise<void> {
  const settings = await readSettings(context, options)
  const gate = createGate(context)
  const call = manifestCall(context, options, settings, gate)
  const document = await run(call, settings, gate)
  await printDocument(context, options, document, (_, columns) => result(document, columns), { gate })
  if (!options.json && !settings.quiet.value) {
    for (const warning of document.warnings) tell(context, `warning: ${warning}`)
    for (const note of notes(document)) tell(context, note)
  }
  const error = failure?.(document, call)
  if (error !== undefined) throw error
}

export function pathLines(files: readonly { readonly path: string }[]): string {
  return files.map(({ path }) => `${oneLine(path)}\n`).join('')
}
