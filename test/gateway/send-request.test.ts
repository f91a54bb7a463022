import { expect, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { wireRequest } from '../../src/gateway/send-request.ts'
import { localServer } from '../support/local-server.ts'
import { json, readAll, reset, stall, text, type ServerReply } from '../support/server-replies.ts'
import { advanceUntilSettled, outcomeOf, testGateway, textRequest, until } from './test-gateway.ts'

const busy = (
  headers: Record<string, string> = {},
  status = 429,
  body: unknown = { error: { message: 'Busy.' } },
) => json(body, { status, headers })
const ok = text('ok')

test('sends the key to the origin of the base URL, and nowhere else', () => {
  const gateway = { baseUrl: new URL('https://gateway.test/v1'), key: 'secret' }
  const headersFor = (url: string) =>
    wireRequest(gateway, textRequest(gateway, { url: new URL(url) })).headers
  expect(headersFor('https://gateway.test/other?x=1')).toMatchObject({ authorization: 'Bearer secret' })
  for (const url of [
    'http://gateway.test/v1',
    'https://gateway.test:8443/v1',
    'https://www.gateway.test/v1',
    'https://gateway.test.evil.test/v1',
    'https://gateway.test@evil.test/v1',
    'https://evil.test/?https://gateway.test',
  ]) {
    expect(JSON.stringify(headersFor(url))).not.toContain('secret')
  }
})

test('the same key and body go out with every attempt', async () => {
  const server = await localServer([busy(), busy({}, 503), ok])
  const gateway = testGateway(server.url)
  expect(await outcomeOf(gateway, textRequest(gateway, { kind: 'create' }))).toBe('ok')
  expect(server.requests.map(({ headers }) => headers['idempotency-key'])).toEqual(
    Array(3).fill('one-key-for-all'),
  )
  expect(server.requests.map(({ body }) => body.toString())).toEqual(Array(3).fill('{"input":"Hello"}'))
})

const creation = { model: 'm', count: 3, of: 'image' } as const
test.for([
  ['what is to be created', { kind: 'create', creation }, creation],
  ['what does not say what it creates', {}, { model: null, count: 1, of: 'text' }],
] as const)('%s is asked about once, before all attempts', async ([, request, expected]) => {
  const server = await localServer([busy(), ok])
  const asked: unknown[] = []
  const admit = async (one: unknown) => {
    asked.push([one, server.requests.length])
    return () => {}
  }
  const gateway = { ...testGateway(server.url), admit }
  expect(await outcomeOf(gateway, textRequest(gateway, request))).toBe('ok')
  expect(asked).toEqual([[expected, 0]])
})

test('tells of each request that may cost money before it is sent, and of no other', async () => {
  const server = await localServer([busy(), ok, ok, ok])
  const sent: number[] = []
  const gateway = { ...testGateway(server.url), onSend: () => void sent.push(server.requests.length) }
  const { url } = textRequest(gateway)
  expect(await outcomeOf(gateway)).toBe('ok')
  expect(await outcomeOf(gateway, { method: 'GET', url, kind: 'read', accept: '*/*' })).toBe('ok')
  expect(await outcomeOf(gateway, textRequest(gateway, { kind: 'create' }))).toBe('ok')
  expect(sent).toEqual([0, 1, 3])
})

test('what is not admitted is not sent; a request that reads is not asked about', async () => {
  const server = await localServer([ok])
  const admit = () => Promise.reject(new ModelgateError('limit', 'creations_limit', 'Enough.'))
  const gateway = { ...testGateway(server.url), admit }
  const { url } = textRequest(gateway)
  for (const kind of ['text', 'create'] as const) {
    const refused = await outcomeOf(gateway, textRequest(gateway, { kind }))
    expect(refused).toMatchObject({ code: 'creations_limit', exitCode: 15 })
  }
  expect(server.requests).toEqual([])
  expect(await outcomeOf(gateway, { method: 'GET', url, kind: 'read', accept: '*/*' })).toBe('ok')
})

test('tells of the failure of the last attempt, not of one before it', async () => {
  const server = await localServer([busy(), ok, busy({}, 400)])
  const failures: unknown[] = []
  const gateway = {
    ...testGateway(server.url),
    admit: async () => (error: unknown) => void failures.push(error),
  }
  expect(await outcomeOf(gateway, textRequest(gateway))).toBe('ok')
  expect(failures).toEqual([])
  const rejected = await outcomeOf(gateway, textRequest(gateway))
  expect(failures).toEqual([rejected])
  expect(rejected).toMatchObject({ exitCode: 4 })
})

test('a read sends neither body nor length', async () => {
  const server = await localServer([ok])
  const gateway = testGateway(server.url)
  const { url } = textRequest(gateway)
  expect(await outcomeOf(gateway, { method: 'GET', url, kind: 'read', accept: '*/*' })).toBe('ok')
  expect(server.requests[0]!.line).toBe('GET /v1/responses HTTP/1.1')
  expect(Object.keys(server.requests[0]!.headers)).not.toContain('content-length')
})

/** What the gateway asks for, and the waits of the two retries that follow. Chance is one half on the test's clock. */
test.for([
  ['nothing', busy(), [0.375, 0.75]],
  [
    'as long as we ever wait, in the body',
    busy({}, 429, { error: { details: [{ retryDelay: '120s' }] } }),
    [120, 120],
  ],
] as const)('waits as it is asked to: %s', async ([, reply, waits]) => {
  const server = await localServer([reply, reply, reply])
  const gateway = testGateway(server.url)
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 5, facts: { httpStatus: 429 } })
  expect(gateway.retries.map(({ wait_s: wait }) => wait)).toEqual(waits)
})

