import type { MadeImages } from '../../files/jobs/job-record.ts'
import type { Result } from '../lock/lock-block.ts'

/**
 * A line of a journal. Of one key the events come in this order: `intent`, `job` (for a remote job) or `made`, and then one of
 * `result`, `failure` and `release`. An intent that none of them follows is under way, or its outcome is unknown.
 */
export type JournalEvent =
  | {
      readonly type: 'begin'
      readonly run: string
      /** The name of the manifest's file. */
      readonly manifest: string
      /** The version of the program. */
      readonly version: string
    }
  /** On disk before the request is sent. */
  | {
      readonly type: 'intent'
      readonly instance: string
      readonly key: string
      /** From 1. */
      readonly variant: number
      /** The same each time the request of this intent is sent. */
      readonly idempotency_key: string
      /** How much it creates, and what that is estimated to cost. */
      readonly creates: number
      readonly cost: number | null
      /** The identity of the queue that it is given to; left out for a request that this process makes itself. */
      readonly queue?: string
      /** Where that queue is, without user and password: for messages. */
      readonly queue_at?: string
    }
  /** The remote job, as soon as its id is known. */
  | {
      readonly type: 'job'
      readonly key: string
      readonly id: string
      readonly kind: 'video' | 'operation' | 'response'
    }
  /** The addresses of results, as soon as the reply is read and before anything is fetched. */
  | { readonly type: 'made'; readonly key: string; readonly made: MadeImages }
  /** The result is in the folder of its key; `rejected` says which asserts failed. */
  | {
      readonly type: 'result'
      readonly instance: string
      readonly key: string
      readonly variant: number
      /** Version 0.1.0 wrote it here. */
      readonly result?: Result
      readonly rejected: readonly string[] | null
    }
  /** An answer that is final for this request, paid for or not. */
  | {
      readonly type: 'failure'
      readonly instance: string
      readonly key: string
      readonly exit_code: number
      readonly code: string
      readonly message: string
      readonly billed: 'no' | 'maybe' | 'yes'
    }
  /** Nothing was created: the request can be made again, and the intent does not count. */
  | { readonly type: 'release'; readonly key: string; readonly reason: string }
  /** `--regenerate`, or `on_unknown: retry`: an unknown outcome or an older result no longer counts. */
  | { readonly type: 'discard'; readonly key: string }
  /** Nothing is left to do: the next run is a new one. */
  | { readonly type: 'end'; readonly run: string }
