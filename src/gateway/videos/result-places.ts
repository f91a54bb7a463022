import { lastSegment } from '../../contract/last-segment.ts'
import { isObject, stringOf, type JsonObject } from '../../json.ts'
import { jobObject, videoIdIn, type JobReport } from './job-fields.ts'

/** Where a video can be had. */
export type ResultPlace =
  /** Below the base URL, for the key. */
  | { readonly kind: 'content'; readonly path: string }
  /** Absolute, or relative to the base URL; `gs:` names a place that cannot be fetched from. */
  | { readonly kind: 'url'; readonly url: string }
  /** In the reply itself. */
  | { readonly kind: 'bytes'; readonly base64: string; readonly mimeType: string | null }

/** One video of a job, and the places where it can be had, the best first. */
export interface ResultSample {
  readonly places: readonly ResultPlace[]
}

/** Fields that hold the address of a video (quirk 22; wire notes, section 7). */
const urlNames = [
  'video_url',
  'videoUrl',
  'url',
  'uri',
  'result_url',
  'download_url',
  'output_url',
  'gcsUri',
] as const
/** Fields that hold a video as base64. */
const bytesNames = ['encodedVideo', 'videoBytes', 'bytesBase64Encoded', 'b64_json'] as const
/** Fields that hold objects, or lists of them, with such fields. */
const holderNames = [
  'video_url',
  'videoUrl',
  'urls',
  'video_urls',
  'videoUrls',
  'result_urls',
  'resultUrls',
  'unsigned_urls',
  'assets',
  'response',
  'generateVideoResponse',
  'generatedSamples',
  'generatedVideos',
  'video',
  'videos',
  'data',
  'output',
  'outputs',
  'result',
  'results',
  'task_result',
  'content',
  'metadata',
] as const
/** A last resort: fields that are meant for something else (quirk 22; new-api keeps the address in `fail_reason`). */
const misusedNames = ['remixed_from_video_id', 'fail_reason'] as const

const deepest = 6

/**
 * Where the videos of a completed job are: one entry for each. An operation's reply names its samples; of a video the
 * address that the reply gives comes first, since gateways that give one often have no `/content`, and the other way
 * round where it gives none.
 */
export function resultPlaces(report: JobReport): readonly ResultSample[] {
  const job = jobObject(report.value)
  const samples = samplesIn(job, 0)
  const isOperation = 'done' in job || 'response' in job
  if (samples.length > 1 || (report.kind === 'operation' && isOperation)) return samples
  const id = report.kind === 'video' ? report.id : (videoIdIn(job) ?? lastSegment(report.id))
  const content: ResultPlace = { kind: 'content', path: `/v1/videos/${encodeURIComponent(id)}/content` }
  const misused = misusedNames.flatMap((name) => urlPlace(job[name]))
  return [{ places: distinct([...(samples[0]?.places ?? []), content, ...misused]) }]
}

/** How many videos an object names or holds. */
export function holdsVideo(job: JsonObject): number {
  return samplesIn(job, 0).length
}

function samplesIn(value: unknown, depth: number): ResultSample[] {
  if (depth > deepest) return []
  if (typeof value === 'string') return sample(urlPlace(value))
  if (Array.isArray(value)) return value.flatMap((item) => samplesIn(item, depth + 1))
  if (!isObject(value)) return []
  const own = [
    ...bytesNames.flatMap((name) => bytesPlace(value[name], value)),
    ...(looksEncoded(value['video']) ? bytesPlace(value['video'], value) : []),
    ...urlNames.flatMap((name) => urlPlace(value[name], anyAddress)),
  ]
  const inner = holderNames.map((name) => samplesIn(value[name], depth + 1))
  const several = inner.find((samples) => samples.length > 1)
  return several ?? sample([...own, ...inner.flat().flatMap(({ places }) => places)])
}

function sample(places: readonly ResultPlace[]): ResultSample[] {
  return places.length === 0 ? [] : [{ places: distinct(places) }]
}

const fullAddress = /^(https?:\/\/|data:|gs:\/\/)/i
/** Relays give addresses without an origin, too (quirk 14). */
const anyAddress = /^(https?:\/\/|data:|gs:\/\/|\/)/i

function urlPlace(value: unknown, address = fullAddress): ResultPlace[] {
  const text = stringOf(value)?.trim()
  return text !== undefined && address.test(text) ? [{ kind: 'url', url: text }] : []
}

function bytesPlace(value: unknown, holder: JsonObject): ResultPlace[] {
  const text = stringOf(value)
  if (text === undefined || text.trim() === '') return []
  if (fullAddress.test(text.trim())) return urlPlace(text)
  const mimeType = stringOf(holder['mimeType']) ?? stringOf(holder['encoding']) ?? null
  return [{ kind: 'bytes', base64: text, mimeType }]
}

/** Whether a field that may hold anything holds a video as base64: no name or id is so long, and without other signs. */
function looksEncoded(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 256 && /^[\w+/=\s-]+$/.test(value.slice(0, 256))
}

/** The same places once, what can be had at once or fetched before what cannot. */
function distinct(places: readonly ResultPlace[]): ResultPlace[] {
  const rank = (place: ResultPlace) =>
    place.kind === 'bytes' ? 0 : place.kind === 'url' && place.url.startsWith('gs:') ? 2 : 1
  const found = new Map(places.map((place) => [keyOf(place), place]))
  return [...found.values()].sort((one, other) => rank(one) - rank(other))
}

function keyOf(place: ResultPlace): string {
  if (place.kind === 'bytes') return place.base64
  return place.kind === 'url' ? place.url : place.path
}
