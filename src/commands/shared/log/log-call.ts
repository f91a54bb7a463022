import { withoutHeaderValues } from '../../../files/next-command.ts'
import { stateFolder } from '../../../context/folders.ts'
import type { Context } from '../../../context.ts'
import type { Creation } from '../../../cost/creation.ts'
import { AlreadyReported, billedOf, ModelgateError } from '../../../errors.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile, TextDocument } from '../../../events/text.ts'
import type { CallBook } from '../../../files/calls/call-book.ts'
import type { CallEnd } from '../../../files/calls/call-record.ts'
import type { Spending } from '../../../operations/spending.ts'
import type { TextReply } from '../../../gateway/stream-text.ts'
import { isDeeperThan, listOf, maxJsonDepth, objectOf, stringOf } from '../../../json.ts'
import { promptOf } from '../../../operations/operation.ts'
import type { Gate } from '../../../output/gate.ts'
import type { CommandCall } from '../gateway/open-gateway.ts'
import { commandLineOf } from '../options/common-options.ts'
import type { RequestMedia, SentMedia } from './call-facts.ts'

export interface LoggedRequest extends RequestMedia {
  readonly command: string
  /** As asked for; null when the gateway chooses. */
  readonly model: string | null
  readonly creation?: Creation
  /** The jobs that are waited for. */
  readonly jobs?: readonly string[]
}

export interface EndedCall extends CommandCall {
  readonly request: LoggedRequest
  readonly book: CallBook
  readonly spending: Spending
  /** Milliseconds since 1970, and on the monotonic clock. */
  readonly began: { readonly at: number; readonly monotonic: number }
  /** Undefined when nothing came. */
  readonly document: OutputDocument | undefined
  readonly thrown: unknown
  readonly reply: TextReply | undefined
  readonly textFile: SavedFile | undefined
}

const maxMessage = 2_000

export async function logCall(call: EndedCall): Promise<void> {
  const { context } = call
  // Without a home there is no place for a log.
  if (stateFolder(context) === undefined) return
  const { stdin } = context
  const { settings, request, book, spending, began, document } = call
  const start = spending.call!
  const error = errorIn(call.thrown)
  const { body, inputs, reply } = await withoutMedia(context, request, call.reply)
  const rescued = error?.facts.rescued ?? []
  const { model, request_id, finish_reason, usage } = objectOf(document) as Partial<TextDocument>
  const end: CallEnd = {
    time: new Date(began.at).toISOString(),
    duration_ms: Math.max(0, Math.round(context.clock.monotonic() - began.monotonic)),
    ...start,
    // Anything else that was thrown is a bug.
    exit_code: call.thrown === undefined ? 0 : (error?.exitCode ?? 1),
    ...withoutUndefined({
      model: start.model ?? model ?? undefined,
      error: error && {
        code: error.code,
        message: error.message.slice(0, maxMessage),
        billed: billedOf(error),
      },
      request_id: request_id ?? undefined,
      // Not for an answer that never came.
      finish_reason: finish_reason === 'unknown' ? undefined : (finish_reason ?? undefined),
      usage: usage ?? undefined,
      response: stringOf(reply?.['id']),
      jobs: request.jobs,
      inputs: inputs.length === 0 ? undefined : inputs,
      rescued: rescued.length === 0 ? undefined : rescued,
    }),
    ...(await resultsOf(call)),
  }
  const words = withoutUndefined({
    arguments: withoutHeaderValues(commandLineOf(context)).map((word) => shownWord(call.gate, word)),
    read_stdin: (stdin.reader !== undefined && stdin.kind !== 'empty') || undefined,
    prompt: body && promptOf(body),
    request: body,
    reply,
  })
  await book.end(spending.takeIds(), end, settings.history.value === 'full' ? words : undefined)
}

/** With references in place of media; what finds them is loaded only where there are any. */
async function withoutMedia(
  context: Context,
  request: LoggedRequest,
  whole: TextReply | undefined,
): Promise<SentMedia> {
  const { body, sources = [] } = request
  // What is nested too deeply could not be written.
  const reply = isDeeperThan(whole, maxJsonDepth) ? { text: whole!.text, is_partial: true } : whole
  if (sources.length === 0 && !mayHoldMedia(body) && !mayHoldMedia(reply)) {
    return { body, inputs: [], reply: reply && { ...reply } }
  }
  return await (await import('./call-facts.ts')).sentMedia(context, request, reply)
}

/** The code for it is loaded only where there is anything. */
async function resultsOf(call: EndedCall): Promise<Pick<CallEnd, 'created' | 'files'>> {
  const { request, document, thrown, textFile, spending } = call
  const { creation } = request
  const { files, videos, partials } = objectOf(document)
  const hasFiles = textFile !== undefined || [files, videos, partials].some((list) => listOf(list).length > 0)
  if (creation === undefined && !hasFiles) return { files: [] }
  const { creationIn, filesIn } = await import('./call-facts.ts')
  const created = creationIn(creation, document, errorIn(thrown)?.facts.rescued?.length)
  return { ...(created && { created }), files: filesIn(spending.call!.cwd, document, textFile) }
}

/** Whether a value holds a long text that does not begin with words. */
function mayHoldMedia(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= 256 && !/\s/.test(value.slice(0, 256))
  return typeof value === 'object' && value !== null && Object.values(value).some(mayHoldMedia)
}

function withoutUndefined<Fields extends object>(fields: Fields) {
  type Given = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given
}

function errorIn(thrown: unknown): ModelgateError | undefined {
  const error = thrown instanceof AlreadyReported ? thrown.cause : thrown
  return error instanceof ModelgateError ? error : undefined
}

/** Without media. */
function shownWord(gate: Gate, word: string): string {
  const [start] = /^data:[^,]{0,200},/i.exec(word) ?? []
  return start === undefined ? gate.text(word) : `${start}…`
}
