import { onTestFinished } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { jsonBody, sendRequest } from '../../src/gateway/send-request.ts'
import type { Gateway, GatewayReply, GatewayRequest } from '../../src/gateway/gateway.ts'
import type { RetryNotice, RetryPolicy } from '../../src/gateway/retry.ts'
import { fakeClock, type FakeClock } from '../support/fake-clock.ts'
import { localServer } from '../support/local-server.ts'
import type { ServerReply } from '../support/server-replies.ts'
import { until } from '../support/until.ts'

export { until }

export interface TestGateway extends Gateway {
  /** Stands still but for the waits between attempts, which pass at once. */
  readonly clock: FakeClock
  readonly retries: readonly RetryNotice[]
  readonly traced: readonly string[]
  abort(reason: Error): void
}

export interface TestGatewayOptions extends Omit<Partial<Gateway>, 'policy' | 'limits' | 'clock'> {
  readonly policy?: Partial<RetryPolicy>
  readonly limits?: Partial<Gateway['limits']>
  readonly clock?: FakeClock
  /** Whether waits between attempts pass at once. */
  readonly skipWaits?: boolean
}

/** A gateway at this address, with the product's limits, on a clock that the test owns. */
export function testGateway(url: string, options: TestGatewayOptions = {}): TestGateway {
  const { clock = fakeClock(), policy, limits, skipWaits = true, ...rest } = options
  const retries: RetryNotice[] = []
  const traced: string[] = []
  const controller = new AbortController()
  // Whatever a failed test leaves open must not outlive it.
  onTestFinished(() => controller.abort(new Error('the test is over')))
  return {
    baseUrl: new URL(url),
    key: 'test-key-0123456789',
    signal: controller.signal,
    policy: { mode: 'safe', maxRetries: 2, idempotencyHonoured: false, ...policy },
    limits: {
      connect: 10_000,
      firstByte: 120_000,
      idle: 60_000,
      progress: 300_000,
      total: undefined,
      ...limits,
    },
    onRetry(retry) {
      retries.push(retry)
      if (skipWaits) void clock.advance(retry.wait_s * 1000 + 1)
    },
    trace: (line) => traced.push(line),
    ...rest,
    clock,
    retries,
    traced,
    abort: (reason) => controller.abort(reason),
  }
}

/** A request to create a text. */
export function textRequest(
  { baseUrl }: Pick<Gateway, 'baseUrl'>,
  more: Partial<GatewayRequest> = {},
): GatewayRequest {
  return {
    method: 'POST',
    url: new URL('/v1/responses', baseUrl),
    kind: 'text',
    accept: 'text/event-stream',
    contentType: 'application/json',
    idempotencyKey: 'one-key-for-all',
    body: jsonBody({ input: 'Hello' }),
    ...more,
  }
}

/** A server with these replies, and a gateway at its address. */
export async function served(replies: readonly ServerReply[], options: TestGatewayOptions = {}) {
  const server = await localServer(replies)
  return { server, gateway: testGateway(server.url, options) }
}

/** What a promise brings, or the error of ours that it ends with. Any other error is thrown on. */
export async function settled<Value>(promise: Promise<Value>): Promise<Value | ModelgateError> {
  return promise.catch((error: unknown) => {
    if (error instanceof ModelgateError) return error
    throw error
  })
}

/** `ok`, or the exit code and the code of the error that it ends with, as `7 timeout`. */
export async function verdictOf(promise: Promise<unknown>): Promise<string> {
  const end = await settled(promise)
  return end instanceof ModelgateError ? `${end.exitCode} ${end.code}` : 'ok'
}

/** Sends a request; the reply's body as text, or the error that it ended with. */
export function outcomeOf(
  gateway: Gateway,
  request = textRequest(gateway),
): Promise<string | ModelgateError> {
  return settled(sendRequest(gateway, request).then(textOf))
}

export async function textOf(reply: Pick<GatewayReply, 'body' | 'close'>): Promise<string> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of reply.body) chunks.push(chunk)
  } finally {
    reply.close()
  }
  return Buffer.concat(chunks).toString()
}

/**
 * Moves time forward in steps until the promise is settled.
 * @param isSilent whether time may pass, because the network has nothing more to bring; else limits could run out
 * before what is on its way has come
 */
export async function advanceUntilSettled(
  clock: FakeClock,
  stepMs: number,
  promise: Promise<unknown>,
  isSilent: () => boolean,
): Promise<void> {
  let settled = false
  const settle = () => void (settled = true)
  promise.then(settle, settle)
  while (!settled) {
    await until(() => settled || isSilent())
    await clock.advance(stepMs)
  }
}
