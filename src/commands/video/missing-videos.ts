import { GenerationError, ModelgateError, type ErrorFacts } from '../../errors.ts'
import { filteredOf, filteredSentence, type JobReport } from '../../gateway/videos/job-fields.ts'
import type { VideoReport } from './video-report.ts'
import { countMismatch } from '../shared/came-and-asked.ts'
import { videosOf } from './video-request.ts'
import type { NamedJob } from './jobs.ts'
import type { JobSession } from './job-session.ts'

/** Videos that were made and not handed over; undefined when there are none. */
export function tellHeldBack(
  report: Pick<VideoReport, 'fail'>,
  { value, id }: Pick<JobReport, 'value' | 'id'>,
  count: number,
): ModelgateError | undefined {
  const held = filteredOf(value)
  if (held.count === 0) return undefined
  const reasons = held.reasons.length > 0 ? held.reasons : ['The gateway does not say why it was held back.']
  for (const [at, reason] of reasons.entries()) {
    report.fail(count + at + 1, new GenerationError('filtered', reason))
  }
  return someMissing(filteredSentence(held, count), id)
}

export function someMissing(message: string, remoteId: string, facts: ErrorFacts = {}): ModelgateError {
  const all = { phase: 'result', billed: 'yes', remoteId, ...facts } as const
  return new ModelgateError('partial', 'some_videos_failed', message, all)
}

/**
 * Fewer videos than were asked for are a result, and worth a word (fault E37); filters tell of theirs themselves.
 * @param came how many videos there are
 * @returns the error that `--strict` makes of it
 */
export function tellFewer(
  { options, report }: Pick<JobSession, 'options' | 'report'>,
  { stored }: Pick<NamedJob, 'stored'>,
  { id, value }: Pick<JobReport, 'id' | 'value'>,
  came: number,
): ModelgateError | undefined {
  if (stored === undefined) return undefined
  const asked = videosOf(stored.record.request)
  if (came + filteredOf(value).count >= asked) return undefined
  const message = countMismatch(came, asked, 'video')
  if (options.strict) {
    return new GenerationError('fewer_videos', message, { remoteId: id, billed: 'yes' })
  }
  report.warn(message)
  return undefined
}
