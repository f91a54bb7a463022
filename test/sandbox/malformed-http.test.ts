import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { respond, runningSandbox } from '../support/running-sandbox.ts'

const smuggled =
  'POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x\r\nContent-Length: 14\r\n\r\n{"input":"hi"}'
const post = (...lines: readonly string[]) =>
  `POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer x\r\n${lines.join('\r\n')}\r\n\r\n`

// Node's server parses HTTP; these would show if its strictness were turned off.
test.for([
  ['no host', 'GET /v1/models HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n'],
  [
    'two hosts',
    'GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n',
  ],
  ['another host', 'GET /v1/models HTTP/1.1\r\nHost: example.com\r\nAuthorization: Bearer x\r\n\r\n'],
  ['a length and chunks', `${post('Content-Length: 0', 'Transfer-Encoding: chunked')}0\r\n\r\n${smuggled}`],
  ['two lengths', post('Content-Length: 0', 'Content-Length: 14') + smuggled],
  ['a length that is no number', post('Content-Length: +14') + smuggled],
  ['an unknown coding', `${post('Transfer-Encoding: xchunked')}0\r\n\r\n${smuggled}`],
  ['a chunk of no size', `${post('Transfer-Encoding: chunked')}g\r\nhello\r\n0\r\n\r\n`],
  ['a space before the colon', `${post('Content-Length : 14')}{"input":"hi"}`],
  ['200,000 bytes of headers', post(`X: ${'a'.repeat(200_000)}`)],
  ['line feeds alone', 'GET / HTTP/1.1\nHost: 127.0.0.1\n\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(300, '\xaa')],
])(
  'a request with %s is refused with 4xx or closed, and what hides behind is not obeyed',
  async ([, bytes]) => {
    const sandbox = await runningSandbox()
    const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1')
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      socket.end()
    })
    socket.on('error', () => {})
    socket.write(bytes!, 'latin1')
    await new Promise((resolve) => socket.once('close', resolve))
    const statuses = Array.from(received.matchAll(/^HTTP\/1\.1 (\d)/gm), ([, digit]) => digit)
    expect(statuses.filter((digit) => digit !== '4')).toEqual([])
    expect(sandbox.created()).toBe(0)
    expect((await respond(sandbox, 'hi')).status).toBe(200)
  },
)
