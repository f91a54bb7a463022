import { Ended, asModelgateError, type ModelgateError } from '../../errors.ts'

/**
 * A bug, as whoever was about to send a request knows it: it cannot have cost anything before the request went out.
 * Other errors know that themselves.
 */
export function withBilling(error: ModelgateError, hasSent: boolean): ModelgateError
export function withBilling(error: unknown, hasSent: boolean, debug: boolean): unknown
export function withBilling(error: unknown, hasSent: boolean, debug = false): unknown {
  if (error instanceof Ended) return error
  const known = asModelgateError(error, debug)
  return known.exit === 'bug' ? known.supplying({ billed: hasSent ? 'maybe' : 'no' }) : known
}
