import { lastSegment } from '../../contract/videos.ts'
import { isObject, stringOf, type JsonObject } from '../../json.ts'
import { jobObject, videoIdIn, type JobReport } from './job-fields.ts'

/** Where a video can be fetched from. */
export type VideoSource =
  /** A path below the base URL, which needs the key. */
  | { readonly kind: 'content'; readonly path: string }
  /** Absolute, or relative to the base URL; `gs:` cannot be fetched. */
  | { readonly kind: 'url'; readonly url: string }
  /** In the reply itself. */
  | { readonly kind: 'bytes'; readonly base64: string; readonly mimeType: string | null }

/** Where one video of a job can be fetched from, the best source first. */
export type VideoSources = readonly VideoSource[]

/** Fields that hold the URL of a video (quirk 22; wire notes, section 7). */
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
/** A last resort: fields that are meant for something else (quirk 22; new-api keeps the URL in `fail_reason`). */
const misusedNames = ['remixed_from_video_id', 'fail_reason'] as const

const maxDepth = 6

/**
 * Where the videos of a completed job are: one entry for each. An operation's reply lists its videos. For a video the
 * URL in the reply comes first, since gateways that send one often have no `/content`; without one `/content` does.
 */
export function videoSources(report: JobReport): readonly VideoSources[] {
  const job = jobObject(report.value)
  const videos = videosIn(job)
  const isOperation = 'done' in job || 'response' in job
  if (videos.length > 1 || (report.kind === 'operation' && isOperation)) return videos
  const id = report.kind === 'video' ? report.id : (videoIdIn(job) ?? lastSegment(report.id))
  const content: VideoSource = { kind: 'content', path: `/v1/videos/${encodeURIComponent(id)}/content` }
  const misused = misusedNames.flatMap((name) => urlSource(job[name]))
  return [distinct([...(videos[0] ?? []), content, ...misused])]
}

/** How many videos an object links to or holds. */
export function countVideos(job: JsonObject): number {
  return videosIn(job).length
}

function videosIn(value: unknown, depth = 0): VideoSources[] {
  if (depth > maxDepth) return []
  if (typeof value === 'string') return videoFrom(urlSource(value))
  if (Array.isArray(value)) return value.flatMap((item) => videosIn(item, depth + 1))
  if (!isObject(value)) return []
  const own = [
    ...bytesNames.flatMap((name) => bytesSource(value[name], value)),
    ...(looksEncoded(value['video']) ? bytesSource(value['video'], value) : []),
    ...urlNames.flatMap((name) => urlSource(value[name], anyAddress)),
  ]
  const inner = holderNames.map((name) => videosIn(value[name], depth + 1))
  const several = inner.find((videos) => videos.length > 1)
  return several ?? videoFrom([...own, ...inner.flat(2)])
}

function videoFrom(sources: VideoSources): VideoSources[] {
  return sources.length === 0 ? [] : [distinct(sources)]
}

const fullAddress = /^(https?:\/\/|data:|gs:\/\/)/i
/** Relays send URLs without an origin, too (quirk 14). */
const anyAddress = /^(https?:\/\/|data:|gs:\/\/|\/)/i

function urlSource(value: unknown, address = fullAddress): VideoSource[] {
  const text = stringOf(value)?.trim()
  return text !== undefined && address.test(text) ? [{ kind: 'url', url: text }] : []
}

function bytesSource(value: unknown, holder: JsonObject): VideoSource[] {
  const text = stringOf(value)
  if (text === undefined || text.trim() === '') return []
  if (fullAddress.test(text.trim())) return urlSource(text)
  const mimeType = stringOf(holder['mimeType']) ?? stringOf(holder['encoding']) ?? null
  return [{ kind: 'bytes', base64: text, mimeType }]
}

/** Whether a field of any meaning holds a video as base64: no name or id is that long without other characters. */
function looksEncoded(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 256 && /^[\w+/=\s-]+$/.test(value.slice(0, 256))
}

/** The same sources without duplicates; what cannot be fetched comes last, what is at hand first. */
function distinct(sources: VideoSources): VideoSources {
  const rank = (source: VideoSource) =>
    source.kind === 'bytes' ? 0 : source.kind === 'url' && source.url.startsWith('gs:') ? 2 : 1
  const found = new Map(sources.map((source) => [keyOf(source), source]))
  return [...found.values()].sort((one, other) => rank(one) - rank(other))
}

function keyOf(source: VideoSource): string {
  if (source.kind === 'bytes') return source.base64
  return source.kind === 'url' ? source.url : source.path
}
