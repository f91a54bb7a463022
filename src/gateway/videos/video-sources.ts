import { isObject, stringOf, type JsonObject } from '../../json.ts'

/** A name in snake case and in camel case. */
export function bothCases(name: string): readonly string[] {
  const camel = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return camel === name ? [name] : [name, camel]
}

export interface VideoSource {
  /** `content`: a path below the base URL. `url`: absolute, or relative to it. `bytes`: base64, in the reply itself. */
  readonly kind: 'content' | 'url' | 'bytes'
  readonly from: string
}

/** Of one video, the best first. */
export type VideoSources = readonly VideoSource[]

const namesIn = (...lines: string[]) => lines.join(' ').split(' ').flatMap(bothCases)

/** Fields that hold the URL of a video (quirk 22; wire notes, section 7). */
const urlNames = namesIn('video_url url uri result_url download_url output_url gcs_uri')
/** Those that hold a video as base64. */
const bytesNames = namesIn('encoded_video video_bytes bytes_base64_encoded b64_json')
/** Those that hold objects, or lists of them, with such fields. */
const holderNames = namesIn(
  'video_url urls video_urls result_urls unsigned_urls assets response generate_video_response generated_samples',
  'generated_videos video videos data output outputs result results task_result content metadata',
)
const maxDepth = 6

export function countVideos(job: JsonObject): number {
  return videosIn(job).length
}

export function videosIn(value: unknown, depth = 0): VideoSources[] {
  if (depth > maxDepth) return []
  if (typeof value === 'string') return videoFrom(urlSource(value))
  if (Array.isArray(value)) return value.flatMap((item) => videosIn(item, depth + 1))
  if (!isObject(value)) return []
  const own = [
    ...bytesNames.flatMap((name) => bytesSource(value[name])),
    ...(looksEncoded(value['video']) ? bytesSource(value['video']) : []),
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

export function urlSource(value: unknown, address = fullAddress): VideoSource[] {
  const text = stringOf(value)?.trim()
  return text !== undefined && address.test(text) ? [{ kind: 'url', from: text }] : []
}

function bytesSource(value: unknown): VideoSource[] {
  const text = stringOf(value)?.trim() ?? ''
  if (fullAddress.test(text)) return urlSource(text)
  return text === '' ? [] : [{ kind: 'bytes', from: text }]
}

/** Whether a field of any meaning holds a video as base64: no name or id is that long without other characters. */
function looksEncoded(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 256 && /^[\w+/=\s-]+$/.test(value.slice(0, 256))
}

/** Without duplicates; embedded data first, what cannot be fetched last. */
export function distinct(sources: VideoSources): VideoSources {
  const rank = ({ kind, from }: VideoSource) => (kind === 'bytes' ? 0 : from.startsWith('gs:') ? 2 : 1)
  const found = new Map(sources.map((source) => [source.from, source]))
  return [...found.values()].sort((one, other) => rank(one) - rank(other))
}
