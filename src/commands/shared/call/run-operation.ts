import type { Context } from '../../../context.ts'
import {
  AlreadyReported,
  asModelgateError,
  billedOf,
  UsageError,
  type ModelgateError,
} from '../../../errors.ts'
import { rescueFolder } from '../../../context/folders.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import type { CallStart } from '../../../files/calls/call-record.ts'
import type { Output } from '../../../output/output.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile } from '../../../events/text.ts'
import type { TextReply } from '../../../gateway/stream-text.ts'
import { requestIdOf, type Call, type Outcome } from '../../../operations/operation.ts'
import { createOutput, type OutputOptions } from '../../../output/create-output.ts'
import { loadColours } from '../../../output/screen.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import type { EndedCall, LoggedRequest } from '../log/log-call.ts'
import { printRequest, type PrintableRequest } from './dry-run.ts'
import { lineLimit, openGateway, type CommandCall, type OpenGateway } from '../gateway/open-gateway.ts'

interface CommandRun {
  readonly streamed?: boolean
  /** For `--dry-run`; left out by a command that refuses it. */
  describeRequest?(gateway: Gateway): PrintableRequest
  /** Evaluated only when there is something to render, so that a dry run creates no file. */
  output(): Partial<OutputOptions> | Promise<Partial<OutputOptions>>
  operation(call: Call): Promise<Outcome<OutputDocument>>
  /** A gateway that is open already, and stays so. */
  readonly opened?: OpenGateway
  /** The file for text that standard output does not take. */
  readonly rescue?: string | undefined
  /** Left out for a mere look-up, which is not in the log. */
  readonly logged?: LoggedRequest
  /** About the request; the operation reports them itself, a dry run shows them here. */
  readonly warnings?: readonly string[]
}

/**
 * Prints a dry run instead, renders the events, reports the outcome, adds the call to the log.
 * @throws AlreadyReported for a failure, which has been reported by then
 */
export async function runOperation(given: CommandCall, command: CommandRun): Promise<void> {
  const { context, options, settings, gate } = given
  const { describeRequest, operation, logged, warnings = [] } = command
  const { history, quiet } = settings
  const opened = command.opened ?? (await openGateway(given, command.streamed))
  const { gateway, spending, hasSent } = opened
  try {
    if (isDryRun(options)) {
      if (options.sandbox && options.curl && !options.quiet) {
        context.stderr.write('modelgate: Start the sandbox first: modelgate sandbox --port 8080\n')
      }
      for (const message of quiet.value ? [] : warnings) {
        context.stderr.write(`${gate.line(`warning: ${message}`, lineLimit)}\n`)
      }
      await printRequest(given, gateway, describeRequest!(gateway))
      return
    }
    if (logged !== undefined) spending.call = callStart(given, gateway, logged)
    const began = { at: context.clock.now(), monotonic: context.clock.monotonic() }
    let reply: TextReply | undefined
    let textFile: SavedFile | undefined
    const rescue =
      command.rescue === undefined ? undefined : { folder: rescueFolder(context), name: command.rescue }
    const output = await openOutput(given, async () => {
      const { file, ...parts } = await command.output()
      // The file of the model's text becomes a file of the call.
      const noted = file && { ...file, commit: async (text: string) => (textFile = await file.commit(text)) }
      return { ...parts, file: noted, rescue }
    })
    opened.reportTo(output)
    const keepsReply = logged !== undefined && history.value === 'full'
    const call: Call = {
      context,
      gateway,
      listener: {
        event: output.event,
        flush: output.flush,
        // Passed on only if the output shows it: decoding is faster without.
        raw: options.raw ? output.raw : undefined,
        reply: keepsReply ? (whole) => void (reply = whole) : undefined,
      },
      redactor: gate,
      rescueFolder: rescueFolder(context),
      spending,
      hasSent,
    }
    const outcome = await operation(call)
    const { document } = outcome
    const thrown = await reportOutcome(output, options, outcome, hasSent).then(
      () => undefined,
      (error: unknown) => error,
    )
    // A look-up costs nothing, so it counts only if it came to something.
    if (logged !== undefined && (hasSent() || (logged.jobs !== undefined && document !== undefined))) {
      await addToLog({ ...given, request: logged, spending, began, document, thrown, reply, textFile })
    }
    if (thrown !== undefined) throw thrown
  } finally {
    if (command.opened === undefined) await opened.close()
  }
}