test('does not send again before the time has come', async () => {
  const server = await localServer([busy({ 'retry-after': '30' }), ok])
  const gateway = testGateway(server.url, { skipWaits: false })
  const outcome = outcomeOf(gateway)
  await until(() => gateway.retries.length === 1)
  await gateway.clock.advance(29_999)
  expect(server.requests).toHaveLength(1)
  await gateway.clock.advance(1)
  expect(await outcome).toBe('ok')
})

test('tells of every retry', async () => {
  const server = await localServer([busy({ 'retry-after': '2' }), [readAll, reset], ok])
  const gateway = testGateway(server.url, { policy: { mode: 'always' } })
  expect(await outcomeOf(gateway)).toBe('ok')
  expect(gateway.retries).toMatchObject([
    {
      attempt: 1,
      attempts_left: 2,
      wait_s: 2,
      http_status: 429,
      reason: 'The gateway cannot answer now (HTTP 429): Busy.',
    },
    {
      attempt: 2,
      attempts_left: 1,
      http_status: null,
      reason: expect.stringContaining('closed the connection') as string,
    },
  ])
})

test('an unknown outcome stays one, however long the gateway asks to wait', async () => {
  const server = await localServer([busy({ 'retry-after': '600' }, 500)])
  const gateway = testGateway(server.url)
  const outcome = (await outcomeOf(gateway)) as ModelgateError
  expect(outcome).toMatchObject({ exitCode: 7, facts: { billed: 'maybe', retryAfterS: 600 } })
  expect(outcome.message).toMatch(/It asks to wait 600 s, longer than the 120 s this program waits\.$/)
})

const maybeDone = 'An earlier attempt may have done the work. Check your usage before you run it again.'

test.for<[string, ServerReply, object, facts?: object]>([
  ['busy', busy(), { exitCode: 7, code: 'http_429' }, { hint: maybeDone }],
  ['refused', busy({}, 400), { exitCode: 4 }],
])(
  'a text that may have been made may be billed though its repetition is %s',
  async ([, second, expected, facts]) => {
    const server = await localServer([busy({}, 500), second])
    const outcome = await outcomeOf(testGateway(server.url, { policy: { maxRetries: 1 } }))
    expect(outcome).toMatchObject({ ...expected, facts: { billed: 'maybe', ...facts } })
  },
)

test.for([0, 1, 5])('retries at most %i times', async (maxRetries) => {
  const server = await localServer(Array.from({ length: maxRetries + 1 }, () => busy()))
  const gateway = testGateway(server.url, { policy: { maxRetries } })
  expect(await outcomeOf(gateway)).toMatchObject({ exitCode: 5 })
  expect(gateway.retries).toHaveLength(maxRetries)
})

test('what was shown of a trace holds no key', async () => {
  const server = await localServer([busy({ 'set-cookie': 'session=secret-cookie' }, 401)])
  const gateway = testGateway(server.url)
  const url = new URL('/v1/responses?alt=sse&key=secret-query', server.url)
  await outcomeOf(gateway, textRequest(gateway, { url }))
  const trace = gateway.traced.join('\n')
  expect(trace).toContain('authorization: Bearer <hidden>')
  expect(trace).toContain('idempotency-key: one-key-for-all')
  expect(trace).toContain('HTTP 401')
  expect(trace).toContain('alt=sse')
  for (const secret of [gateway.key, 'secret-query', 'secret-cookie', 'Hello'])
    expect(trace).not.toContain(secret)
})

test('leaves no timers and sockets behind after many attempts', async () => {
  const server = await localServer([busy(), [readAll, stall], ok])
  const gateway = testGateway(server.url, { policy: { mode: 'always' }, limits: { total: 3_600_000 } })
  const outcome = outcomeOf(gateway)
  await advanceUntilSettled(gateway.clock, 1_000, outcome, () => server.isEndless)
  expect(await outcome).toBe('ok')
  await until(() => server.openSockets === 0)
  expect(gateway.clock.pendingTimers).toBe(0)
})

const checkOnly = 'Check your usage before you run it again.'
const withAlways = 'Check your usage before you run it again; --retry always repeats such requests.'

/** A hint is worth giving only where it would have changed something. */
test.for([
  ['a lost create', 'create', [readAll, reset], { mode: 'safe' }, withAlways],
  ['a failed create', 'create', text('', { status: 500 }), { mode: 'safe' }, withAlways],
  ['a text that may not be repeated', 'text', text('', { status: 500 }), { mode: 'never' }, withAlways],
  ['no retries left for it', 'create', text('', { status: 500 }), { mode: 'safe', maxRetries: 0 }, checkOnly],
  ['repeated already', 'text', text('', { status: 500 }), { mode: 'safe', maxRetries: 0 }, checkOnly],
  ['always already', 'create', text('', { status: 500 }), { mode: 'always', maxRetries: 0 }, checkOnly],
] as const)('--retry always is named where it helps: %s', async ([, kind, reply, policy, hint]) => {
  const server = await localServer([reply])
  const gateway = testGateway(server.url, { policy })
  expect(await outcomeOf(gateway, textRequest(gateway, { kind }))).toMatchObject({
    exitCode: 7,
    facts: { hint, billed: 'maybe' },
  })
})

test('after --timeout the hint is to allow more time', async () => {
  const server = await localServer([[readAll, stall]])
  const gateway = testGateway(server.url, { limits: { total: 5_000 }, policy: { mode: 'always' } })
  const outcome = outcomeOf(gateway)
  await until(() => server.requests[0]?.complete === true)
  await gateway.clock.advance(5_001)
  expect(await outcome).toMatchObject({
    exitCode: 7,
    facts: { hint: 'Check your usage before you run it again, and allow it more time with --timeout.' },
  })
})
