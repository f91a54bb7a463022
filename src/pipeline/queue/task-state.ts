import type { Job } from 'bullmq'
import * as v from 'valibot'
import {
  billedOf,
  isExitName,
  ModelgateError,
  type ErrorFacts,
  type ExitName,
  asErrorCode,
} from '../../errors.ts'
import { isDeeperThan, isObject, maxJsonDepth } from '../../json.ts'
import { madeImages } from '../journal/journal.ts'
import { isAnswered } from '../schedule/circuit.ts'
import { partsOf, readParts, type TaskResult } from '../store/results.ts'

/** A task as it lies on the server. Text, since a server may keep neither the order of names nor every character. */
export interface TaskData {
  readonly message: string
  readonly state: string
}

export type TaskJob = Job<TaskData>

const instant = v.pipe(v.number(), v.finite())
const count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** What has become of a task. It is written by whoever has won the attempt to send it, and nobody else. */
const stateSchema = v.strictObject({
  /** The attempt to send it: another one each time it may be sent. */
  attempt: v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/)),
  /** How often in a row the gateway has refused it with 429; of a remote job, how many look-ups in a row have failed. */
  failures: count,
  /** The remote job, and when it was started, in milliseconds since 1970. */
  job: v.nullable(
    v.strictObject({ id: v.string(), kind: v.picklist(['video', 'operation']), since: instant }),
  ),
  made: v.nullable(madeImages),
  /** How the attempt has ended; null while it is under way, and where nobody knows. */
  outcome: v.nullable(
    v.union([
      // Its files are in the shared store, under plain names, which must not choose where something is written.
      v.custom<{ readonly kind: 'result' } & ReturnType<typeof partsOf>>(
        (value) => isObject(value) && value['kind'] === 'result' && readParts(value) !== undefined,
      ),
      v.strictObject({
        kind: v.literal('error'),
        exit: v.custom<ExitName>(isExitName),
        code: v.string(),
        message: v.string(),
        facts: v.custom<ErrorFacts>(isObject),
      }),
    ]),
  ),
})

export type TaskState = v.InferOutput<typeof stateSchema>
export type Outcome = NonNullable<TaskState['outcome']>

/**
 * The state of a task. The server may hold anything: what is taken is what this version has written.
 * @throws ModelgateError `queue_damaged`, an unknown outcome
 */
export function stateOf({ id, data }: TaskJob): TaskState {
  try {
    const value: unknown = JSON.parse(data.state)
    if (isDeeperThan(value, maxJsonDepth)) throw new RangeError('It is nested too deeply.')
    if (!jobIdPattern.test(id ?? '')) throw new RangeError('It could name a folder.')
    return v.parse(stateSchema, value)
  } catch {
    throw new ModelgateError('unknown', 'queue_damaged', 'The queue holds a task that cannot be read.', {
      phase: 'result',
      billed: 'maybe',
    })
  }
}

export const jobIdOf = (idempotencyKey: string) => `task-${idempotencyKey}`

const jobIdPattern = /^task-[0-9a-f]{32}$/

export function resultOutcome(result: TaskResult): Outcome {
  return { kind: 'result', ...partsOf(result) }
}

/** An error on its way to the run. What only the worker's machine knows, such as paths, is left out. */
export function errorOutcome({ exit, code, message, facts: all }: ModelgateError): Outcome {
  const { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId } = all
  const facts = { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId }
  return { kind: 'error', exit, code, message, facts: facts as ErrorFacts }
}

/** @throws ModelgateError the error that the task ended with */
export function resultFrom(outcome: Outcome): TaskResult {
  if (outcome.kind === 'error') throw errorFrom(outcome)
  return readParts(outcome)!
}

/** Whether what became of a task is known, or can be found out. */
export function isKnown({ outcome, job, made }: TaskState): boolean {
  return outcome === null ? job !== null || made !== null : isAnswer(outcome)
}

/** Whether an outcome says all that there is to know of its request, so that nothing of it may still be there. */
export function isAnswer(outcome: Outcome): boolean {
  if (outcome.kind === 'result') return true
  const error = errorFrom(outcome)
  return isAnswered(error) || billedOf(error) === 'no'
}

function errorFrom({ exit, code, message, facts }: Outcome & { readonly kind: 'error' }): ModelgateError {
  return new ModelgateError(exit, asErrorCode(code), message, facts)
}
