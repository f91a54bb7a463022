import type { Clock } from '../context.ts'
import { responseStateOf } from '../contract/response-state.ts'
import { videoStateOf } from '../contract/video-state.ts'
import { formatState } from '../events/format-job.ts'
import type { LiveLine, Screen, Styles } from './screen.ts'
import type { VideoEvent } from '../events/video.ts'

type JobProgress = Extract<VideoEvent, { type: 'job-progress' }>
type DownloadProgress = Extract<VideoEvent, { type: 'download-progress' }>
export type ProgressEvent = JobProgress | DownloadProgress

interface JobProgressParts {
  readonly screen: Screen
  readonly clock: Clock
  /** Formats one line without control characters and secrets. */
  readonly clean: (text: string) => string
  /** Whether to write lines to a log; not if standard output has the same events. */
  readonly log: boolean
}

/** Milliseconds after which a log gets a line even if nothing has changed. */
const logInterval = 60_000

/** Milliseconds between two animation steps of a bar without percentage. */
const stepTime = 200

/**
 * Shows the progress of a job and its downloads: on one line that is redrawn, or in a log with a line for each change.
 */
export function createJobProgress({ screen, clock, clean, log }: JobProgressParts) {
  let job: JobView | undefined
  let download: DownloadView | undefined
  let hasReportedUnknown = false
  let lastLineAt = -Infinity

  const live: LiveLine = (width, styles) => {
    const now = clock.monotonic()
    const parts = download === undefined ? jobParts(job!, now) : downloadParts(download, now)
    return drawLine(parts, Math.floor(now / stepTime), width, styles)
  }
  const show = (isChange: boolean, text: () => string) => {
    if (screen.isLive) return screen.wait(live)
    const now = clock.monotonic()
    if (!log || !(isChange || now - lastLineAt >= logInterval)) return
    lastLineAt = now
    screen.line(text(), 'plain')
  }
  return (event: ProgressEvent): void => {
    const now = clock.monotonic()
    if (event.type === 'download-progress') {
      const before = download?.index === event.index ? download : undefined
      const next = (download = downloadOf(event, before, now))
      show(before === undefined, () => downloadText(next))
      return
    }
    const id = asciiOf(clean(event.id))
    const before = job?.id === id ? job : undefined
    const next = (job = viewOf({ ...event, id }, before, now))
    download = undefined
    if (!hasReportedUnknown && event.status !== null && !isKnown(event.status)) {
      hasReportedUnknown = true
      screen.line(unknownText(event.status), 'warning')
    }
    show(before?.state !== next.state, () => jobText(next, now))
  }
}

function isKnown(status: string): boolean {
  return videoStateOf(status) !== undefined || responseStateOf(status) !== undefined
}

function unknownText(status: string): string {
  return `warning: the gateway reports an unknown job state, "${status}"; it is treated as in_progress`
}

/** Every character as wide as any other. */
function asciiOf(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, '?')
}

/** The state of a job, also between two look-ups. Times are milliseconds of a monotonic clock. */
interface JobView {
  readonly id: string
  readonly state: JobProgress['state']
  /** The gateway's own name of the state, as received. */
  readonly status: string | null
  /** 0 to 100, a whole number that never decreases. */
  readonly percent: number | null
  readonly startedAt: number
  readonly endsAt: number | null
}

