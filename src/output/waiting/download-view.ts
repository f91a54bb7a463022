import type { VideoEvent } from '../../contract/video-event.ts'
import { byteText } from './amounts.ts'
import type { LineParts } from './draw-line.ts'
import { leftText } from './job-view.ts'

type DownloadProgress = Extract<VideoEvent, { type: 'download-progress' }>

interface Sample {
  readonly at: number
  readonly received: number
}

/** How far a download has come, and how fast it has been lately. Times are milliseconds of a monotonic clock. */
export interface DownloadView {
  readonly index: number
  readonly received: number
  readonly total: number | null
  /** Of the last seconds, oldest first. */
  readonly samples: readonly Sample[]
}

/** The rate is that of so many milliseconds, told by samples so far apart. */
const span = 5_000
const spacing = 250

/** The download after news of it; `before` is what was known of the same one. A resumed one starts anew. */
export function downloadOf(
  { index, received, total }: DownloadProgress,
  before: DownloadView | undefined,
  now: number,
): DownloadView {
  const earlier = before === undefined || received < before.received ? [] : before.samples
  const last = earlier.at(-1)
  const isDue = last === undefined || now - last.at >= spacing
  const samples = isDue ? [...earlier.filter(({ at }) => now - at <= span), { at: now, received }] : earlier
  return { index, received, total, samples }
}

export function downloadParts(view: DownloadView, now: number): LineParts {
  const { index, received, total } = view
  const rate = rateOf(view, now)
  const left = total === null || rate === 0 ? 0 : (total - received) / rate
  return {
    percent: percentOf(view),
    words: index === 1 ? 'downloading' : `downloading ${index}`,
    details: [
      total === null ? byteText(received) : `${byteText(received)} of ${byteText(total)}`,
      ...(rate === 0 ? [] : [`${byteText(rate)}/s`]),
      ...leftText(left),
    ],
    id: '',
  }
}

/** The same for a log. */
export function downloadText(view: DownloadView): string {
  const { index, received, total } = view
  const percent = percentOf(view)
  const done = percent === null ? byteText(received) : `${percent}% of ${byteText(total!)}`
  return `video ${index}: downloading, ${done}`
}

function percentOf({ received, total }: DownloadView): number | null {
  return total === null || total === 0 ? null : Math.min(100, Math.floor((received / total) * 100))
}

/** In bytes a second; 0 while too little is known. */
function rateOf({ received, samples }: DownloadView, now: number): number {
  const first = samples[0]
  if (first === undefined || now - first.at < spacing) return 0
  return ((received - first.received) * 1000) / (now - first.at)
}
