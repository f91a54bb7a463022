import { expect, test } from 'vitest'
import {
  classifyFault,
  isClientCertificateAlert,
  type ExchangeFault,
  type Stage,
} from '../../src/gateway/exchange-error.ts'

const url = new URL('https://gateway.test/v1/responses')
const failed = (fields: object, message = 'No.') => Object.assign(new Error(message), fields)
const judged = (stage: Stage, error: unknown, address = url) => {
  const { fault, message, cause, stage: kept } = classifyFault(stage, address, error)
  expect({ cause, kept }).toEqual({ cause: error, kept: stage })
  return { fault, message }
}

const untrusted = [
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'INVALID_CA',
  'HOSTNAME_MISMATCH',
]
test.each(untrusted)('%s is a certificate that is not trusted, at any stage', (code) => {
  for (const stage of ['connect', 'send', 'wait', 'stream'] as const) {
    expect(judged(stage, failed({ code }))).toEqual({
      fault: 'certificate',
      message: `The certificate of gateway.test is not trusted (${code}).`,
    })
  }
})

const demands = [
  'ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_SSL/TLS_ALERT_NO_CERTIFICATE',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'ERR_SSL_TLSV1_ALERT_ACCESS_DENIED',
]
test.each(demands)('%s may be the demand for a client certificate, until the reply has begun', (code) => {
  expect(isClientCertificateAlert({ code } as NodeJS.ErrnoException)).toBe(true)
  for (const stage of ['connect', 'send', 'wait'] as const) {
    expect(judged(stage, failed({ code }))).toEqual({
      fault: 'client_certificate',
      message: `gateway.test refused the TLS handshake: it may demand a client certificate (${code}).`,
    })
  }
  expect(judged('stream', failed({ code })).fault).toBe('tls')
})

const faults: readonly (readonly [Stage, string, ExchangeFault, string])[] = [
  [
    'connect',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'tls',
    'gateway.test does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER).',
  ],
  ['connect', 'EPROTO', 'tls', 'gateway.test does not speak TLS on this port (EPROTO).'],
  ['connect', 'EAI_AGAIN', 'dns', 'The host gateway.test cannot be found (EAI_AGAIN).'],
  ['connect', 'EAI_FAIL', 'dns', 'The host gateway.test cannot be found (EAI_FAIL).'],
  ['connect', 'ENOTFOUND', 'dns', 'The host gateway.test cannot be found (ENOTFOUND).'],
  ['connect', 'ECONNREFUSED', 'connect', 'gateway.test cannot be reached (ECONNREFUSED).'],
  ['connect', 'ETIMEDOUT', 'connect', 'gateway.test cannot be reached (ETIMEDOUT).'],
  ['connect', 'ECONNRESET', 'connect', 'The connection to gateway.test failed (ECONNRESET).'],
  ['connect', '', 'connect', 'The connection to gateway.test failed.'],
  ['wait', 'UND_ERR_HEADERS_OVERFLOW', 'limit', 'The headers of the reply are larger than 128 KiB.'],
  [
    'send',
    'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH',
    'source',
    'The request body changed size while it was sent.',
  ],
  [
    'stream',
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
    'reset',
    'gateway.test closed the connection in the middle of its reply.',
  ],
  ['wait', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'protocol', 'gateway.test sent an invalid HTTP response.'],
  ['wait', 'HPE_INVALID_CONSTANT', 'protocol', 'gateway.test sent an invalid HTTP response.'],
  ['send', 'ECONNRESET', 'reset', 'gateway.test closed the connection (ECONNRESET).'],
  ['send', 'EPIPE', 'reset', 'gateway.test closed the connection (EPIPE).'],
  ['wait', 'UND_ERR_SOCKET', 'reset', 'gateway.test closed the connection (UND_ERR_SOCKET).'],
  ['wait', 'UND_ERR_CLOSED', 'reset', 'gateway.test closed the connection (UND_ERR_CLOSED).'],
  ['stream', 'UND_ERR_DESTROYED', 'reset', 'gateway.test closed the connection (UND_ERR_DESTROYED).'],
  // After the connection was made, the same code says nothing of reaching the host.
  ['wait', 'ETIMEDOUT', 'protocol', 'The reply from gateway.test cannot be read (ETIMEDOUT).'],
  ['wait', '', 'protocol', 'The reply from gateway.test cannot be read.'],
]
test.each(faults)('at the stage %s, %s is the fault %s', (stage, code, fault, message) => {
  expect(judged(stage, failed({ code }))).toEqual({ fault, message })
})