function callStart(
  { context, options: { sandbox }, settings: { profile } }: CommandCall,
  gateway: Gateway,
  { command, model }: LoggedRequest,
): CallStart {
  return {
    command,
    cwd: workingDirectory(context),
    terminal: context.terminalId,
    ...(sandbox ? { sandbox } : { origin: gateway.baseUrl.origin }),
    profile: profile.level === 'default' ? undefined : profile.value,
    model: model ?? undefined,
  }
}

/** It may have been removed meanwhile. */
function workingDirectory(context: Context): string {
  try {
    return context.cwd
  } catch {
    return ''
  }
}

async function addToLog(call: EndedCall): Promise<void> {
  try {
    // Loaded now, when the result has been shown.
    await (await import('../log/log-call.ts')).logCall(call)
  } catch (error) {
    if (call.settings.quiet.value) return
    const { message } = asModelgateError(error, call.options.debug === true)
    const line = call.gate.line(`warning: The call is not in the log: ${message}`, lineLimit)
    call.context.stderr.write(`${line}\n`)
  }
}

export type View = Omit<OutputOptions, 'mode' | 'usage' | 'step' | 'quiet' | 'gate'> & {
  readonly hasSent?: () => boolean
}

/** A call for which no settings were read is as quiet as its flag says. */
type ShownCall = Omit<CommandCall, 'settings'> & { readonly settings?: Settings }

/** For an operation that needs no gateway, or opens its own. @throws AlreadyReported for a failure */
export async function showOperation(
  call: ShownCall,
  { hasSent, ...view }: View,
  operation: (output: Output) => Outcome<OutputDocument> | Promise<Outcome<OutputDocument>>,
): Promise<void> {
  const output = await openOutput(call, () => view)
  await reportOutcome(output, call.options, await operation(output), hasSent)
}

async function openOutput(
  { context, options, settings, gate }: ShownCall,
  openView: () => View | Promise<View>,
): Promise<Output> {
  const { githubOutput } = options
  const step =
    githubOutput === undefined
      ? undefined
      : (await import('../../../output/step-output.ts')).openStepOutput(context, githubOutput)
  // Last, since it may create a file, which a refusal of the step's output must not leave.
  const view = await openView()
  if (step !== undefined && options.output === '-' && view.result === 'files') {
    throw new UsageError('--github-output takes paths, and -o - writes the bytes to standard output.')
  }
  const mode = options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined
  await loadColours(context)
  const quiet = settings?.quiet.value ?? options.quiet === true
  const output = createOutput(context, { ...view, quiet, gate, mode, usage: options.usage === true, step })
  return { ...output, error: (error, partial) => output.error(withSameCall(context, error), partial) }
}

/** Where nothing was accepted, the command to run next is the same call, unless its input has been read. */
function withSameCall(context: Context, error: ModelgateError): ModelgateError {
  const { commandLine: words = [] } = context
  const isSafe = (error.exit === 'later' || error.exit === 'notSent') && billedOf(error) === 'no'
  if (!isSafe || error.facts.next !== undefined || words.length === 0) return error
  const isLost = context.stdin.kind === 'pipe' || context.stdin.kind === 'file'
  return isLost ? error : error.amend({ next: [context.program, ...words] })
}

/** @throws AlreadyReported for a failure */
async function reportOutcome(
  output: Output,
  { json, jsonl, debug }: CommonOptions,
  outcome: Outcome<OutputDocument>,
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
