import { isExitName, ModelgateError, type ErrorFacts, type ExitName } from '../../errors.ts'
import { isObject, type JsonObject } from '../../json.ts'
import type { Result } from '../lock/lock-block.ts'
import type { RemoteJob } from '../journal/history.ts'
import type { Lane } from '../manifest/manifest.ts'

/**
 * One request of a run, as all processes of a queue see it: there is one for each key, so that nobody sends it twice.
 *
 * `waiting` → `sent` → `done` | `failed` | `unknown`; a remote job is `started` in between. What was sent and did not reach
 * the gateway is `waiting` again. `withdrawn`: the run was stopped before anybody had sent it.
 */
export interface TaskDocument {
  /** The idempotency key; a new one each time the result is to be made anew. */
  readonly attempt: string
  /** Attempts that were made before, and do not count any more. */
  readonly earlier: readonly string[]
  readonly run: string
  readonly instance: string
  readonly lane: Lane
  /** How many results it creates, and what that is estimated to cost, as a decimal number. */
  readonly creates: number
  readonly cost: string | null
  readonly onUnknown: 'stop' | 'retry'
  readonly state: 'waiting' | 'sent' | 'started' | 'done' | 'failed' | 'unknown' | 'withdrawn'
  /** Since when, in milliseconds since 1970, by the clock of the server. */
  readonly since: number
  /** Who has sent it. */
  readonly worker: string | null
  /** Whether the budget of the run has it: one that is sent again under the same key creates nothing more. */
  readonly isCounted: boolean
  /** Whether an earlier request under its key may have been accepted: that a later one was not says nothing of it. */
  readonly mayBeThere: boolean
  /** Failures in a row that were no 429: the waits between attempts grow with it. */
  readonly failures: number
  /** Not to be sent before, in milliseconds since 1970. */
  readonly notBefore: number
  /** Its place in the lane, until it is given back. */
  readonly place: Place | null
  readonly job: RemoteJob | null
  readonly outcome: TaskOutcome | null
}

export interface Place {
  /** Of the request in its lane, and how many outages there had been. */
  readonly number: number
  readonly outages: number
  /** Whether it was sent to see whether the gateway is there again. */
  readonly isProbe: boolean
  /** Whether what the gateway answered is known, while a remote job goes on. */
  readonly isAnswered: boolean
}

/** How a request ended. */
export type TaskOutcome =
  | {
      readonly kind: 'result'
      /** Its files are in the shared store, by their digests. */
      readonly result: Result
      readonly cost: { readonly amount: string; readonly currency: string } | null
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'error'; readonly error: ErrorMessage }

/** Whether nobody will do anything more about it. */
export function isFinal({ state }: Pick<TaskDocument, 'state'>): boolean {
  return state === 'done' || state === 'failed' || state === 'unknown' || state === 'withdrawn'
}

export const taskName = (key: string): string => `task:${key}`
/** What is to be sent: a task message, as `{ "message": … }`. It goes when the task has ended. */
export const requestName = (key: string): string => `request:${key}`
export const runName = (run: string): string => `run:${run}`
export const workerName = (worker: string): string => `worker:${worker}`
export const lanesName = 'lanes'

/** An error on its way from a worker to the run. What only that machine knows, such as paths, is left out. */
export interface ErrorMessage {
  readonly exit: ExitName
  readonly code: string
  readonly message: string
  readonly facts: Pick<
    ErrorFacts,
    'phase' | 'httpStatus' | 'requestId' | 'retryAfterS' | 'shouldRetry' | 'billed' | 'hint' | 'remoteId'
  >
}

/** The error without secrets. @param redact takes them out of a JSON document */
export function errorMessage(error: ModelgateError, redact: (json: string) => string): ErrorMessage {
  const { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId } = error.facts
  const facts = { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId }
  const { exit, code, message } = error
  return JSON.parse(redact(JSON.stringify({ exit, code, message, facts }))) as ErrorMessage
}

/** The error that a worker has met. What is no such message is an unknown outcome: something was sent. */
export function errorFrom(value: unknown): ModelgateError {
  const { exit, code, message, facts } = isObject(value) ? value : ({} as JsonObject)
  if (!isExitName(exit) || typeof code !== 'string' || typeof message !== 'string') {
    return new ModelgateError('unknown', 'queue_damaged', 'The queue holds an outcome that cannot be read.', {
      phase: 'result',
      billed: 'maybe',
    })
  }
  return new ModelgateError(exit, code, message, isObject(facts) ? (facts as ErrorFacts) : {})
}
