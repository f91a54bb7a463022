import type { VideoState } from '../../contract/videos.ts'
import { videoStateOf } from '../../contract/video-state.ts'
import { isObject, objectOf, stringOf, type JsonObject } from '../json-access.ts'

/** The names under which gateways give what a job consists of, the usual one first. */
const idNames = ['id', 'task_id', 'video_id', 'taskId', 'videoId', 'job_id', 'jobId'] as const
const statusNames = ['status', 'state', 'task_status'] as const
const progressNames = ['progress', 'progress_percent', 'progressPercent'] as const

/** What relays put a job into, `data` most often. */
const wrapperNames = ['data', 'output', 'result'] as const

/** No moment in seconds is later; what is larger is in milliseconds, or finer still (quirk 20). */
const latestSecond = 1e11

/**
 * The object of a reply that is the job: the reply itself, or what a relay has wrapped, be it as the only one of a list.
 * A reply that has an id of its own is not a wrapper, whatever else it carries.
 */
export function jobObject(reply: JsonObject): JsonObject {
  if (idsIn(reply).length > 0 || reply['object'] === 'video') return reply
  const inner = reply['data']
  if (isObject(inner) && (idsIn(inner).length > 0 || tellsOfState(inner))) return inner
  if (tellsOfState(reply)) return reply
  const wrapped = wrapperNames.map((name) => onlyOne(reply[name]))
  return wrapped.find((value) => value !== undefined && idsIn(value).length > 0) ?? reply
}

function onlyOne(value: unknown): JsonObject | undefined {
  const list = Array.isArray(value) ? (value as unknown[]) : [value]
  return list.length === 1 && isObject(list[0]) ? list[0] : undefined
}

function tellsOfState(job: JsonObject): boolean {
  return wordIn(job) !== undefined || 'done' in job
}

/** Every id that an object gives itself, of whatever kind, in order of preference. */
export function idsIn(job: JsonObject): string[] {
  return ['name', ...idNames].map((name) => idOf(job[name])).filter((id) => id !== undefined)
}

/** The id of a video, which is never what the name of an operation is. */
export function videoIdIn(job: JsonObject): string | undefined {
  return idNames.map((name) => idOf(job[name])).find((id) => id !== undefined)
}

export function idOf(value: unknown): string | undefined {
  const id = Number.isSafeInteger(value) ? String(value) : stringOf(value)
  return id === undefined || id.trim() === '' ? undefined : id
}

/** The gateway's word for the state: a field of its own, or one that an operation tells about itself. */
export function wordIn(job: JsonObject): string | undefined {
  const metadata = objectOf(job['metadata'])
  const found = [...statusNames.map((name) => job[name]), metadata['state'], metadata['status']]
  return found.map(stringOf).find((word) => word !== undefined && word.trim() !== '')
}

export function stateOfWord(word: string | undefined): VideoState | undefined {
  return word === undefined ? undefined : videoStateOf(word)
}

/** Whether an operation says that it is over; relays write booleans as words and numbers. */
export function isDone({ done }: JsonObject): boolean {
  return done === true || done === 1 || /^\s*(true|1)\s*$/i.test(stringOf(done) ?? '')
}

/** 0 to 100, whole, from a number or a text with or without a percent sign; null when there is none. */
export function progressIn(job: JsonObject): number | null {
  const metadata = objectOf(job['metadata'])
  for (const value of [job, metadata].flatMap((object) => progressNames.map((name) => object[name]))) {
    const text = stringOf(value)?.trim().replace(/\s*%$/, '')
    const progress = text === undefined || text === '' ? value : Number(text)
    if (typeof progress === 'number' && !Number.isNaN(progress)) {
      return Math.floor(Math.min(100, Math.max(0, progress)))
    }
  }
  return null
}

/** A moment as Unix seconds, from the first of these fields that holds one; zero is how relays write "not yet". */
export function timeIn(job: JsonObject, names: readonly string[]): number | null {
  for (const value of names.map((name) => job[name])) {
    const text = stringOf(value)?.trim()
    let time = text === undefined ? value : /^\d+(\.\d+)?$/.test(text) ? Number(text) : dateOf(text)
    if (typeof time !== 'number' || !Number.isFinite(time) || time <= 0) continue
    while (time >= latestSecond) time /= 1000
    return Math.floor(time)
  }
  return null
}

/** A date such as `2026-01-01T00:00:00Z` as Unix seconds. */
function dateOf(text: string): number {
  return /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) / 1000 : Number.NaN
}
