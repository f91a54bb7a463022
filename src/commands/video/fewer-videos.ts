import { GenerationError, type ModelgateError } from '../../errors.ts'
import { filteredOf } from '../../gateway/videos/job-failure.ts'
import type { JobReport } from '../../gateway/videos/job-report.ts'
import { resultPlaces } from '../../gateway/videos/result-places.ts'
import { videosOf } from './count-videos.ts'
import type { Pursuit } from './pursuit.ts'
import type { JobSession } from './job-session.ts'

/**
 * Fewer videos than were asked for are a result, and worth a word (fault E37); filters tell of theirs themselves.
 * @returns the error that `--strict` makes of it
 */
export function tellFewer(
  { options, report }: JobSession,
  { stored }: Pick<Pursuit, 'stored'>,
  completed: JobReport,
): ModelgateError | undefined {
  if (stored === undefined) return undefined
  const asked = videosOf(stored.record.request)
  const came = resultPlaces(completed).length
  if (came + filteredOf(completed.value).count >= asked) return undefined
  const message = `${came === 1 ? '1 video' : `${came} videos`} came, ${asked} were asked for.`
  if (options.strict) {
    return new GenerationError('fewer_videos', message, { remoteId: completed.id, billed: 'yes' })
  }
  report.warn(message)
  return undefined
}
