import { join } from 'node:path'
import { amountFrom, amountText } from '../../cost/amount.ts'
import { billedOf, isExitName, ModelgateError, type ErrorFacts, type ExitName } from '../../errors.ts'
import { isObject, listOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { resultOf } from '../lock/block-shape.ts'
import type { TaskResult } from '../execute/task.ts'
import type { Result } from '../lock/lock-block.ts'
import { isAnswered } from '../schedule/attempt-error.ts'

/** How an attempt has ended, as a worker tells the run. The files of a result are in the shared store. */
export type Outcome =
  | {
      readonly kind: 'result'
      readonly result: Result
      readonly cost: { readonly amount: string; readonly currency: string } | null
      readonly warnings: readonly string[]
    }
  | { readonly kind: 'error'; readonly error: JsonObject }

export function resultOutcome({ result, cost, warnings }: TaskResult): Outcome {
  const known = cost === null ? null : { amount: amountText(cost.amount), currency: cost.currency }
  return { kind: 'result', result, cost: known, warnings }
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
  const { kind, result, cost, warnings, error } = objectOf(outcome)
  if (kind === 'error') throw errorFrom(error)
  let isValid = kind === 'result'
  const found = resultOf(result, () => (isValid = false))
  const names = found?.outputs.map(({ path }) => path) ?? []
  if (found === undefined || !isValid || !names.every((name) => /^\d+\.\w+$/.test(name))) throw damaged()
  const amount = amountFrom(stringOf(objectOf(cost)['amount']) ?? '')
  const currency = stringOf(objectOf(cost)['currency'])
  return {
    result: found,
    files: names.map((name) => join(folder, name)),
    cost: amount === undefined || currency === undefined ? null : { amount, currency },
    warnings: listOf(warnings).flatMap((warning) => stringOf(warning) ?? []),
  }
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
