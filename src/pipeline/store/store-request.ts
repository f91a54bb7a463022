import type { Context } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { exchange, type ConnectionOptions, type ExchangeRequest, type Reply } from '../../gateway/exchange.ts'
import { ExchangeError } from '../../gateway/exchange-error.ts'
import { readBody, createTrace } from '../../gateway/send-request.ts'
import { brokenError } from '../../gateway/gateway-errors.ts'
import {
  Failure,
  failedStatus,
  judgeFailure,
  refusedStatus,
  waitHint,
  withRetries,
} from '../../gateway/retry.ts'
import { defaultSeconds } from '../../limits.ts'

export type StoreContext = Pick<Context, 'cwd' | 'platform' | 'clock' | 'signal' | 'env' | 'home'>

export interface StoreNetwork {
  readonly connection: ConnectionOptions
  readonly allowHttp: boolean
  /** Without secrets. */
  readonly trace?: ((line: string) => void) | undefined
}

/** A look-up costs nothing, and an object is replaced by the same bytes: every request may be sent again. */
const policy = { mode: 'safe', maxRetries: 5, idempotencyHonoured: true } as const

const limits = {
  connect: defaultSeconds.connect * 1000,
  firstByte: defaultSeconds.firstByte.streamed * 1000,
  idle: defaultSeconds.idle * 1000,
  progress: defaultSeconds.progress * 1000,
  total: undefined,
}

/**
 * Each attempt is made anew by `next`; its reply goes to `use`, again when it breaks off. A `Failure` that that throws
 * is sent again where it may be.
 */
export function connectStore(
  { clock, signal }: StoreContext,
  { connection, trace }: Pick<StoreNetwork, 'connection' | 'trace'>,
  shown: string,
) {
  const traced = createTrace({ clock, ...(trace === undefined ? {} : { trace }) })

  async function attempt<Value>(request: ExchangeRequest, use: (reply: Reply) => Promise<Value>) {
    traced.request(request)
    try {
      const reply = await exchange(request, { ...connection, clock, signal, limits })
      traced.reply(reply)
      const stalled = (seconds: number) =>
        new ExchangeError('stream', 'timeout', `${request.url.host} made no progress for ${seconds} s.`)
      try {
        return await use({ ...reply, body: readBody({ clock, limits }, reply, { stalled }) })
      } finally {
        reply.close()
      }
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      traced.failure(error)
      throw judgeFailure(broken(error, shown), 'read', policy)
    }
  }

  return async <Value>(next: () => Promise<ExchangeRequest>, use: (reply: Reply) => Promise<Value>) =>
    await withRetries({ clock, policy, onRetry() {} }, signal, async () => await attempt(await next(), use))
}

function broken(error: ExchangeError, shown: string): ModelgateError {
  const found = brokenError(error, 'read')
  const message = `The store ${shown}: ${found.message}`
  const isAddress = error.fault === 'dns' || error.fault === 'connect' || error.fault === 'tls'
  const hint = 'Check its address (of a bucket: AWS_ENDPOINT_URL_S3, AWS_REGION) and the network.'
  return found.amend({ message, ...(isAddress ? { hint } : {}) })
}

/** Whether a server that answers so may answer otherwise in a moment. */
export function isForTheMoment(status: number): boolean {
  return refusedStatus.has(status) || failedStatus.has(status)
}

/** @param answer what the server says: `503 SlowDown` @param now milliseconds since 1970 */
export function unavailable(
  shown: string,
  answer: string,
  { status, headers }: Reply,
  now: number,
  isRepeatable: boolean,
): Failure {
  const message = `The store ${shown} cannot answer at the moment (${answer}).`
  const error = new ModelgateError('later', 'store_unavailable', message, {
    phase: 'connect',
    billed: 'no',
    httpStatus: status,
    retryAfterS: waitHint(headers, undefined, now),
    hint: 'Run it again later.',
  })
  return new Failure(error, isRepeatable)
}
