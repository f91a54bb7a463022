import type { VideoEvent } from '../../contract/video-event.ts'
import { stateText } from '../../contract/video-state.ts'
import type { VideoState } from '../../contract/videos.ts'
import { clockTime } from './amounts.ts'
import type { LineParts } from './draw-line.ts'

type JobProgress = Extract<VideoEvent, { type: 'job-progress' }>

/** What is known of a job at any moment, also between two look-ups. Times are milliseconds of a monotonic clock. */
export interface JobView {
  readonly id: string
  readonly state: VideoState
  /** The gateway's own word for the state, as it came. */
  readonly status: string | null
  /** 0 to 100, a whole number that never becomes smaller. */
  readonly percent: number | null
  readonly startedAt: number
  readonly endsAt: number | null
}

/** The job after a look-up; `before` is what was known of the same job. */
export function viewOf(event: JobProgress, before: JobView | undefined, now: number): JobView {
  const { id, state, status, progress, elapsed_s, remaining_s } = event
  const known = [before?.percent, state === 'completed' ? 100 : progress].filter(
    (value) => typeof value === 'number' && Number.isFinite(value),
  ) as number[]
  return {
    id,
    state,
    status,
    percent: known.length === 0 ? null : Math.min(100, Math.max(0, Math.floor(Math.max(...known)))),
    startedAt: now - elapsed_s * 1000,
    endsAt: remaining_s === null ? null : now + remaining_s * 1000,
  }
}

export function jobParts({ id, state, percent, startedAt, endsAt }: JobView, now: number): LineParts {
  const left = endsAt === null || state === 'completed' || state === 'failed' ? 0 : (endsAt - now) / 1000
  return {
    percent,
    words: stateText({ state }),
    details: [clockTime((now - startedAt) / 1000), ...leftText(left)],
    id,
  }
}

/** What is said of the time that is left, where there is any; it is never more than an estimate. */
export function leftText(seconds: number): string[] {
  return seconds < 1 ? [] : [`~${clockTime(seconds)} left`]
}

/** The same for a log. */
export function jobText(view: JobView, now: number): string {
  const { id, state, status, percent } = view
  const [elapsed, ...left] = jobParts(view, now).details
  const done = percent === null || state === 'completed' ? [] : [`${percent}%`]
  return `job ${id}: ${[stateText({ state, status }), ...done, `after ${elapsed}`, ...left].join(', ')}`
}
