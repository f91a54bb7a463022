import { GenerationError, type ModelgateError } from '../../errors.ts'
import { filteredOf } from '../../gateway/videos/job-failure.ts'
import type { JobReport } from '../../gateway/videos/job-report.ts'
import { cameAndAsked } from '../shared/came-and-asked.ts'
import { videosOf } from './count-videos.ts'
import type { NamedJob } from './jobs.ts'
import type { JobSession } from './job-session.ts'

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
  const message = cameAndAsked(came, asked, 'video')
  if (options.strict) {
    return new GenerationError('fewer_videos', message, { remoteId: id, billed: 'yes' })
  }
  report.warn(message)
  return undefined
}