test('a reply that a parser found cut off was cut off by the server', () => {
  const unread = (data: string) => failed({ name: 'HTTPParserError', code: 'HPE_INVALID_EOF_STATE', data })
  const cut = { fault: 'reset', message: 'gateway.test closed the connection in the middle of its reply.' }
  const invalid = { fault: 'protocol', message: 'gateway.test sent an invalid HTTP response.' }
  expect(judged('stream', unread(''))).toEqual(cut)
  expect(judged('stream', unread('zz'))).toEqual(invalid)
  expect(judged('wait', unread(''))).toEqual(invalid)
  expect(judged('stream', new TypeError('terminated', { cause: unread('') }))).toEqual(cut)
  // What other errors call data is no rest of a reply.
  expect(judged('stream', failed({ code: 'HPE_INVALID_EOF_STATE', data: '' }))).toEqual(invalid)
})

test('looks for the code in the causes, and in errors that several attempts joined', () => {
  const refused = failed({ code: 'ECONNREFUSED' })
  const joined = Object.assign(new AggregateError([failed({}), refused], ''), { code: undefined })
  const message = 'gateway.test cannot be reached (ECONNREFUSED).'
  expect(judged('connect', new Error('fetch failed', { cause: refused }))).toEqual({
    fault: 'connect',
    message,
  })
  expect(judged('connect', new Error('fetch failed', { cause: joined }))).toEqual({
    fault: 'connect',
    message,
  })
})

test('goes through causes that lead back to themselves only so far', () => {
  const circle = failed({ code: 'X' })
  circle.cause = circle
  expect(judged('wait', circle)).toEqual({
    fault: 'protocol',
    message: 'The reply from gateway.test cannot be read (X).',
  })
  const several = new AggregateError([], 'No.')
  several.errors.push(several)
  expect(judged('wait', several).fault).toBe('protocol')
  let deep: Error = failed({ code: 'ECONNREFUSED' })
  for (let depth = 0; depth < 8; depth += 1) deep = new Error('outer', { cause: deep })
  expect(judged('connect', deep).message).toBe('gateway.test cannot be reached (ECONNREFUSED).')
  expect(judged('connect', new Error('outer', { cause: deep })).message).toBe(
    'The connection to gateway.test failed.',
  )
})

test.each([undefined, null, 'text', 7, { code: 5, message: {} }])('reads nothing out of %j', (error) => {
  expect(judged('wait', error)).toEqual({
    fault: 'protocol',
    message: 'The reply from gateway.test cannot be read.',
  })
})

test.each([
  [{ code: 'ECONNREFUSED', port: 3128, address: '127.0.0.1' }, '127.0.0.1:3128', 'ECONNREFUSED'],
  [{ code: 'ECONNREFUSED', port: 3128, address: '::1' }, '[::1]:3128', 'ECONNREFUSED'],
  [
    { code: 'ECONNREFUSED', port: 3128, hostname: 'proxy.test', address: '10.0.0.1' },
    'proxy.test:3128',
    'ECONNREFUSED',
  ],
  [{ code: 'ECONNREFUSED', port: 3128 }, ':3128', 'ECONNREFUSED'],
  [{ code: 'ENOTFOUND', hostname: 'proxy.test' }, 'proxy.test', 'ENOTFOUND'],
] as const)('a connection to another address, %j, was to the proxy', (fields, address, code) => {
  const message = `The proxy ${address} cannot be reached (${code}).`
  expect(judged('connect', failed(fields))).toEqual({ fault: 'proxy', message })
  // Later the address is that of this machine.
  expect(judged('wait', failed(fields)).fault).not.toBe('proxy')
})

test.each([
  [{ code: 'ECONNREFUSED', port: 443, address: '10.0.0.1' }, 'https://gateway.test', 'connect'],
  [{ code: 'ECONNREFUSED', port: 80, address: '10.0.0.1' }, 'http://gateway.test', 'connect'],
  [{ code: 'ECONNREFUSED', port: 8443, address: '10.0.0.1' }, 'https://gateway.test:8443', 'connect'],
  [{ code: 'ENOTFOUND', hostname: 'gateway.test' }, 'https://gateway.test', 'dns'],
  [{ code: 'ENOTFOUND' }, 'https://gateway.test', 'dns'],
  [{ code: 'EAI_AGAIN', hostname: 'proxy.test' }, 'https://gateway.test', 'dns'],
] as const)('a connection %j to %s was to the gateway itself', (fields, address, fault) => {
  expect(judged('connect', failed(fields), new URL(address)).fault).toBe(fault)
})

test('a tunnel that the proxy refuses is told by its message alone', () => {
  const refused = failed({ code: 'UND_ERR_ABORTED' }, 'Proxy response (403) !== 200 when HTTP Tunneling')
  expect(judged('connect', refused)).toEqual({
    fault: 'proxy',
    message: 'The proxy did not open a connection to gateway.test.',
  })
})
