import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stateFolder } from '../../../context/folders.ts'
import type { Context } from '../../../context.ts'
import type { Creation } from '../../../cost/creation.ts'
import type { OutputDocument } from '../../../events/documents.ts'
import type { SavedFile } from '../../../events/text.ts'
import type { RecordedCreation, RecordedFile, RecordedInput } from '../../../files/calls/call-record.ts'
import { referencesIn, referToMedia } from '../../../files/media-references.ts'
import { extensionOf } from '../../../files/media-type.ts'
import type { JsonObject } from '../../../json.ts'
import type { Body } from '../../../operations/operation.ts'
import type { ImageSource } from '../../../operations/image-sources.ts'
import { openJobs, type RecordPlan } from '../../../operations/jobs.ts'
import type { CommandCall } from '../gateway/open-gateway.ts'
import type { CommonOptions } from '../options/common-options.ts'

export interface RequestMedia {
  readonly body?: Body
  /** Their content is in the body. */
  readonly media?: readonly string[]
  /** Sent beside the body. */
  readonly sources?: readonly ImageSource[]
}

export interface SentMedia {
  /** With references in place of media. */
  readonly body: Body | undefined
  readonly inputs: readonly RecordedInput[]
  readonly reply: JsonObject | undefined
}

export async function sentMedia(
  context: Context,
  { body: sent, media = [], sources = [] }: RequestMedia,
  whole: object | undefined,
): Promise<SentMedia> {
  const reply = whole && referToMedia({ ...whole }, new Map())
  const beside = sources.map(({ field, label, bytes }): RecordedInput => {
    return { path: placeOf(context, label), bytes, field }
  })
  if (sent === undefined) return { body: undefined, inputs: beside, reply }
  const anonymous = referToMedia(sent, new Map())
  const references = referencesIn(anonymous)
  if (references.length === 0) return { body: anonymous, inputs: beside, reply }
  const paths = await pathsOf(context, media, references)
  const within = references.map(({ sha256, bytes }) => ({ path: paths.get(sha256) ?? '', bytes }))
  return { body: referToMedia(sent, paths), inputs: [...beside, ...within], reply }
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
  references: readonly { readonly sha256: string; readonly bytes: number }[],
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

export function filesIn(
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

/** What the call created, as far as its document says. */
export function creationIn(
  creation: Creation | undefined,
  document: OutputDocument | undefined,
  rescued = 0,
): RecordedCreation | undefined {
  if (creation === undefined || document === undefined) return undefined
  const { variant, seconds, count } = creation
  if ('partials' in document) {
    const made = document.files.filter(({ existing }) => !existing).length + document.links.length
    const images = {
      count: made + rescued,
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

export function resultLocation({ output, force }: CommonOptions, folder: string | undefined) {
  return { output: output ?? null, folder: folder ?? null, force: force === true }
}

export function recordPlan({ context, options, settings, gate }: CommandCall): RecordPlan {
  const { profile, outputDir, history } = settings
  return {
    store: openJobs(context, stateFolder(context), gate),
    isSandbox: options.sandbox === true,
    profile: profile.value,
    terminal: context.terminalId,
    location: resultLocation(options, outputDir.value),
    keepsWords: history.value === 'full',
  }
}
