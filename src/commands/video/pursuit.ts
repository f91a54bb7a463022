import type { OutputPlan } from '../../files/output-plan.ts'
import type { StoredJob } from '../../files/jobs/stored-job.ts'
import type { JobReport } from '../../gateway/videos/job-report.ts'
import type { Job } from '../../gateway/videos/look-up-job.ts'

/** A job that is waited for, and where its videos go. */
export interface Pursuit {
  readonly job: Job
  readonly stored: StoredJob | undefined
  readonly plan: OutputPlan
  readonly force: boolean
  /** What is known already, so that it is not asked for at once. */
  readonly first?: JobReport | undefined
  /** When the wait ends (`--timeout`), in milliseconds of the monotonic clock. */
  readonly deadlineMs: number | undefined
}
