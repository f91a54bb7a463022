import type { SavedFile } from './text-event.ts'
import type { VideoState } from './videos.ts'

/** What a job is on the gateway: a Video (endpoints 3 and 5) or an operation (endpoint 7). */
export type JobKind = 'video' | 'operation'

/** A video that was saved and checked. */
export interface SavedVideo extends SavedFile {
  /** `mp4`, `mov`, `webm`, `mkv` or `avi`, from its bytes. */
  readonly format: string
  /** In pixels and seconds; null where the file does not tell. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
  /** False when neither the video nor its connection told whether all of it came. */
  readonly verified: boolean
}

/** One of several videos that could not be had. */
export interface VideoFailure {
  readonly index: number
  readonly code: string
  readonly message: string
  /** The absolute path of a video that came and could not be written where it belongs; null for others. */
  readonly rescued: string | null
}

/** What is reported while a job runs and its result is saved. Videos of one job are numbered from 1. */
export type VideoEvent =
  /** The gateway has accepted the job, and this machine has it on record. */
  | { readonly type: 'job-create'; readonly id: string; readonly kind: JobKind }
  /** A look-up, also when it says nothing new. */
  | {
      readonly type: 'job-progress'
      readonly id: string
      readonly state: VideoState
      /** The gateway's own word for the state; null where the state follows from something else. */
      readonly status: string | null
      /** 0 to 100, for display; null when the gateway does not say. */
      readonly progress: number | null
      readonly elapsed_s: number
      /** From the progress since the job was first seen under way; null while there is none. */
      readonly remaining_s: number | null
    }
  /** A look-up that failed, which says nothing about the job. */
  | {
      readonly type: 'poll-fail'
      readonly id: string
      /** In a row, from 1. */
      readonly attempt: number
      readonly wait_s: number
      readonly http_status: number | null
      readonly reason: string
    }
  | {
      readonly type: 'download-progress'
      readonly index: number
      readonly received: number
      readonly total: number | null
    }
  | { readonly type: 'video-save'; readonly index: number; readonly file: SavedVideo }
  | { readonly type: 'video-fail'; readonly failure: VideoFailure }
  /** A job of `video list`. */
  | { readonly type: 'job-list'; readonly job: JobSummary }

/** The document of `video generate`, `remix`, `status` and `wait`. */
export interface VideoDocument {
  readonly version: number
  readonly command: string
  readonly model: string | null
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: JobKind
  readonly state: VideoState
  /** The gateway's own word for the state; null where the state follows from something else. */
  readonly status: string | null
  readonly progress: number | null
  /** Unix seconds; null while the gateway does not say. */
  readonly expires_at: number | null
  /** The gateway's own object, every field as it was sent; one of the two is null. */
  readonly video: unknown
  readonly operation: unknown
  readonly files: readonly SavedVideo[]
  readonly failures: readonly VideoFailure[]
  readonly request_id: string | null
  readonly warnings: readonly string[]
}

/** What this machine knows of a job that it has started; the lines of `video list`. */
export interface JobSummary {
  /** Null when the gateway's reply never came: then only the idempotency key is known. */
  readonly id: string | null
  readonly kind: JobKind
  readonly state: VideoState | 'unknown'
  readonly status: string | null
  readonly progress: number | null
  readonly model: string
  readonly prompt: string
  readonly base_url: string
  /** The built-in local gateway, which has another address in every command. */
  readonly is_sandbox: boolean
  readonly idempotency_key: string
  /** Unix seconds, of this machine's clock. */
  readonly created_at: number
  readonly checked_at: number | null
  /** Unix seconds; null while the gateway does not say. */
  readonly expires_at: number | null
  readonly files: readonly string[]
}

/** The document of `video list`. */
export interface JobListDocument {
  readonly version: number
  readonly command: string
  readonly jobs: readonly JobSummary[]
  readonly warnings: readonly string[]
}
