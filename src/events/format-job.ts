import { lastSegment, normaliseState } from '../contract/videos.ts'
import type { JobSummary } from './video.ts'

const maxLength = 60

/** The gateway's own name for a state, cut if it is long; undefined if it is that of the specification. */
export function gatewayState(state: string, word: string | null): string | undefined {
  if (word === null || normaliseState(word) === state) return undefined
  // The cut must not leave half a surrogate pair.
  return word
    .trim()
    .slice(0, maxLength)
    .replace(/[\ud800-\udbff]$/, '')
}

/** The state of a video, an operation or a response. */
type KnownState = { readonly state: string } & Partial<Pick<JobSummary, 'status' | 'progress'>>

/** `in_progress (45%, gateway says "rendering")`. The caller sanitises it for a terminal. */
export function formatState({ state, status = null, progress = null }: KnownState): string {
  const word = gatewayState(state, status)
  const isRunning = state === 'pending' || state === 'in_progress'
  const details = [
    ...(progress === null || !isRunning ? [] : [`${progress}%`]),
    ...(word === undefined ? [] : [`gateway says ${JSON.stringify(word)}`]),
  ]
  return details.length === 0 ? state : `${state} (${details.join(', ')})`
}

/** A time of a record, in UTC; the number itself if it is out of range. @param seconds since 1970 */
export function isoTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? String(seconds) : date.toISOString().replace('.000Z', 'Z')
}

/** Whether the result of a job can no longer be fetched. @param now Unix seconds */
export function isExpired({ expires_at }: Pick<JobSummary, 'expires_at'>, now: number): boolean {
  return expires_at !== null && expires_at <= now
}

const minShortId = 12
const maxShortId = 40

/** The shortest beginning of each id, or of the last part of an operation's name, that none of the others has. */
export function shortIds(ids: readonly string[]): string[] {
  const names = [...new Set(ids)].map(lastSegment)
  let length = minShortId
  while (length < maxShortId && new Set(names.map((name) => name.slice(0, length))).size < names.length)
    length++
  return ids.map((id) => lastSegment(id).slice(0, length))
}
