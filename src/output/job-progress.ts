import { isFinal, videoStateOf } from '../contract/videos.ts'
import type { Clock } from '../context.ts'
import { responseStateOf } from '../contract/response-object.ts'
import { formatState, shortIds } from '../events/format-job.ts'
import { byteText, clockTime } from '../quantities.ts'
import { stateTone, type LiveLine, type Screen, type Styles, type Tone } from './screen.ts'
import type { VideoEvent } from '../events/video.ts'

type JobProgress = Extract<VideoEvent, { type: 'job-progress' }>
type DownloadProgress = Extract<VideoEvent, { type: 'download-progress' }>
export type ProgressEvent = JobProgress | DownloadProgress

interface JobProgressParts {
  readonly screen: Screen
  readonly clock: Clock
  readonly clean: (text: string) => string
  /** Not if standard output has the same events. */
  readonly log: boolean
  /** Undefined for a single job, which needs no board. */
  readonly jobs: readonly string[] | undefined
}

const logInterval = 60_000

const stepTime = 200

/** Times are those of a monotonic clock. */
interface Progress {
  /** The percentage is a whole number, and never decreases. */
  job: { readonly event: JobProgress; readonly percent: number | null; readonly seenAt: number } | undefined
  /** With how much of it had come when it was first reported. */
  download: { readonly event: DownloadProgress; readonly at: number; readonly received: number } | undefined
  loggedAt: number
}

const newView = (): Progress => ({ job: undefined, download: undefined, loggedAt: -Infinity })

/** On a line for each that is redrawn, or in a log with a line for each change. */
export function createJobProgress({ screen, clock, clean, log, jobs }: JobProgressParts) {
  const name = (id: string) => asciiOf(clean(id))
  const ids = jobs?.map(name)
  const views = new Map<string, Progress>(ids?.map((id) => [id, newView()]))
  const labels = ids && new Map(shortIds(ids).map((label, at) => [ids[at]!, label]))
  let latest: Progress | undefined
  let hasReportedUnknown = false

  const live: LiveLine = (width, styles, height) => {
    const now = clock.monotonic()
    if (labels === undefined) return drawLine(partsOf(latest!, now), now, width, styles)
    const rows = [...views].map(([id, { job, download }]) => {
      // What has arrived is not being downloaded.
      const isWhole = download?.event.received === download?.event.total
      const parts = partsOf({ job, download: isWhole ? undefined : download }, now)
      return { label: labels.get(id) ?? id, parts }
    })
    const running = rows.filter(({ parts }) => parts.tone === undefined)
    // Jobs that have ended are the first to give way.
    const fitting = rows.length <= height ? rows : running.slice(0, height - 1)
    const labelWidth = Math.min(Math.floor(width / 2), Math.max(...rows.map(({ label }) => label.length)))
    const lines = fitting.map(({ label, parts }) => {
      const name = shortened(label, labelWidth).padEnd(labelWidth)
      return `${styles.dim(name)}${gap}${drawLine(parts, now, width - labelWidth - gap.length, styles)}`
    })
    const hidden = rows.length - fitting.length
    const more = `${hidden} more, ${rows.length - running.length} ended`.slice(0, width)
    return [...lines, ...(hidden === 0 ? [] : [more])].join('\n')
  }
  return (event: ProgressEvent): void => {
    const now = clock.monotonic()
    const id = name(event.id)
    const view = views.get(id) ?? newView()
    views.set(id, view)
    latest = view
    const label = labels && (labels.get(id) ?? id)
    const isChange =
      event.type === 'download-progress' ? addDownload(view, event, now) : addJob(view, event, now)
    const status = event.type === 'job-progress' ? event.status : null
    const isKnown = status === null || (videoStateOf(status) ?? responseStateOf(status)) !== undefined
    if (!isKnown && !hasReportedUnknown) {
      hasReportedUnknown = true
      const text = `the gateway reports an unknown job state, "${status}"; it is treated as in_progress`
      screen.line(`warning: ${text}`, 'warning')
    }
    if (screen.isLive) return screen.wait(live)
    if (!log || !(isChange || now - view.loggedAt >= logInterval)) return
    view.loggedAt = now
    screen.line(logText(view, label, now), 'plain')
  }
}

/** @returns whether the state is another */
function addJob(view: Progress, event: JobProgress, now: number): boolean {
  const before = view.job
  const percents = [before?.percent, event.state === 'completed' ? 100 : event.progress]
  const known = percents.filter((value) => value != null && Number.isFinite(value)) as number[]
  const percent = known.length === 0 ? null : Math.min(100, Math.max(0, Math.floor(Math.max(...known))))
  view.job = { event, percent, seenAt: now }
  view.download = undefined
  return before?.event.state !== event.state
}

const measuredTime = 250

/** One that begins again is measured anew. @returns whether it is another one */
function addDownload(view: Progress, event: DownloadProgress, now: number): boolean {
  const before = view.download?.event.index === event.index ? view.download : undefined
  const isNew = before === undefined || event.received < before.event.received
  view.download = isNew ? { event, at: now, received: event.received } : { ...before, event }
  return before === undefined
}

