import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stateFolder } from '../../../context/folders.ts'
import type { Context } from '../../../context.ts'
import type { Creation } from '../../../cost/creation.ts'
import { AlreadyReported, billedOf, ModelgateError } from '../../../errors.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile, TextDocument } from '../../../events/text.ts'
import type { SavedVideo } from '../../../events/video.ts'
import type {
  CallEnd,
  CallWords,
  RecordedCreation,
  RecordedFile,
  RecordedInput,
} from '../../../files/calls/call-record.ts'
import type { MediaReference } from '../../../files/media-references.ts'
import { extensionOf } from '../../../files/media-type.ts'
import { withoutHeaderValues } from '../../../files/next-command.ts'
import type { TextReply } from '../../../gateway/stream-text.ts'
import { isDeeperThan, maxJsonDepth, objectOf, stringOf, type JsonObject } from '../../../json.ts'
import type { ImageSource } from '../../../operations/image-sources.ts'
import { promptOf, type Body } from '../../../operations/operation.ts'
import type { Gate } from '../../../output/gate.ts'
import type { CommandCall, OpenGateway } from '../gateway/open-gateway.ts'

export interface LoggedRequest {
  readonly command: string
  /** As asked for; null when the gateway chooses. */
  readonly model: string | null
  readonly body?: Body
  /** Files whose content is in the body. */
  readonly media?: readonly string[]
  /** Sent beside the body. */
  readonly sources?: readonly ImageSource[]
  readonly creation?: Creation
  /** The jobs that are waited for. */
  readonly jobs?: readonly string[]
}

export interface EndedCall extends CommandCall, Pick<OpenGateway, 'spending'> {
  readonly request: LoggedRequest
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
  const { context, settings, request, spending, began, document, thrown, textFile } = call
  // Without a home there is no place for a log.
  if (stateFolder(context) === undefined) return
  const { stdin } = context
  const start = spending.call!
  const cause = thrown instanceof AlreadyReported ? thrown.cause : thrown
  const error = cause instanceof ModelgateError ? cause : undefined
  const { body, inputs, reply } = await withoutMedia(context, request, call.reply)
  const rescued = error?.facts.rescued ?? []
  const { model, request_id, finish_reason, usage } = objectOf(document) as Partial<TextDocument>
  const end: CallEnd = {
    time: new Date(began.at).toISOString(),
    duration_ms: Math.max(0, Math.round(context.clock.monotonic() - began.monotonic)),
    ...start,
    // Anything else that was thrown is a bug.
    exit_code: thrown === undefined ? 0 : (error?.exitCode ?? 1),
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
    created: request.creation && document && creationIn(request.creation, document, rescued.length),
    files: [...savedIn(document), ...(textFile ? [textFile] : [])].map((file) =>
      recordedFile(start.cwd, file),
    ),
  }
  const words: CallWords = {
    arguments: withoutHeaderValues(context.commandLine ?? []).map((word) => shownWord(call.gate, word)),
    read_stdin: (stdin.reader !== undefined && stdin.kind !== 'empty') || undefined,
    prompt: body && promptOf(body),
    request: body,
    reply,
  }
  await spending.endCall(end, settings.history.value === 'full' ? words : undefined)
}

/** With references in place of media; what finds them is loaded only where there may be any. */
async function withoutMedia(
  context: Context,
  { body, media = [], sources = [] }: LoggedRequest,
  whole: TextReply | undefined,
) {
  // What is nested too deeply could not be written.
  const reply: JsonObject | undefined = isDeeperThan(whole, maxJsonDepth)
    ? { text: whole!.text, is_partial: true }
    : whole && { ...whole }
  const beside = sources.map(({ field, label, bytes }): RecordedInput => {
    return { path: placeOf(context, label), bytes, field }
  })
  if (!mayHoldMedia(body) && !mayHoldMedia(reply)) return { body, inputs: beside, reply }
  const { referencesIn, referToMedia } = await import('../../../files/media-references.ts')
  const references = referencesIn(referToMedia(body, new Map()))
  const paths = await pathsOf(context, media, references)
  const within = references.map(({ sha256, bytes }) => ({ path: paths.get(sha256) ?? '', bytes }))
  return {
    body: referToMedia(body, paths),
    inputs: [...beside, ...within],
    reply: referToMedia(reply, new Map()),
  }
}

/** Whether a value holds a long text that does not begin with words. */
function mayHoldMedia(value: unknown): boolean {
  if (typeof value === 'string') return value.length >= 256 && !/\s/.test(value.slice(0, 256))
  return typeof value === 'object' && value !== null && Object.values(value).some(mayHoldMedia)
}

/** Absolute, but for standard input and URLs. */
function placeOf(context: Context, name: string): string {
  if (name === '-' || /^(?:https?|gs|data):/i.test(name)) return name
  return resolve(context.cwd, /^file:\/\//i.test(name) ? fileURLToPath(name) : name)
}

/** By size; of several of one size, by order. Whoever reads the file again checks the digest. */
async function pathsOf(
  context: Context,
  media: readonly string[],
  references: readonly MediaReference[],
): Promise<Map<string, string>> {
  const places = media.map((name) => placeOf(context, name))
  const sizeOf = async (place: string) => (await stat(place).catch(() => undefined))?.size
  const found = await Promise.all(places.map(async (place) => ({ place, size: await sizeOf(place) })))
  const paths = new Map<string, string>()
  for (const { sha256, bytes } of references) {
    if (paths.has(sha256)) continue
    const at = found.findIndex(({ size }) => size === bytes)
    if (at !== -1) paths.set(sha256, found.splice(at, 1)[0]!.place)
    else if (places.includes('-')) paths.set(sha256, '-')
  }
  return paths
}

function savedIn(document: OutputDocument | undefined): readonly SavedFile[] {
  if (document === undefined) return []
  if ('videos' in document) return document.videos.flatMap(({ files }) => files)
  if ('partials' in document) {
    return [...document.files.filter(({ existing }) => !existing), ...document.partials]
  }
  return 'finish_reason' in document || 'operation' in document ? document.files : []
}

function recordedFile(cwd: string, file: SavedFile): RecordedFile {
  const { path, bytes, sha256, mime_type: type } = file
  const { format = extensionOf(type), width, height, seconds } = file as SavedFile & Partial<SavedVideo>
  const measures = { width: width ?? undefined, height: height ?? undefined, seconds: seconds ?? undefined }
  return { path: resolve(cwd, path), bytes, sha256, format, ...measures }
}

/** What the call created, as far as its document says. */
function creationIn(
  { variant, seconds, count, of }: Creation,
  document: OutputDocument,
  rescued: number,
): RecordedCreation | undefined {
  if ('partials' in document) {
    const made = document.files.filter(({ existing }) => !existing).length + document.links.length + rescued
    const { size, quality } = variant ?? {}
    const kind = { size: size || undefined, quality: quality || undefined }
    return made === 0 ? undefined : { images: { count: made, ...kind } }
  }
  const job = 'id' in document ? document.id : null
  if (job === null) return undefined
  if (of !== 'video') return { job }
  const played = 'operation' in document ? document.files.map(({ seconds: time }) => time) : []
  const isKnown = played.length > 0 && played.every((time) => time !== null)
  const asked = seconds ? seconds * count : undefined
  return {
    job,
    video_seconds: isKnown ? played.reduce((sum, time) => sum + time, 0) : asked,
    video_size: variant?.size || undefined,
  }
}

/** Without media. */
function shownWord(gate: Gate, word: string): string {
  const [start] = /^data:[^,]{0,200},/i.exec(word) ?? []
  return start === undefined ? gate.text(word) : `${start}…`
}
