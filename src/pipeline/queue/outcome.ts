import { join } from 'node:path'
import { billedOf, isExitName, ModelgateError, type ErrorFacts, type ExitName } from '../../errors.ts'
import { isObject, objectOf, type JsonObject } from '../../json.ts'
import type { TaskResult } from '../execute/task.ts'
import { isAnswered } from '../schedule/circuit.ts'
import { partsOf, readParts } from '../store/results.ts'

/** How an attempt has ended, as a worker tells the run. The files of a result are in the shared store. */
export type Outcome =
  | ({ readonly kind: 'result' } & ReturnType<typeof partsOf>)
  | { readonly kind: 'error'; readonly error: JsonObject }

export function resultOutcome(result: TaskResult): Outcome {
  return { kind: 'result', ...partsOf(result) }
}

/** An error on its way to the run. What only the worker's machine knows, such as paths, is left out. */
export function errorOutcome({ exit, code, message, facts: all }: ModelgateError): Outcome {
  const { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId } = all
  const facts = { phase, httpStatus, requestId, retryAfterS, shouldRetry, billed, hint, remoteId }
  return { kind: 'error', error: { exit, code, message, facts } }
}

/**
 * The result of a task, whose files are to be in a folder. The server may hold anything: what is taken is a result as locks
 * have it, with plain names, which must not choose where something is written.
 * @throws ModelgateError the error that it ended with; `queue_damaged`, an unknown outcome, for what cannot be read
 */
export function resultFrom(outcome: unknown, folder: string): TaskResult {
  const value = objectOf(outcome)
  if (value['kind'] === 'error') throw errorFrom(value['error'])
  const parts = value['kind'] === 'result' ? readParts(value) : undefined
  if (parts === undefined) throw damaged()
  return { ...parts, files: parts.result.outputs.map(({ path }) => join(folder, path)) }
}

/** Whether an outcome says all that there is to know of its request, so that nothing of it may still be there. */
export function isAnswer(outcome: Outcome): boolean {
  if (outcome.kind === 'result') return true
  const error = errorFrom(outcome.error)
  return isAnswered(error) || billedOf(error) === 'no'
}

function errorFrom(value: unknown): ModelgateError {
  const { exit, code, message, facts } = objectOf(value)
  if (!isExitName(exit) || typeof code !== 'string' || typeof message !== 'string') return damaged()
  return new ModelgateError(exit as ExitName, code, message, isObject(facts) ? (facts as ErrorFacts) : {})
}

function damaged(): ModelgateError {
  return new ModelgateError('unknown', 'queue_damaged', 'The queue holds an outcome that cannot be read.', {
    phase: 'result',
    billed: 'maybe',
  })
}
