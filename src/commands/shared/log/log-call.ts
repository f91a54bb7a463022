import { resolve } from 'node:path'
import { withoutHeaderValues } from '../../../files/next-command.ts'
import { stateFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { Creation } from '../../../cost/creation.ts'
import { AlreadyReported, billedOf, ModelgateError } from '../../../errors.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile } from '../../../events/text.ts'
import type { CallBook } from '../../../files/calls/call-book.ts'
import type { CallEnd, RecordedCreation, RecordedFile } from '../../../files/calls/call-record.ts'
import type { Spending } from '../../../operations/spending.ts'
import { extensionOf } from '../../../files/media-type.ts'
import type { TextReply } from '../../../gateway/stream-text.ts'
import { isDeeperThan, maxJsonDepth, stringOf, type JsonObject } from '../../../json.ts'
import { promptOf } from '../../../operations/operation.ts'
import type { Gate } from '../../../output/gate.ts'
import { commandLineOf, type CommonOptions } from '../options/common-options.ts'
import type { RequestMedia, SentMedia } from './sent-media.ts'

export interface LoggedRequest extends RequestMedia {
  /** `image create`. */
  readonly command: string
  /** As asked for; null when the gateway chooses. */
  readonly model: string | null
  readonly creation?: Creation
  /** The jobs that are waited for. */
  readonly jobs?: readonly string[]
}

export interface EndedCall {
  readonly settings: Settings
  readonly options: CommonOptions
  readonly gate: Gate
  readonly request: LoggedRequest
  readonly book: CallBook
  readonly spending: Spending
  /** When it began: milliseconds since 1970, and on the monotonic clock. */
  readonly began: { readonly at: number; readonly monotonic: number }
  /** Undefined when nothing came. */
  readonly document: OutputDocument | undefined
  /** What it ends with: what was thrown, if anything. */
  readonly thrown: unknown
  readonly reply: TextReply | undefined
  /** The file of the model's text. */
  readonly textFile: SavedFile | undefined
}

const maxMessage = 2_000

/**
 * Records how a call ended.
 * @throws FileError; whatever else goes wrong while the record is put together
 */
export async function logCall(context: Context, call: EndedCall): Promise<void> {
  // Without a home there is no place for a log.
  if (stateFolder(context) === undefined) return
  const { settings, request, book, spending, began, document } = call
  const start = spending.call!
  const error = errorIn(call.thrown)
  const { body, inputs, reply } = await withoutMedia(context, request, call.reply)
  const rescued = error?.facts.rescued ?? []
  const end: CallEnd = {
    time: new Date(began.at).toISOString(),
    duration_ms: Math.max(0, Math.round(context.clock.monotonic() - began.monotonic)),
    ...start,
    exit_code: exitCodeOf(call.thrown),
    ...withoutUndefined({
      model: start.model ?? modelIn(document),
      error: error && {
        code: error.code,
        message: error.message.slice(0, maxMessage),
        billed: billedOf(error),
      },
      request_id: document && 'request_id' in document ? (document.request_id ?? undefined) : undefined,
      finish_reason: finishReasonIn(document),
      usage: document && 'usage' in document ? (document.usage ?? undefined) : undefined,
      created: creationIn(request, document, error),
      response: stringOf(reply?.['id']),
      jobs: request.jobs,
      inputs: inputs.length === 0 ? undefined : inputs,
      rescued: rescued.length === 0 ? undefined : rescued,
    }),
    files: filesIn(start.cwd, document, call.textFile),
  }
  const words = withoutUndefined({
    arguments: withoutHeaderValues(commandLineOf(context)).map((word) => shownWord(call.gate, word)),
    read_stdin: hasReadInput(context) || undefined,
    prompt: body && promptOf(body),
    request: body,
    reply,
  })
  await book.end(spending.takeIds(), end, settings.history.value === 'full' ? words : undefined)
}

/** Request and reply with references in place of media; what finds them is loaded only where there are any. */
async function withoutMedia(
  context: Context,
  request: LoggedRequest,
  whole: TextReply | undefined,
): Promise<SentMedia & { readonly reply: JsonObject | undefined }> {
  const { body, sources = [] } = request
  // What is nested too deeply could not be written.
  const reply = isDeeperThan(whole, maxJsonDepth) ? { text: whole!.text, is_partial: true } : whole
  if (sources.length === 0 && !mayHoldMedia(body) && !mayHoldMedia(reply)) {
    return { body, inputs: [], reply: reply && { ...reply } }
  }
  const { keptReply, sentMedia } = await import('./sent-media.ts')
  return { ...(await sentMedia(context, request)), reply: reply && keptReply(reply as TextReply) }
}

/** Whether a value holds a long text that does not begin with words. */
function mayHoldMedia(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= 256 && !/\s/.test(value.slice(0, 256))
  return typeof value === 'object' && value !== null && Object.values(value).some(mayHoldMedia)
}

/** The fields that have a value. */
function withoutUndefined<Fields extends object>(fields: Fields) {
  type Given = { readonly [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given
}

function exitCodeOf(thrown: unknown): number {
  if (thrown === undefined) return 0
  return thrown instanceof AlreadyReported || thrown instanceof ModelgateError ? thrown.exitCode : 1
}

function errorIn(thrown: unknown): ModelgateError | undefined {
  const error = thrown instanceof AlreadyReported ? thrown.cause : thrown
  return error instanceof ModelgateError ? error : undefined
}

function modelIn(document: OutputDocument | undefined): string | undefined {
  return document && 'model' in document ? (document.model ?? undefined) : undefined
}

/** Undefined also for an answer that never came. */
function finishReasonIn(document: OutputDocument | undefined): string | undefined {
  const reason = document && 'finish_reason' in document ? document.finish_reason : undefined
  return reason === 'unknown' ? undefined : reason
}

/** A word of the command line, without media. */
function shownWord(gate: Gate, word: string): string {
  const [start] = /^data:[^,]{0,200},/i.exec(word) ?? []
  return start === undefined ? gate.text(word) : `${start}…`
}

function hasReadInput({ stdin }: Context): boolean {
  return stdin.reader !== undefined && stdin.kind !== 'empty'
}

/** The files that the call wrote. */
function filesIn(
  cwd: string,
  document: OutputDocument | undefined,
  textFile: SavedFile | undefined,
): RecordedFile[] {
  const files = [...savedIn(document), ...(textFile === undefined ? [] : [textFile])]
  return files.map((file) => {
    const { path, bytes, sha256, mime_type: type } = file
    const { format, width, height, seconds } = file as SavedFile & Partial<Record<string, unknown>>
    return {
      path: resolve(cwd, path),
      bytes,
      sha256,
      format: typeof format === 'string' ? format : extensionOf(type),
      ...(typeof width === 'number' ? { width } : {}),
      ...(typeof height === 'number' ? { height } : {}),
      ...(typeof seconds === 'number' ? { seconds } : {}),
    }
  })
}

function savedIn(document: OutputDocument | undefined): readonly SavedFile[] {
  if (document === undefined) return []
  if ('videos' in document) return document.videos.flatMap(({ files }) => files)
  if ('partials' in document) {
    return [...document.files.filter(({ existing }) => !existing), ...document.partials]
  }
  return 'finish_reason' in document || 'operation' in document ? document.files : []
}

/** What the call created, as far as its document tells. */
function creationIn(
  { creation }: LoggedRequest,
  document: OutputDocument | undefined,
  error: ModelgateError | undefined,
): RecordedCreation | undefined {
  if (creation === undefined || document === undefined) return undefined
  const { variant, seconds, count } = creation
  if ('partials' in document) {
    const made = document.files.filter(({ existing }) => !existing).length + document.links.length
    const images = {
      count: made + (error?.facts.rescued?.length ?? 0),
      ...(variant?.size ? { size: variant.size } : {}),
      ...(variant?.quality ? { quality: variant.quality } : {}),
    }
    return images.count === 0 ? undefined : { images }
  }
  const id = 'id' in document ? document.id : null
  if (id === null) return undefined
  if (creation.of !== 'video') return { job: id }
  const played = 'operation' in document ? document.files.map(({ seconds: time }) => time) : []
  const asked = seconds ? seconds * count : undefined
  const total =
    played.length > 0 && played.every((time) => time !== null)
      ? played.reduce((sum, time) => sum + time, 0)
      : asked
  return {
    job: id,
    ...(total === undefined ? {} : { video_seconds: total }),
    ...(variant?.size ? { video_size: variant.size } : {}),
  }
}
