/** Everything that `--jsonl` prints line by line and `--json` as one document; the names only ever grow. */

import type { ImageDocument, ImageEvent } from './image-event.ts'
import type { SavedFile, TextDocument, TextEvent } from './text-event.ts'
import type { JobListDocument, VideoDocument, VideoEvent } from './video-event.ts'

/** Grows when a field is added or changed in meaning; readers may rely on fields never going away. */
export const outputVersion = 1

/** What only commands and the request core report. */
export type CommandEvent =
  | {
      readonly type: 'start'
      readonly version: number
      readonly command: string
      /** Null where the command asks no model: a look-up, a list. */
      readonly model: string | null
    }
  | { readonly type: 'file-save'; readonly file: SavedFile }
  | {
      readonly type: 'retry-wait'
      readonly attempt: number
      readonly attempts_left: number
      readonly wait_s: number
      readonly http_status: number | null
      readonly reason: string
    }
  | { readonly type: 'warning-add'; readonly message: string }

export type OutputEvent = TextEvent | CommandEvent | ImageEvent | VideoEvent

export type OutputDocument = TextDocument | ImageDocument | VideoDocument | JobListDocument

/** The error object of `--json` and `--jsonl`. */
export interface ErrorDocument {
  readonly error: {
    readonly code: string
    readonly exit_code: number
    readonly phase: string | null
    readonly http_status: number | null
    readonly request_id: string | null
    readonly retry_after_s: number | null
    readonly billed: 'no' | 'maybe' | 'yes'
    readonly message: string
    readonly hint: string | null
    readonly remote_id: string | null
    /** Absolute paths of results that could not be written where they belong. */
    readonly rescued: readonly string[]
  }
}
