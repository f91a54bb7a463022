import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { asModelgateError } from '../../errors.ts'
import type { RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import { createGate, type Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { runRenderer } from '../../output/run/run-output.ts'
import { writeStepResults } from '../../output/run/step-results.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { showOperation } from '../shared/call/run-operation.ts'
import { manifestCall, type ManifestOptions } from './manifest-command.ts'

interface RunWork {
  run(call: ManifestCall, gate: Gate, output: Output): Promise<Outcome<RunDocument>>
  /** Whether a request that may cost money has been sent; not given where none is. */
  hasSent?(): boolean
}

/**
 * Runs it, and shows it.
 * @throws AlreadyReported for a failure
 */
export async function showRun(
  context: Context,
  flags: ManifestOptions,
  settings: Settings,
  { run, hasSent = () => false }: RunWork,
): Promise<void> {
  const gate = createGate(context)
  const quiet = settings.quiet.value
  const view = { quiet, gate, hasSent, result: 'files', own: runRenderer(context) } as const
  await showOperation(context, flags, view, async (output) => {
    const call = manifestCall(context, flags, settings, gate)
    const outcome = await run(call, gate, output).catch((thrown: unknown): Outcome<RunDocument> => {
      const error = asModelgateError(thrown, flags.debug === true)
      const billed = hasSent() ? 'maybe' : 'no'
      return { kind: 'failed', error: error.amend({ billed, ...error.facts }), document: undefined }
    })
    if (outcome.document !== undefined) await writeSummary(context, gate, output, outcome.document)
    return outcome
  })
}

/** The page of a workflow run is worth a warning, not the result. */
async function writeSummary(
  context: Context,
  gate: Gate,
  output: Output,
  document: RunDocument,
): Promise<void> {
  const summary = async () => {
    const { runSummary } = await import('../../pipeline/report/markdown-report.ts')
    return gate.text(runSummary(document))
  }
  try {
    const left = await writeStepResults(context, document, gate.document, summary)
    if (left.length === 0) return
    const message = `Too long for a step output, and left out: ${left.join(', ')}. --json has all of it.`
    output.event({ type: 'warning-add', message })
  } catch (error) {
    const { message } = asModelgateError(error, false)
    output.event({ type: 'warning-add', message: `The summary of the job was not written: ${message}` })
  }
}
