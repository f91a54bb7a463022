import type { Context } from '../../context.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { createGate } from '../../output/gate.ts'
import { oneLine } from '../../output/table-cells.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { readSettings } from '../shared/gateway/open-gateway.ts'
import { printDocument, tell } from '../shared/call/print-document.ts'
import { manifestCall, type ManifestOptions } from './manifest-command.ts'

interface Change {
  change(call: ManifestCall): Promise<RunChangeDocument>
  /** What was done about an instance, in one line. */
  describe(instance: RunChangeDocument['instances'][number]): string
}

/**
 * Changes what is locked, and shows what was: the paths of the files, and on standard error a line for each instance.
 * @throws UsageError; FileError; ModelgateError (exit 13) for what cannot be changed so
 */
export async function showChange(
  context: Context,
  options: ManifestOptions,
  { change, describe }: Change,
): Promise<void> {
  const { json } = options
  const settings = await readSettings(context, options)
  const gate = createGate(context)
  const document = await change(manifestCall(context, options, settings, gate))
  const paths = document.instances.flatMap(({ files }) => files.map(({ path }) => path))
  await printDocument(
    context,
    options,
    document,
    () => paths.map((path) => `${oneLine(path)}\n`).join(''),
    gate,
  )
  if (json || settings.quiet.value) return
  for (const warning of document.warnings) tell(context, `warning: ${warning}`)
  for (const instance of document.instances) tell(context, describe(instance))
  if (document.instances.length === 0) tell(context, 'Nothing to change: it is already locked.')
}