/** Every character as wide as any other. */
export function asciiOf(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, '?')
}

function partsOf({ job, download }: Pick<Progress, 'job' | 'download'>, now: number): LineParts {
  if (download !== undefined) return downloadParts(download, now)
  return job === undefined ? { percent: null, label: 'looking up', details: [] } : jobParts(job, now)
}

function jobParts({ event, percent, seenAt }: NonNullable<Progress['job']>, now: number): LineParts {
  const { state, elapsed_s: elapsed, remaining_s: remaining } = event
  const since = isFinal(state) ? 0 : (now - seenAt) / 1000
  const left = remaining === null || isFinal(state) ? 0 : remaining - since
  return {
    percent,
    label: formatState({ state }),
    details: [clockTime(elapsed + since), ...leftText(left)],
    ...(isFinal(state) && { tone: stateTone(state) }),
  }
}

function downloadParts({ event, at, ...begun }: NonNullable<Progress['download']>, now: number): LineParts {
  const { index, received, total } = event
  const took = now - at
  const rate = took < measuredTime ? 0 : ((received - begun.received) * 1000) / took
  return {
    percent: percentOf(event),
    label: index === 1 ? 'downloading' : `downloading ${index}`,
    details: [
      total === null ? byteText(received) : `${byteText(received)} of ${byteText(total)}`,
      ...(rate === 0 ? [] : [`${byteText(rate)}/s`]),
      ...leftText(total === null || rate === 0 ? 0 : (total - received) / rate),
    ],
  }
}

function leftText(seconds: number): string[] {
  return seconds < 1 ? [] : [`~${clockTime(seconds)} left`]
}

function percentOf({ received, total }: DownloadProgress): number | null {
  return total === null || total === 0 ? null : Math.min(100, Math.floor((received / total) * 100))
}

function logText({ job, download }: Progress, label: string | undefined, now: number): string {
  if (download !== undefined) {
    const { index, received, total } = download.event
    const percent = percentOf(download.event)
    const done = percent === null ? byteText(received) : `${percent}% of ${byteText(total!)}`
    return `video ${index}${label === undefined ? '' : ` of ${label}`}: downloading, ${done}`
  }
  const { event, percent } = job!
  const { state, status } = event
  const [elapsed, ...left] = jobParts(job!, now).details
  const done = percent === null || state === 'completed' ? [] : [`${percent}%`]
  const facts = [formatState({ state, status }), ...done, `after ${elapsed}`, ...left].join(', ')
  return `job${label === undefined ? '' : ` ${label}`}: ${facts}`
}

/** All parts are ASCII, so that their length is their width. */
export interface LineParts {
  /** 0 to 100; null if unknown: then the bar only moves back and forth. */
  readonly percent: number | null
  readonly label: string
  readonly count?: string
  readonly details: readonly string[]
  /** For a job that has ended, which needs no bar. */
  readonly tone?: Tone
}

const gap = '  '
const minBar = 6
const maxBar = 30
const movingLength = 3

/** As many parts as fit. @param now animates the bar */
export function drawLine(parts: LineParts, now: number, width: number, styles: Styles): string {
  const { percent, count, details, tone } = parts
  const label = count ?? parts.label
  const isDone = tone !== undefined
  const isCounted = count !== undefined || percent === null || isDone
  const head = isCounted ? label : `${String(percent).padStart(3)}%`
  let room = width - head.length
  const take = (length: number) => {
    const fits = room >= length + gap.length
    if (fits) room -= length + gap.length
    return fits
  }
  const hasBar = !isDone && take(minBar)
  const left = details.findIndex((detail) => !take(detail.length))
  const visible = left === -1 ? details : details.slice(0, left)
  // The percentage already shows activity.
  const hasLabel = head !== label && take(label.length)
  const barLength = Math.min(maxBar, minBar + Math.max(0, room))
  return [
    ...(hasBar ? [bar(percent, barLength, Math.floor(now / stepTime), styles)] : []),
    styles[tone ?? 'plain'](head.slice(0, Math.max(0, width))),
    ...(hasLabel ? [label] : []),
    ...visible,
  ].join(gap)
}

function bar(percent: number | null, length: number, step: number, styles: Styles): string {
  const full = percent === null ? movingLength : Math.floor((percent * length) / 100)
  const turn = length - movingLength
  // Without a percentage it moves back and forth, so that it is always visible.
  const start = percent === null ? turn - Math.abs(turn - (step % (2 * turn))) : 0
  const rest = length - start - full
  const empty = (length: number) => (length === 0 ? '' : styles.dim('░'.repeat(length)))
  return `${empty(start)}${styles.accent('█'.repeat(full))}${empty(rest)}`
}

/** In the middle: the names of operations differ only at the end. */
function shortened(id: string, length: number): string {
  if (id.length <= length) return id
  const end = Math.ceil((length - 1) / 2)
  return `${id.slice(0, length - 1 - end)}…${id.slice(-end)}`
}
