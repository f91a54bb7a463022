import { billedOf, ModelgateError, type ExitName } from '../../errors.ts'
import type { Answer } from './circuit.ts'

/** A spent quota comes with the same status, and waiting does not help. */
export function isRateLimit(error: unknown): boolean {
  return error instanceof ModelgateError && error.exit === 'later' && error.facts.httpStatus === 429
}

/** What no wait mends: a certificate, a proxy's answer, the end of the time, a queue that has been waited for. */
const finalCode = /^(?:not_sent_(?:certificate|client_certificate|tls|proxy|deadline)|queue_unreachable)$/
/** What says nothing of the gateway: the queue, its store, and its workers. */
const otherServer = /^(?:queue|store|worker)_/

/**
 * Whether a request may be sent again after this error: it cost nothing, or only looks up what was started before. What
 * the gateway says of it (`x-should-retry`) comes first.
 * @param isFollowUp whether it goes on with what the gateway has accepted
 */
export function mayRepeat(error: unknown, isFollowUp: boolean): error is ModelgateError {
  if (!(error instanceof ModelgateError) || finalCode.test(error.code)) return false
  if (!isFollowUp && billedOf(error) !== 'no') return false
  const { shouldRetry } = error.facts
  if (shouldRetry !== undefined && !isFollowUp) return shouldRetry
  return shouldRetry === true || error.exit === 'later' || error.exit === 'notSent'
}

/** Whether a worker died over the request, or stood still for too long: as often as machines come and go. */
export function isOfWorker(error: unknown): boolean {
  return error instanceof ModelgateError && error.code.startsWith('worker_')
}

/** What an error says of the gateway. */
export function answerIn(error: unknown): Answer {
  if (!(error instanceof ModelgateError) || otherServer.test(error.code)) return 'neither'
  if (isRateLimit(error)) return 'answered'
  const { exit, facts } = error
  if (exit === 'later' || exit === 'notSent' || exit === 'unknown') return 'failed'
  const isAnswer = facts.httpStatus !== undefined || exit === 'failed' || exit === 'contract'
  return isAnswer ? 'answered' : 'neither'
}

/** Whether the gateway has nothing more to say about a request that ended so. */
export function isAnswered({ exit }: Pick<ModelgateError, 'exit'>): boolean {
  return answeredExits.has(exit)
}

const answeredExits: ReadonlySet<ExitName> = new Set(['rejected', 'failed', 'contract', 'partial', 'schema'])
