import { expect, test } from 'vitest'
import type { ContractError } from '../../src/errors.ts'
import { ExchangeError, type ExchangeFault, type Stage } from '../../src/gateway/exchange-error.ts'
import type { Reply } from '../../src/gateway/exchange.ts'
import { brokenError } from '../../src/gateway/gateway-errors.ts'
import {
  createTrace,
  hideHeader,
  jsonRequest,
  refuseEncoding,
  wireRequest,
} from '../../src/gateway/send-request.ts'
import type { RequestKind } from '../../src/gateway/retry.ts'
import { testGateway } from './test-gateway.ts'

const baseUrl = new URL('https://gateway.test/v1')

test('a JSON request, in the form that goes over the wire', () => {
  const creation = { model: 'm', count: 2, of: 'image' } as const
  const request = jsonRequest({ baseUrl }, 'responses', {
    kind: 'create',
    creation,
    body: { input: 'größer' },
    query: { alt: 'sse' },
    streamed: true,
    idempotencyKey: 'one',
  })
  expect(request).toMatchObject({ kind: 'create', creation })
  const { headers, body, ...rest } = wireRequest({ baseUrl, key: 'secret' }, request)
  expect(rest).toMatchObject({ method: 'POST', url: new URL('https://gateway.test/v1/responses?alt=sse') })
  expect(headers).toEqual({
    authorization: 'Bearer secret',
    accept: 'text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': expect.stringMatching(/^modelgate\/\d/) as string,
    'content-type': 'application/json',
    'idempotency-key': 'one',
  })
  expect(body?.length).toBe(20)
  expect(Buffer.concat([...(body!.chunks() as Iterable<Uint8Array>)]).toString()).toBe('{"input":"größer"}')
})

test('what a request does not have is left out', () => {
  const request = jsonRequest({ baseUrl }, 'x', { kind: 'text', body: {} })
  expect('creation' in request).toBe(false)
  expect('idempotencyKey' in request).toBe(false)
  expect(request.accept).toBe('application/json')
  const { contentType: _type, body: _body, ...bare } = request
  for (const [key, isKeyless] of [
    ['', false],
    ['secret', true],
  ] as const) {
    const wire = wireRequest({ baseUrl, key }, { ...bare, isKeyless })
    expect(Object.keys(wire.headers).toSorted()).toEqual(['accept', 'accept-encoding', 'user-agent'])
    expect('body' in wire).toBe(false)
  }
})

/** How often the reply was closed, and what it was refused with. */
function refusal(encoding: string | undefined) {
  let closed = 0
  const headers = encoding === undefined ? {} : { 'content-encoding': encoding }
  try {
    refuseEncoding({ headers, close: () => closed++ } as unknown as Reply)
    return { closed }
  } catch (error) {
    const { code, exitCode, message } = error as ContractError
    return { closed, code, exitCode, message }
  }
}

test.each([undefined, '', 'identity', 'Identity, identity', ' , identity ,'])(
  'a reply with the encoding %j is taken',
  (encoding) => {
    expect(refusal(encoding)).toEqual({ closed: 0 })
  },
)

test.each(['gzip', 'identity, gzip', 'gzip, identity', 'identityx'])(
  'a reply with the encoding %j is refused, and closed',
  (encoding) => {
    expect(refusal(encoding)).toEqual({
      closed: 1,
      code: 'reply_not_understood',
      exitCode: 8,
      message: `The reply is encoded (${encoding}), which was not requested.`,
    })
  },
)

test('of a long encoding only the beginning is shown', () => {
  expect(refusal('x'.repeat(41)).message).toBe(
    `The reply is encoded (${'x'.repeat(40)}), which was not requested.`,
  )
})

const network = 'Check the base URL (--base-url) and the network; running it again is safe.'
const usage = 'Check your usage before you run it again'
test.each<
  [Stage, ExchangeFault, RequestKind, number, string, string, string | undefined, string | undefined]
