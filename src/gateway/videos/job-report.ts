import type { JobKind } from '../../contract/video-event.ts'
import type { VideoState } from '../../contract/videos.ts'
import type { JsonObject } from '../json-access.ts'
import type { JobFailure } from './job-failure.ts'

/** What a reply tells of a job. */
export interface JobReport {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: JobKind
  readonly state: VideoState
  /** The gateway's own word for the state; null where the state follows from something else. */
  readonly status: string | null
  /** False for a word never seen, which is taken for a job that is still running (fault F2). */
  readonly isKnown: boolean
  /** 0 to 100, for display; null when the gateway does not say. */
  readonly progress: number | null
  readonly model: string | null
  /** Unix seconds; null when the gateway does not say. */
  readonly createdAt: number | null
  readonly completedAt: number | null
  readonly expiresAt: number | null
  /** Of a job that has failed. */
  readonly failure: JobFailure | undefined
  /** What else is to be told to the user, as a sentence. */
  readonly note: string | undefined
  /** The reply as it was written; undefined where it is not at hand. */
  readonly text?: string | undefined
  /** The gateway's own object, untouched. */
  readonly value: JsonObject
  readonly requestId: string | null
  /** When the gateway wants to be asked again, in milliseconds, at most the longest wait of the program. */
  readonly nextLookUpMs: number | undefined
}
