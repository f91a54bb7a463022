import { createGrowingText } from '../files/growing-text.ts'
import { OutputClosed } from '../errors.ts'
import type { ModelgateError } from '../errors.ts'
import type { Usage } from '../contract/text-event.ts'
import type { OutputEvent } from '../contract/output-event.ts'
import type { VideoEvent } from '../contract/video-event.ts'
import { errorLines } from './error-text.ts'
import { noticeOf, usageText } from './notice.ts'
import type { Screen } from './screen.ts'
import type { JobWatch } from './waiting/job-watch.ts'

/** What every renderer says on standard error. */
export interface Notices {
  event(event: OutputEvent): void
  /** The last words of a command that got an answer. */
  end(usage: Usage | null): void
  /** The failure, for a person. Silent when it is only that the reader has gone. */
  error(error: ModelgateError): void
}

export interface NoticeOptions {
  readonly quiet: boolean
  /** Print the token counts at the end. */
  readonly usage: boolean
  /** Leave out what the document on standard output tells anyway. */
  readonly warningsOnly: boolean
  /** The command that goes on waiting for a job. */
  readonly resume: (id: string) => string
  readonly watch: JobWatch
}

/** An error's message and its hint may hold a command to paste: cut only what cannot be meant for reading. */
const errorLimit = 4_000

export function createNotices(screen: Screen, options: NoticeOptions): Notices {
  let refusal = createGrowingText(errorLimit)
  const endRefusal = () => {
    if (refusal.length > 0 && !options.quiet && !options.warningsOnly) {
      screen.line(`refusal: ${refusal.toString()}`, 'warning', errorLimit)
    }
    refusal = createGrowingText(errorLimit)
  }
  const tellJob = (event: Extract<VideoEvent, { type: 'job-create' }>) => {
    // A quiet program reads JSON from standard error, if anything.
    if (options.quiet && options.warningsOnly) screen.json(JSON.stringify(event))
    else screen.line(`job ${event.id} started; resume with: ${options.resume(event.id)}`, 'plain', errorLimit)
  }
  return {
    event(event) {
      if (event.type === 'start') {
        screen.wait(`waiting for ${event.model ?? 'the gateway'}`)
        return
      }
      if (event.type === 'refusal-delta') {
        refusal.add(event.text)
        return
      }
      // A job costs money: whoever waits for it must be able to find it again, however quiet it is.
      if (event.type === 'job-create') return tellJob(event)
      if (options.quiet) return
      options.watch.event(event)
      const notice = noticeOf(event)
      if (notice?.level === 'warning') screen.line(notice.text, 'warning')
      else if (notice !== undefined && !options.warningsOnly) screen.line(notice.text, 'plain')
    },
    end(usage) {
      endRefusal()
      if (options.usage) screen.line(usageText(usage), 'plain')
    },
    error(error) {
      endRefusal()
      if (error instanceof OutputClosed) return
      const { problems, remarks } = errorLines(error)
      for (const problem of problems) screen.line(problem, 'error', errorLimit)
      for (const remark of remarks) screen.line(remark, 'plain', errorLimit)
    },
  }
}
