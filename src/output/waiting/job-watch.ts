import type { Clock } from '../../context.ts'
import type { OutputEvent } from '../../contract/output-event.ts'
import { videoStateOf } from '../../contract/video-state.ts'
import type { LiveLine } from '../live-line.ts'
import type { Screen } from '../screen.ts'
import { drawLine } from './draw-line.ts'
import { downloadOf, downloadParts, downloadText, type DownloadView } from './download-view.ts'
import { jobParts, jobText, viewOf, type JobView } from './job-view.ts'

export interface JobWatchParts {
  readonly screen: Screen
  readonly clock: Clock
  /** One line without anything that could act on a terminal, and without secrets. */
  readonly clean: (text: string) => string
  /** Whether a log gets lines of its own; not where standard output tells the same at once. */
  readonly log: boolean
}

/** Shows how far a job and its downloads have come: one line that changes, or in a log a line for every change. */
export interface JobWatch {
  event(event: OutputEvent): void
}

/** A log gets a sign of life so often, in milliseconds. */
const signOfLife = 60_000

/** Between two steps of a bar that only moves, in milliseconds. */
const stepTime = 200

export function createJobWatch({ screen, clock, clean, log }: JobWatchParts): JobWatch {
  let job: JobView | undefined
  let download: DownloadView | undefined
  let toldUnknown = false
  let lastLineAt = -Infinity

  const live: LiveLine = (width, styles) => {
    const now = clock.monotonic()
    const parts = download === undefined ? jobParts(job!, now) : downloadParts(download, now)
    return drawLine(parts, Math.floor(now / stepTime), width, styles)
  }
  const show = (isNews: boolean, text: () => string) => {
    if (screen.isLive) return screen.wait(live)
    const now = clock.monotonic()
    if (!log || !(isNews || now - lastLineAt >= signOfLife)) return
    lastLineAt = now
    screen.line(text(), 'plain')
  }
  return {
    event(event) {
      const now = clock.monotonic()
      if (event.type === 'download-progress') {
        const before = download?.index === event.index ? download : undefined
        const next = (download = downloadOf(event, before, now))
        show(before === undefined, () => downloadText(next))
      } else if (event.type === 'job-progress') {
        const id = asciiOf(clean(event.id))
        const before = job?.id === id ? job : undefined
        const next = (job = viewOf({ ...event, id }, before, now))
        download = undefined
        if (!toldUnknown && event.status !== null && videoStateOf(event.status) === undefined) {
          toldUnknown = true
          screen.line(unknownText(event.status), 'warning')
        }
        show(before?.state !== next.state, () => jobText(next, now))
      }
    },
  }
}

function unknownText(status: string): string {
  return `warning: the gateway calls the state of the job "${status}", which is unknown; it is taken for in_progress`
}

/** Every character as wide as any other. */
function asciiOf(text: string): string {
  return text.replaceAll(/[^\u0020-\u007e]/g, '?')
}
