import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { ExchangeError, type ExchangeFault, type Stage } from '../../src/gateway/exchange-error.ts'
import { mayRepeat, waitBefore, type RequestKind, type RetryPolicy } from '../../src/gateway/retry.ts'
import { brokenError, statusError } from '../../src/gateway/gateway-errors.ts'

const safe: RetryPolicy = { mode: 'safe', maxRetries: 2, idempotencyHonoured: false }
const never: RetryPolicy = { ...safe, mode: 'never' }
const always: RetryPolicy = { ...safe, mode: 'always' }
const honoured: RetryPolicy = { ...safe, idempotencyHonoured: true }

const kinds = ['text', 'create', 'read'] as const
const broken = (stage: Stage, fault: ExchangeFault, kind: RequestKind, policy: RetryPolicy) =>
  mayRepeat(brokenError(new ExchangeError(stage, fault, ''), kind), kind, policy)
const answered = (status: number, kind: RequestKind, policy: RetryPolicy, headers = {}, body = '') =>
  mayRepeat(statusError(status, headers, body, kind, 0), kind, policy)

test('repeats what was never handed over, whatever it was', () => {
  for (const kind of kinds) {
    for (const fault of ['dns', 'connect', 'timeout', 'reset'] as const) {
      expect(broken('connect', fault, kind, safe)).toBe(true)
      expect(broken('send', fault, kind, safe)).toBe(true)
      expect(broken('connect', fault, kind, never)).toBe(false)
    }
  }
})

test('repeats what was handed over only when it reads, or when told so', () => {
  for (const stage of ['wait', 'stream'] as const) {
    for (const fault of ['timeout', 'reset'] as const) {
      expect(broken(stage, fault, 'read', safe)).toBe(true)
      for (const kind of ['text', 'create'] as const) {
        expect(broken(stage, fault, kind, safe)).toBe(false)
        expect(broken(stage, fault, kind, never)).toBe(false)
        expect(broken(stage, fault, kind, always)).toBe(true)
        expect(broken(stage, fault, kind, honoured)).toBe(true)
      }
    }
  }
})

test.for([
  'certificate',
  'client_certificate',
  'tls',
  'proxy',
  'protocol',
  'limit',
  'source',
  'deadline',
] as const)('never repeats after a fault that would come again: %s', (fault) => {
  for (const stage of ['connect', 'send', 'wait'] as const) {
    for (const kind of kinds) expect(broken(stage, fault, kind, always)).toBe(false)
  }
})

test.for([408, 425, 429, 503, 522, 529])('repeats after a refusal: %i', (status) => {
  for (const kind of kinds) {
    expect(answered(status, kind, safe)).toBe(true)
    expect(answered(status, kind, never)).toBe(false)
  }
})

test.for([500, 502, 504, 520, 521, 523, 524])('repeats a creation after %i only when told so', (status) => {
  expect(answered(status, 'text', safe)).toBe(true)
  expect(answered(status, 'read', safe)).toBe(true)
  expect(answered(status, 'create', safe)).toBe(false)
  expect(answered(status, 'create', always)).toBe(true)
  expect(answered(status, 'create', honoured)).toBe(true)
  expect(answered(status, 'create', never)).toBe(false)
})

test.for([301, 307, 400, 401, 403, 404, 409, 413, 422, 501, 505])('does not repeat after %i', (status) => {
  for (const kind of kinds) expect(answered(status, kind, always)).toBe(false)
})

test('with readsOnly nothing that creates is repeated, whatever the gateway says', () => {
  for (const policy of [safe, always, honoured].map((other) => ({ ...other, readsOnly: true }))) {
    for (const kind of ['text', 'create'] as const) {
      expect(broken('connect', 'connect', kind, policy)).toBe(false)
      expect(broken('wait', 'reset', kind, policy)).toBe(false)
      expect(answered(429, kind, policy)).toBe(false)
      expect(answered(500, kind, policy, { 'x-should-retry': 'true' })).toBe(false)
    }
    expect(broken('wait', 'reset', 'read', policy)).toBe(true)
    expect(answered(503, 'read', policy)).toBe(true)
  }
})

test('the gateway has its way with x-should-retry, but not against --retry never', () => {
  for (const kind of kinds) {
    expect(answered(409, kind, safe, { 'x-should-retry': 'true' })).toBe(true)
    expect(answered(500, kind, safe, { 'x-should-retry': 'true' })).toBe(true)
    expect(answered(429, kind, always, { 'x-should-retry': 'false' })).toBe(false)
    expect(answered(429, kind, never, { 'x-should-retry': 'true' })).toBe(false)
    expect(answered(429, kind, safe, { 'x-should-retry': 'maybe' })).toBe(true)
  }
})

test('does not wait for a spent quota, nor for a model that nobody serves', () => {
  expect(answered(429, 'text', always, {}, '{"error":{"code":"insufficient_quota"}}')).toBe(false)
  expect(answered(503, 'text', always, {}, '{"error":{"code":"model_not_found"}}')).toBe(false)
})

test('does not repeat a refused key or refused content, whose statuses are those of busy gateways', () => {
  const body = '{"error":{"code":"content_filter"}}'
  for (const kind of ['text', 'create'] as const) expect(answered(503, kind, always, {}, body)).toBe(false)
  const key = new ModelgateError('key', 'key_refused', 'No.', { httpStatus: 429 })
  for (const kind of kinds) expect(mayRepeat(key, kind, always)).toBe(false)
})

test('an error without a status is not repeated', () => {
  const error = new ModelgateError('later', 'timeout', 'No.')
  for (const kind of kinds) expect(mayRepeat(error, kind, always)).toBe(false)
})

test.for([
  [0, 0.5, 0.25],
  [1, 1, 0.5],
  [2, 2, 1],
  [4, 8, 4],
  [50, 8, 4],
  [2000, 8, 4],
])('waits before attempt %i between %d and %d seconds', ([attempt, longest, shortest]) => {
  expect(waitBefore(attempt!, undefined, 0)).toBe(longest)
  expect(waitBefore(attempt!, undefined, 1)).toBe(shortest)
})

test('waits as long as it is asked to, and not less', () => {
  expect(waitBefore(0, 0, 0.5)).toBe(0)
  expect(waitBefore(0, 100, 1)).toBe(100)
})