/** The job after a look-up; `before` is its previous state. */
function viewOf(event: JobProgress, before: JobView | undefined, now: number): JobView {
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

function jobParts({ id, state, percent, startedAt, endsAt }: JobView, now: number): LineParts {
  const left = endsAt === null || state === 'completed' || state === 'failed' ? 0 : (endsAt - now) / 1000
  return {
    percent,
    label: formatState({ state }),
    details: [clockTime((now - startedAt) / 1000), ...leftText(left)],
    id,
  }
}

/** The estimated time left, if any. */
function leftText(seconds: number): string[] {
  return seconds < 1 ? [] : [`~${clockTime(seconds)} left`]
}

/** The same for a log. */
function jobText(view: JobView, now: number): string {
  const { id, state, status, percent } = view
  const [elapsed, ...left] = jobParts(view, now).details
  const done = percent === null || state === 'completed' ? [] : [`${percent}%`]
  return `job ${id}: ${[formatState({ state, status }), ...done, `after ${elapsed}`, ...left].join(', ')}`
}

interface Sample {
  readonly at: number
  readonly received: number
}

/** The progress and recent speed of a download. Times are milliseconds of a monotonic clock. */
interface DownloadView {
  readonly index: number
  readonly received: number
  readonly total: number | null
  /** Recent samples, oldest first. */
  readonly samples: readonly Sample[]
}

/** The time window for the rate in milliseconds, and the interval between samples. */
const rateWindow = 5_000
const sampleInterval = 250

/** The download after an event; `before` is its previous state. A restarted download is measured anew. */
function downloadOf(
  { index, received, total }: DownloadProgress,
  before: DownloadView | undefined,
  now: number,
): DownloadView {
  const earlier = before === undefined || received < before.received ? [] : before.samples
  const last = earlier.at(-1)
  const isDue = last === undefined || now - last.at >= sampleInterval
  const samples = isDue
    ? [...earlier.filter(({ at }) => now - at <= rateWindow), { at: now, received }]
    : earlier
  return { index, received, total, samples }
}

function downloadParts(view: DownloadView, now: number): LineParts {
  const { index, received, total } = view
  const rate = rateOf(view, now)
  const left = total === null || rate === 0 ? 0 : (total - received) / rate
  return {
    percent: percentOf(view),
    label: index === 1 ? 'downloading' : `downloading ${index}`,
    details: [
      total === null ? byteText(received) : `${byteText(received)} of ${byteText(total)}`,
      ...(rate === 0 ? [] : [`${byteText(rate)}/s`]),
      ...leftText(left),
    ],
    id: '',
  }
}

/** The same for a log. */
function downloadText(view: DownloadView): string {
  const { index, received, total } = view
  const percent = percentOf(view)
  const done = percent === null ? byteText(received) : `${percent}% of ${byteText(total!)}`
  return `video ${index}: downloading, ${done}`
}

function percentOf({ received, total }: DownloadView): number | null {
  return total === null || total === 0 ? null : Math.min(100, Math.floor((received / total) * 100))
}

/** In bytes per second; 0 without enough samples. */
function rateOf({ received, samples }: DownloadView, now: number): number {
  const first = samples[0]
  if (first === undefined || now - first.at < sampleInterval) return 0
  return ((received - first.received) * 1000) / (now - first.at)
}

/** The parts of a progress line. All are ASCII, so that their length is their width. */
export interface LineParts {
  /** 0 to 100; null if unknown: then the bar only moves back and forth. */
  readonly percent: number | null
  readonly label: string
  /** Most important first; the last are dropped first if there is too little space. */
  readonly details: readonly string[]
  /** May be shortened; empty if there is none. */
  readonly id: string
}

const gap = '  '
const minBar = 6
const maxBar = 30
const minId = 12
const maxId = 28
/** Length of the moving part of a bar without a percentage. */
const movingLength = 3

/**
 * A line of at most `width` characters with as many parts as fit.
 * @param step counts up, to animate the bar
 */
export function drawLine(parts: LineParts, step: number, width: number, styles: Styles): string {
  const { percent, label, details, id } = parts
  const head = percent === null ? label : `${String(percent).padStart(3)}%`
  let room = width - head.length
  const take = (length: number) => {
    const fits = room >= length + gap.length
    if (fits) room -= length + gap.length
    return fits
  }
  const hasBar = take(minBar)
  const left = details.findIndex((detail) => !take(detail.length))
  const visible = left === -1 ? details : details.slice(0, left)
  // The percentage already shows activity.
  const hasLabel = percent !== null && take(label.length)
  const idLength = Math.min(id.length, maxId, Math.max(minId, room - gap.length))
  const isWhole = left === -1 && (hasLabel || percent === null)
  const hasId = id !== '' && isWhole && take(idLength)
  const barLength = Math.min(maxBar, minBar + Math.max(0, room))
  return [
    ...(hasBar ? [bar(percent, barLength, step, styles)] : []),
    head.slice(0, Math.max(0, width)),
    ...(hasLabel ? [label] : []),
    ...visible,
    ...(hasId ? [styles.dim(shortened(id, idLength))] : []),
  ].join(gap)
}

function bar(percent: number | null, length: number, step: number, styles: Styles): string {
  const full = percent === null ? movingLength : Math.floor((percent * length) / 100)
  // Back and forth, so that it is always visible.
  const turn = length - movingLength
  const start = percent === null ? turn - Math.abs(turn - (step % (2 * turn))) : 0
  const rest = length - start - full
  return `${empty(start, styles)}${styles.accent('█'.repeat(full))}${empty(rest, styles)}`
}

function empty(length: number, styles: Styles): string {
  return length === 0 ? '' : styles.dim('░'.repeat(length))
}

/** Shortens the middle of an id: the names of operations differ only at the end. */
function shortened(id: string, length: number): string {
  if (id.length <= length) return id
  const end = Math.ceil((length - 1) / 2)
  return `${id.slice(0, length - 1 - end)}…${id.slice(-end)}`
}

/** A duration like a clock: `0:05`, `12:40`, `1:02:03`. */
export function clockTime(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  const rest = `${String(whole % 60).padStart(2, '0')}`
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${String(minutes).padStart(2, '0')}:${rest}`
}

/** A rounded duration, in one unit: `40 s`, `52 min`, `3 h`, `2 d`. */
export function roundedDuration(seconds: number): string {
  if (seconds < 90) return `${Math.floor(seconds)} s`
  if (seconds < 90 * 60) return `${Math.floor(seconds / 60)} min`
  return seconds < 36 * 3600 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

const units = ['B', 'kB', 'MB', 'GB', 'TB']

/** A number of bytes with a unit: `830 B`, `4.2 MB`, `120 MB`. */
export function byteText(bytes: number): string {
  let [amount, unit] = [bytes, 0]
  while (amount >= 999.5 && unit < units.length - 1) [amount, unit] = [amount / 1000, unit + 1]
  return `${unit > 0 && amount < 99.95 ? amount.toFixed(1) : Math.round(amount)} ${units[unit]}`
}
