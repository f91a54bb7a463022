import { isExitName, ModelgateError, type ErrorFacts, type ExitName } from '../../errors.ts'
import { isObject, type JsonObject } from '../../json.ts'

/** An error on its way from a worker to the run. What only that machine knows, such as paths, is left out. */
export interface ErrorMessage {
  readonly exit: ExitName
  readonly code: string
  readonly message: string
  readonly facts: Pick<
    ErrorFacts,
    'phase' | 'httpStatus' | 'requestId' | 'retryAfterS' | 'billed' | 'hint' | 'remoteId'
  >
}

/** The error without secrets. @param redact takes them out of a JSON document */
export function errorMessage(error: ModelgateError, redact: (json: string) => string): ErrorMessage {
  const { phase, httpStatus, requestId, retryAfterS, billed, hint, remoteId } = error.facts
  const facts = { phase, httpStatus, requestId, retryAfterS, billed, hint, remoteId }
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
