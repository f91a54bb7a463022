import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stateFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import type { Creation } from '../../cost/creation.ts'
import { AlreadyReported, billedOf, ModelgateError } from '../../errors.ts'
import type { OutputDocument } from '../../events/documents.ts'
import type { SavedFile } from '../../events/text.ts'
import {
  newEntryId,
  type LogEntry,
  type LoggedCreation,
  type LoggedFile,
  type LoggedInput,
} from '../../files/log/log-entry.ts'
import { appendEntry, logFolder } from '../../files/log/log-file.ts'
import { referencesIn, referToMedia } from '../../files/media-references.ts'
import { extensionOf } from '../../files/media-type.ts'
import type { TextReply } from '../../gateway/stream-text.ts'
import type { ImageSource } from '../../operations/image-sources.ts'
import type { Body } from '../../operations/operation.ts'
import { promptOf } from '../../operations/request-prompt.ts'
import type { Gate } from '../../output/gate.ts'
import { originOf, type CommonOptions } from './common-options.ts'
import { repeatingWords } from './repeating-words.ts'

/** What a command tells the log about its request. */
export interface LoggedRequest {
  /** `image create`. */
  readonly command: string
  /** The command that sends such a request alone, for one that is sent in a chat. */
  readonly repeatedBy?: string
  /** As asked for; null when the gateway chooses. */
  readonly model: string | null
  /** Left out by commands that only wait for a job. */
  readonly body?: Body
  /** The files and URLs that flags name, whose content is in the body. */
  readonly media?: readonly string[]
  /** The pictures that are sent beside the body. */
  readonly sources?: readonly ImageSource[]
  readonly creation?: Creation
  /** The words of the command line behind the command that are in no body: the id of a source. */
  readonly words?: readonly string[]
  /** The jobs that are waited for. */
  readonly jobs?: readonly string[]
}

/** A call that has ended. */
export interface EndedCall {
  readonly options: CommonOptions
  readonly settings: Settings
  readonly gate: Gate
  readonly request: LoggedRequest
  /** Of the gateway. */
  readonly baseUrl: URL
  /** When it began: milliseconds since 1970, and on the monotonic clock. */
  readonly began: { readonly at: number; readonly monotonic: number }
  /** Undefined when nothing came. */
  readonly document: OutputDocument | undefined
  /** What it ends with: what was thrown, if anything. */
  readonly thrown: unknown
  /** What a conversation goes on from. */
  readonly reply: TextReply | undefined
  /** The file of the model's text. */
  readonly textFile: SavedFile | undefined
}

/**
 * Adds a call to the log.
 * @throws FileError; whatever else goes wrong while the entry is put together
 */
export async function logCall(context: Context, call: EndedCall): Promise<void> {
  const folder = stateFolder(context)
  // Without a home there is no place for a log.
  if (folder === undefined) return
  const { gate, settings } = call
  const entry = await entryOf(context, call, settings.history.value === 'full')
  const now = context.clock.now()
  await appendEntry(logFolder(folder), entry, { now, clean: (json) => gate.document(json) })
}

const maxMessage = 2_000

async function entryOf(context: Context, call: EndedCall, isFull: boolean): Promise<LogEntry> {
  const { options, settings, request, baseUrl, began, document, reply } = call
  const { clock, terminalId } = context
  const { words, repeats } = originOf(context)
  const error = errorIn(call.thrown)
  const { body, inputs } = await sentMedia(context, request)
  const profile = settings.profile.level === 'default' ? undefined : settings.profile.value
  const fields: Fields = {
    terminal: terminalId,
    sandbox: options.sandbox,
    origin: options.sandbox ? undefined : baseUrl.origin,
    profile,
    model: request.model ?? modelIn(document),
    error: error && {
      code: error.code,
      message: error.message.slice(0, maxMessage),
      billed: billedOf(error),
    },
    request_id: document && 'request_id' in document ? (document.request_id ?? undefined) : undefined,
    finish_reason: finishReasonIn(document),
    usage: document && 'usage' in document ? (document.usage ?? undefined) : undefined,
    created: creationIn(request, document, error),
    jobs: request.jobs,
    repeats,
    inputs: inputs.length === 0 ? undefined : inputs,
  }
  const full: Fields = {
    arguments: words.map((word) => shownWord(call.gate, word)),
    prompt: body && promptOf(body),
    repeat:
      body &&
      repeatingWords({ ...request, command: request.repeatedBy ?? request.command, profile }, body, options),
    request: body,
    reply: reply && referToMedia({ ...reply }, new Map()),
  }
  return {
    version: 1,
    id: newEntryId(clock),
    time: new Date(began.at).toISOString(),
    duration_ms: Math.max(0, Math.round(clock.monotonic() - began.monotonic)),
    command: request.command,
    cwd: workingDirectory(context),
    exit_code: exitCodeOf(call.thrown),
    ...withoutUndefined(fields),
    files: filesIn(context, document, call.textFile),
    ...(isFull ? withoutUndefined(full) : {}),
  }
}

