import { GenerationError, ModelgateError, type ErrorFacts } from '../../errors.ts'
import { filteredOf, filteredSentence } from '../../gateway/videos/job-failure.ts'
import type { JobReport } from '../../gateway/videos/job-report.ts'
import type { VideoReport } from './video-report.ts'

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
