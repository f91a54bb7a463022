import { Option, type Command } from 'commander'
import { rescueFolder } from '../../context/folders.ts'
import type { Context } from '../../context.ts'
import { asModelgateError, type ModelgateError } from '../../errors.ts'
import type { OutputDocument } from '../../events/documents.ts'
import type { RunDocument } from '../../events/run-document.ts'
import type { Outcome } from '../../operations/operation.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { runRenderer } from '../../output/run/run-output.ts'
import { writeStepResults } from '../../output/step-output.ts'
import { tabbedText, type Columns } from '../../output/table-cells.ts'
import type { ManifestCall } from '../../pipeline/run/project.ts'
import { printDocument, printNote } from '../shared/call/print-document.ts'
import { showOperation } from '../shared/call/run-operation.ts'
import { startCall, type CommandCall } from '../shared/gateway/open-gateway.ts'
import { isCiSet } from '../shared/input/questions.ts'
import { addShared, type CommonOptions } from '../shared/options/common-options.ts'

export interface ManifestOptions extends CommonOptions {
  file?: string
}

export const fileOption = (
  about = 'the manifest (default: modelgate.yaml in this folder, or in the nearest one above)',
) => new Option('-f, --file <file>', about)

export function takeManifest(command: Command, more = '', meanings: Readonly<Record<string, string>> = {}) {
  command.addOption(fileOption())
  addShared(command, `json sandbox profile messages ${more}`.trimEnd(), meanings)
  return command
}

/** For the execution of requests, in this process or by a worker. */
export function executeSettings({ context, settings }: CommandCall) {
  return {
    prices: settings.prices.value,
    families: settings.families.value,
    profile: settings.profile.value,
    pollIntervalS: settings.pollInterval.value,
    rescueFolder: rescueFolder(context),
  }
}

type OpenManifest = CommandCall<ManifestOptions>

function manifestCall(call: OpenManifest): ManifestCall {
  const { context, gate } = call
  const { env, program } = context
  const { file, sandbox } = call.options
  const same = [...(file === undefined ? [] : ['-f', file]), ...(sandbox ? ['--sandbox'] : [])]
  return {
    ...executeSettings(call),
    context,
    env,
    redactor: gate,
    file,
    isSandbox: sandbox === true,
    next: (...words) => [program, 'run', ...words, ...same],
    generating: isCiSet(env) ? ['--generate'] : [],
  }
}

interface Work<Document> {
  run(manifest: ManifestCall, call: OpenManifest): Promise<Document>
  result(document: Document, columns: Columns): string
  notes?(document: Document): readonly string[]
  /** What it ends with although it has been shown, if it does not end well. */
  failure?(document: Document, manifest: ManifestCall): ModelgateError | undefined
}

/** Does what a command below `run` is for, and shows its document. @throws what `run` throws and `failure` makes of it */
export async function showDocument<
  Document extends OutputDocument & { readonly warnings: readonly string[] },
>(context: Context, options: ManifestOptions, work: Work<Document>): Promise<void> {
  const call = await startCall(context, options)
  const { settings, gate } = call
  const manifest = manifestCall(call)
  const document = await work.run(manifest, call)
  await printDocument(context, options, document, (_, columns) => work.result(document, columns), { gate })
  if (!options.json && !settings.quiet.value) {
    const warnings = document.warnings.map((warning) => `warning: ${warning}`)
    for (const note of [...warnings, ...(work.notes?.(document) ?? [])]) printNote(context, note)
  }
  const error = work.failure?.(document, manifest)
  if (error !== undefined) throw error
}

export function pathLines(files: readonly { readonly path: string }[]): string {
  return tabbedText(files, ({ path }) => [path])
}

/** @param hasSent whether a request that may cost money has been sent; left out where none is */
export async function showRun(
  call: OpenManifest,
  run: (manifest: ManifestCall, output: Output) => Promise<Outcome<RunDocument>>,
  hasSent = () => false,
): Promise<void> {
  const { context, options, gate } = call
  await showOperation(call, { hasSent, result: 'files', own: runRenderer }, async (output) => {
    const outcome = await run(manifestCall(call), output).catch((thrown: unknown): Outcome<RunDocument> => {
      const error = asModelgateError(thrown, options.debug === true)
      const billed = hasSent() ? 'maybe' : 'no'
      return { kind: 'failed', error: error.amend({ billed, ...error.facts }), document: undefined }
    })
    if (outcome.document !== undefined) await writeSummary(context, gate, output, outcome.document)
    return outcome
  })
}

/** The page of a workflow run is worth a warning, not the result. */
async function writeSummary(context: Context, gate: Gate, output: Output, document: RunDocument) {
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