>([
  ['send', 'source', 'create', 10, 'source_changed', 'No.', 'no', undefined],
  ['wait', 'protocol', 'create', 8, 'reply_not_understood', 'No.', 'maybe', undefined],
  ['wait', 'limit', 'read', 8, 'reply_too_large', 'No.', 'maybe', undefined],
  ['connect', 'dns', 'create', 6, 'not_sent', 'No. Nothing was sent.', 'no', network],
  ['send', 'reset', 'create', 6, 'not_sent', 'No. Nothing was sent.', 'no', network],
  ['connect', 'dns', 'read', 6, 'not_sent', 'No.', 'no', network],
  [
    'connect',
    'certificate',
    'text',
    6,
    'not_sent_certificate',
    'No. Nothing was sent.',
    'no',
    'Name the certificate authority with --ca-file or NODE_EXTRA_CA_CERTS.',
  ],
  [
    'wait',
    'client_certificate',
    'text',
    6,
    'not_sent_certificate',
    'No. Nothing was sent.',
    'no',
    'modelgate cannot send client certificates: use an address or a proxy that needs none.',
  ],
  [
    'connect',
    'tls',
    'text',
    6,
    'not_sent_tls',
    'No. Nothing was sent.',
    'no',
    'Does the base URL need http:// instead of https:// ?',
  ],
  [
    'wait',
    'proxy',
    'text',
    6,
    'not_sent_proxy',
    'No. Nothing was sent.',
    'no',
    'Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.',
  ],
  ['wait', 'reset', 'read', 5, 'connection_lost', 'No.', 'no', 'Run it again later.'],
  ['stream', 'timeout', 'create', 7, 'timeout', 'No.', 'maybe', `${usage}.`],
  [
    'wait',
    'deadline',
    'text',
    7,
    'deadline',
    'No.',
    'maybe',
    `${usage}, and allow it more time with --timeout.`,
  ],
])(
  'at %s, the fault %s of a request of the kind %s ends with %i',
  (stage, fault, kind, exitCode, code, ...rest) => {
    const [message, billed, hint] = rest
    const broken = new ExchangeError(stage, fault, 'No.')
    const error = brokenError(broken, kind)
    expect(error).toMatchObject({ exitCode, code, message, cause: broken })
    expect([error.facts.billed, error.facts.hint]).toEqual([billed, hint])
    expect(error.facts.phase).toBe(stage)
  },
)

test('a trace tells of both directions, with the time, and hides what is secret', async () => {
  const gateway = testGateway('http://127.0.0.1:1')
  await gateway.clock.advance(60_000)
  const trace = createTrace(gateway)
  await gateway.clock.advance(1500)
  const url = new URL('https://gateway.test/v1/x?alt=sse&key=secret')
  const body = { length: 3, chunks: () => [Buffer.from('abc')] }
  trace.request({ method: 'POST', url, headers: { authorization: 'Bearer secret' }, body })
  trace.request({ method: 'GET', url: new URL('https://gateway.test/'), headers: {} })
  trace.reply({ status: 307, headers: { location: '/next?key=secret' } })
  trace.failure(new ExchangeError('wait', 'reset', 'Closed.'))
  trace.errorBody(`a \n\n b${'c'.repeat(5000)}`)
  expect(gateway.traced).toEqual([
    '1.500s > POST https://gateway.test/v1/x?alt=sse&key=hidden',
    '1.500s > authorization: Bearer <hidden>',
    '1.500s > (3 bytes)',
    '1.500s > GET https://gateway.test/',
    '1.500s < HTTP 307',
    '1.500s < location: /next?<hidden>',
    '1.500s ! wait: reset: Closed.',
    `1.500s < a b${'c'.repeat(4096 - 6)}`,
  ])
})

test.each([
  ['authorization', 'secret', '<hidden>'],
  ['authorization', 'Basic a b', 'Basic <hidden>'],
  ['location', 'https://gateway.test/a?b=c', 'https://gateway.test/a?b=hidden'],
  ['location', '/a?b\nc', '/a?<hidden>'],
  ['location', '/a', '/a'],
  ['x-location', '/a?b', '/a?b'],
])('of %s: %j a trace shows %j', (name, value, shown) => {
  expect(hideHeader(name, value)).toBe(shown)
})
