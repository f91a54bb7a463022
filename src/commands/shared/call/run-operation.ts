import type { Context } from '../../../context.ts'
import {
  AlreadyReported,
  asModelgateError,
  billedOf,
  UsageError,
  type ModelgateError,
} from '../../../errors.ts'
import { rescueFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Gateway, GatewayRequest } from '../../../gateway/gateway.ts'
import type { Gate } from '../../../output/gate.ts'
import type { Output } from '../../../output/output.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile } from '../../../events/text.ts'
import type { TextFile } from '../../../files/text-file.ts'
import type { TextReply } from '../../../gateway/stream-text.ts'
import { requestIdOf, type Call, type Outcome } from '../../../operations/operation.ts'
import { createOutput, type OutputOptions } from '../../../output/create-output.ts'
import { commandLineOf, isDryRun, type CommonOptions } from '../options/common-options.ts'
import type { LoggedRequest } from '../log/log-call.ts'
import { keyForShell, printRequest, type PrintableContent } from './dry-run.ts'
import { lineLimit, openGateway, sandboxKey, type OpenGateway } from '../gateway/open-gateway.ts'

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
  /** What the log keeps of the request; without it the call is not in the log, as a mere look-up. */
  readonly logged?: LoggedRequest
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
  const { streamed, describeRequest, gate: ownGate } = command
  let output: Output | undefined
  const opened = await openGateway(context, options, settings, streamed, () => output, ownGate)
  const { gateway, gate } = opened
  try {
    if (isDryRun(options)) {
      const { request, content } = describeRequest(gateway)
      for (const message of settings.quiet.value ? [] : (command.warnings ?? [])) {
        context.stderr.write(`${gate.line(`warning: ${message}`, lineLimit)}\n`)
      }
      const shellKey = options.sandbox ? sandboxKey : await keyForShell(settings)
      return await printRequest(context, options, { gateway, gate, shellKey }, request, content)
    }
    await performOperation(
      context,
      options,
      settings,
      opened,
      command,
      (renderer) => void (output = renderer),
    )
  } finally {
    await opened.close()
  }
}

/**
 * Runs an operation on a gateway that is open: renders its events, reports its outcome, adds the call to the log.
 * @param onOutput gets the renderer, for what the gateway itself has to tell
 * @throws AlreadyReported for a failure, which has been reported by then
 */
export async function performOperation<Document extends OutputDocument>(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  { gateway, gate, spending, hasSent }: Omit<OpenGateway, 'close'>,
  {
    output: describeOutput,
    operation,
    logged,
  }: Pick<CommandRun<Document>, 'output' | 'operation' | 'logged'>,
  onOutput: (output: Output) => void,
): Promise<void> {
  const log = beginLog(context, options, settings, { gate, gateway, request: logged })
  const parts = await describeOutput()
  const output = await openOutput(context, options, settings, gate, {
    ...parts,
    file: parts.file && log.noting(parts.file),
  })
  onOutput(output)
  const call: Call = {
    context,
    gateway,
    listener: { ...listenerOf(output, options), reply: log.takeReply },
    redactor: gate,
    rescueFolder: rescueFolder(context),
    spending,
    hasSent,
  }
  const outcome = await operation(call, gate)
  await log.end(outcome, hasSent, () => reportOutcome(output, options, outcome, hasSent))
}

/** Gathers what the log keeps of a call that has begun. */
interface CallLog {
  /** For the listener of the operation; undefined where nobody wants the reply. */
  readonly takeReply: ((reply: TextReply) => void) | undefined
  /** The file of the model's text, which becomes a file of the call. */
  noting(file: TextFile): TextFile
  /**
   * Reports the outcome, and adds the call to the log, if it has sent anything. A log that cannot be written is a warning.
   * @throws whatever `report` throws
   */
  end(outcome: Outcome<OutputDocument>, hasSent: () => boolean, report: () => Promise<void>): Promise<void>
}

interface Logged {
  readonly gate: Gate
  readonly gateway: Gateway
  /** Undefined for a call that is not in the log. */
  readonly request: LoggedRequest | undefined
}

/** Begins the entry of a call in the log, unless the settings or the command want none. */
function beginLog(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  { gate, gateway, request }: Logged,
): CallLog {
  const { clock, stderr } = context
  const { value: history } = settings.history
  if (request === undefined || history === 'off') {
    return { takeReply: undefined, noting: (file) => file, end: (_, __, report) => report() }
  }
  const began = { at: clock.now(), monotonic: clock.monotonic() }
  let reply: TextReply | undefined
  let textFile: SavedFile | undefined
  const add = async (document: OutputDocument | undefined, thrown: unknown) => {
    try {
      // Loaded now, when the result has been shown.
      const { logCall } = await import('../log/log-call.ts')
      const call = { options, settings, gate, request, gateway, began, document, thrown, reply, textFile }
      await logCall(context, call)
    } catch (error) {
      if (settings.quiet.value) return
      const { message } = asModelgateError(error, options.debug === true)
      const hint = 'MODELGATE_HISTORY=off keeps no log.'
      stderr.write(`${gate.line(`warning: The call is not in the log: ${message} ${hint}`, lineLimit)}\n`)
    }
  }
  return {
    takeReply: history === 'full' ? (whole) => void (reply = whole) : undefined,
    noting: (file) => ({ ...file, commit: async () => (textFile = await file.commit()) }),
    async end({ document }, hasSent, report) {
      let thrown: unknown
      try {
        await report()
      } catch (error) {
        thrown = error
        throw error
      } finally {
        // A look-up costs nothing, so it counts only if it came to something.
        if (hasSent() || (request.jobs !== undefined && document !== undefined)) await add(document, thrown)
      }
    },
  }
}

/**
 * The renderer of a command, as its flags ask for it.
 * @throws UsageError, FileError when `--github-output` cannot be obeyed
 */
export async function openOutput(
  context: Context,
  options: CommonOptions,
  settings: Settings,
  gate: Gate,
  more: Partial<OutputOptions>,
): Promise<Output> {
  const { githubOutput } = options
  if (githubOutput !== undefined && options.output === '-' && more.result === 'files') {
    throw new UsageError('--github-output takes paths, and -o - writes the bytes to standard output.')
  }
  const step =
    githubOutput === undefined
      ? undefined
      : (await import('../../../output/step-output.ts')).openStepOutput(context, githubOutput)
  const output = createOutput(context, {
    mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
    quiet: settings.quiet.value,
    usage: options.usage === true,
    gate,
    step,
    ...more,
  })
  return { ...output, error: (error, partial) => output.error(withSameCall(context, error), partial) }
}

/** Where nothing was accepted, the command to run next is the same call, unless its input has been read. */
function withSameCall(context: Context, error: ModelgateError): ModelgateError {
  const words = commandLineOf(context)
  const isSafe = (error.exit === 'later' || error.exit === 'notSent') && billedOf(error) === 'no'
  if (!isSafe || error.facts.next !== undefined || words.length === 0) return error
  const isLost = context.stdin.kind === 'pipe' || context.stdin.kind === 'file'
  return isLost ? error : error.amend({ next: [context.program, ...words] })
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
