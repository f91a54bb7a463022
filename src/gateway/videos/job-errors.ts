import { Interrupted, ModelgateError, type ErrorFacts } from '../../errors.ts'

/** The same error, with more to tell; a signal stays one. */
export function withFacts(error: ModelgateError, facts: ErrorFacts, message = error.message): ModelgateError {
  const all = { ...error.facts, ...facts }
  return error instanceof Interrupted
    ? new Interrupted(error.exit as 'interrupt', all)
    : new ModelgateError(error.exit, error.code, message, all)
}
