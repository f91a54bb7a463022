import type { Context } from '../../context.ts'
import { AlreadyReported, asModelgateError } from '../../errors.ts'
import { rescueFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Gateway, GatewayRequest } from '../../gateway/gateway.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import type { OutputDocument } from '../../events/documents.ts'
import { requestIdOf, type Call, type Outcome } from '../../operations/operation.ts'
import { createOutput, type OutputOptions } from '../../output/create-output.ts'
import { isDryRun, type CommonOptions } from './common-options.ts'
import { keyForShell, printRequest, type PrintableContent } from './dry-run.ts'
import { lineLimit, openGateway, sandboxKey } from './open-gateway.ts'

/** What a command runs, and how its output is rendered. */
interface CommandRun<Document extends OutputDocument> {
  /** Whether the reply is expected as a stream. */
  readonly streamed: boolean
  /** The request as `--dry-run` shows it. */
  describeRequest(gateway: Gateway): { readonly request: GatewayRequest; readonly content: PrintableContent }
  /** Options for the renderer. Evaluated only when there is something to render, so that a dry run creates no file. */
  output(): Partial<OutputOptions> | Promise<Partial<OutputOptions>>
  operation(call: Call, gate: Gate): Promise<Outcome<Document>>
  /** The command's own gate, if it was created before the gateway is opened. */
  readonly gate?: Gate
  /** About the request; the operation reports them itself, a dry run shows them here. */
  readonly warnings?: readonly string[]
}

/**
 * Runs the operation of a command: opens the gateway, prints a dry run instead, renders the events, reports the
 * outcome.
 * @throws AlreadyReported for a failure, which has been reported by then
 */
export async function runOperation<Document extends OutputDocument>(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  command: CommandRun<Document>,
): Promise<void> {
  const { streamed, describeRequest, output: describeOutput, operation, gate: ownGate } = command
  let output: Output | undefined
  const { gateway, gate, hasSent, close } = await openGateway(
    context,
    options,
    settings,
    streamed,
    () => output,
    ownGate,
  )
  try {
    if (isDryRun(options)) {
      const { request, content } = describeRequest(gateway)
      for (const message of settings.quiet.value ? [] : (command.warnings ?? [])) {
        context.stderr.write(`${gate.line(`warning: ${message}`, lineLimit)}\n`)
      }
      const shellKey = options.sandbox ? sandboxKey : await keyForShell(settings)
      return await printRequest(context, options, { gateway, gate, shellKey }, request, content)
    }
    const renderer = openOutput(context, options, settings, gate, await describeOutput())
    output = renderer
    const call: Call = {
      context,
      gateway,
      listener: listenerOf(renderer, options),
      redactor: gate,
      rescueFolder: rescueFolder(context),
      hasSent,
    }
    await reportOutcome(renderer, options, await operation(call, gate), hasSent)
  } finally {
    await close()
  }
}

/** The renderer of a command, as its flags ask for it. */
export function openOutput(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  gate: Gate,
  more: Partial<OutputOptions>,
): Output {
  return createOutput(context, {
    mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
    quiet: settings.quiet.value,
    usage: options.usage === true,
    gate,
    ...more,
  })
}

/** The gateway's own JSON is passed on only if the output shows it: decoding is faster without. */
export function listenerOf(output: Output, { raw }: CommonOptions): Call['listener'] {
  return {
    event: (event) => output.event(event),
    flush: () => output.flush(),
    raw: raw ? (text) => output.raw(text) : undefined,
  }
}

/**
 * Ends the output of a command with the outcome of its operation.
 * @param hasSent whether a request that may cost money has been sent
 * @throws AlreadyReported for a failure
 */
export async function reportOutcome<Document extends OutputDocument>(
  output: Output,
  { json, jsonl, debug }: CommonOptions,
  outcome: Outcome<Document>,
  hasSent: () => boolean = () => false,
): Promise<void> {
  if (outcome.kind === 'failed') {
    await output.error(outcome.error, outcome.document)
    throw new AlreadyReported(outcome.error)
  }
  const { document, failure } = outcome
  try {
    // The document on standard output lists every item; standard error has the messages.
    if (failure === undefined || json || jsonl) await output.end(document)
    else await output.error(failure, document)
  } catch (error) {
    const billed = hasSent() ? 'yes' : 'no'
    const known = asModelgateError(error, debug === true)
    const reported = known.amend({ billed, requestId: requestIdOf(document), ...known.facts })
    await output.error(reported, document)
    throw new AlreadyReported(reported)
  }
  if (failure !== undefined) throw new AlreadyReported(failure)
}