type Fields = { readonly [Name in keyof LogEntry]?: LogEntry[Name] | undefined }

function withoutUndefined(fields: Fields): Partial<LogEntry> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** It may have been removed meanwhile. */
function workingDirectory(context: Context): string {
  try {
    return context.cwd
  } catch {
    return ''
  }
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

/** A word of the command line: whole if it is short; media in it are left out. */
function shownWord(gate: Gate, word: string): string {
  const [start] = /^data:[^,]{0,200},/i.exec(word) ?? []
  // Secrets are removed before a word is cut.
  const clean = start === undefined ? gate.text(word) : `${start}…`
  return clean.length > maxWord ? `${clean.slice(0, maxWord)}…` : clean
}

const maxWord = 2_000

/** The files that the call wrote. */
function filesIn(
  context: Context,
  document: OutputDocument | undefined,
  textFile: SavedFile | undefined,
): LoggedFile[] {
  const files = [...savedIn(document), ...(textFile === undefined ? [] : [textFile])]
  return files.map((file) => {
    const { path, bytes, sha256, mime_type: type } = file
    const { format, width, height, seconds } = file as SavedFile & Partial<Record<string, unknown>>
    return {
      path: resolve(workingDirectory(context), path),
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
): LoggedCreation | undefined {
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

interface SentMedia {
  /** The body with references in place of media. */
  readonly body: Body | undefined
  readonly inputs: readonly LoggedInput[]
}

async function sentMedia(
  context: Context,
  { body: sent, media = [], sources = [] }: LoggedRequest,
): Promise<SentMedia> {
  const pictures = sources.map(async ({ field, label, bytes, digest }): Promise<LoggedInput> => {
    return { path: placeOf(context, label), bytes, sha256: await digest(), field }
  })
  const beside = await Promise.all(pictures)
  if (sent === undefined) return { body: undefined, inputs: beside }
  const anonymous = referToMedia(sent, new Map())
  const references = referencesIn(anonymous)
  if (references.length === 0) return { body: anonymous, inputs: beside }
  const paths = await pathsOf(context, media, references)
  return {
    body: referToMedia(sent, paths),
    inputs: [
      ...beside,
      ...references.map(({ sha256, bytes }) => ({ path: paths.get(sha256) ?? '', bytes, sha256 })),
    ],
  }
}

/** A path of this machine is made absolute; standard input and URLs are left. */
function placeOf(context: Context, name: string): string {
  if (name === '-' || /^(?:https?|gs|data):/i.test(name)) return name
  return resolve(workingDirectory(context), /^file:\/\//i.test(name) ? fileURLToPath(name) : name)
}

/**
 * Which file each of the media came from: by its size; of several of one size, by their order. Whoever reads the file
 * again checks the digest.
 */
async function pathsOf(
  context: Context,
  media: readonly string[],
  references: readonly { readonly sha256: string; readonly bytes: number }[],
): Promise<Map<string, string>> {
  const places = media.map((name) => placeOf(context, name))
  const found = await Promise.all(
    places.map(async (place) => ({
      place,
      size: await stat(place).then(
        ({ size }) => size,
        () => undefined,
      ),
    })),
  )
  const paths = new Map<string, string>()
  for (const { sha256, bytes } of references) {
    if (paths.has(sha256)) continue
    const at = found.findIndex(({ size }) => size === bytes)
    if (at !== -1) paths.set(sha256, found.splice(at, 1)[0]!.place)
    else if (places.includes('-')) paths.set(sha256, '-')
  }
  return paths
}
