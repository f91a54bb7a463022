import type { JobProgress, JobRecord } from './job-record.ts'
import type { ReplyLog } from './reply-log.ts'

/** A job that is on record. */
export interface StoredJob {
  /** As it was read or written last by this process. */
  readonly record: JobRecord
  /**
   * Adds what has been learned to what is on disk by now: a saved file, an id and an end are never taken back.
   * `checked_at` becomes the present time with every state, unless it is given. May be called again at once.
   * @throws FileError
   */
  update(change: Partial<JobProgress>): Promise<void>
  /**
   * Opens the file for what comes of the gateway's reply. It goes once the job's id is on record; until then whoever
   * opens the store finds the id in it.
   * @throws FileError
   */
  openReplyLog(): Promise<ReplyLog>
}
