import { seededRandom } from '../../src/sandbox/seeded-random.ts'

/** Bytes that a client sends without an HTTP library, as Latin-1, and what it does then. */
export interface RawRequest {
  readonly name: string
  readonly bytes: string
  /** `wait` for the server to answer or close; or close at once, properly or with a reset. */
  readonly ending: 'wait' | 'end' | 'reset'
}

const body = '{"input":"hi"}'
const key = 'Authorization: Bearer test-key'
const host = 'Host: 127.0.0.1'
/** What must not be found behind another request. */
const smuggled = `POST /v1/responses HTTP/1.1\r\n${host}\r\n${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const raw = (name: string, bytes: string, ending: RawRequest['ending'] = 'wait') => ({ name, bytes, ending })
const show = (text: string) => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)
const head = (...lines: readonly string[]) => `${lines.join('\r\n')}\r\n\r\n`
/** A creation that would be accepted but for these headers. */
const post = (headers: readonly string[], content: string, version = '1.1') =>
  `${head(`POST /v1/responses HTTP/${version}`, host, key, ...headers)}${content}`

const requestLines = [
  'GET',
  'GET /',
  'GET / HTTP',
  'GET / HTTP/',
  'GET / HTTP/1',
  'GET / HTTP/1.',
  'GET / HTTP/1.10',
  'GET / HTTP/0.9',
  'GET / HTTP/2.0',
  'GET / HTTP/3',
  'GET / HTTP/9.9',
  'GET / HTTP/-1.1',
  'GET / HTTP/1,1',
  'GET / HTTP/A.B',
  'GET / http/1.1',
  'GET / HTTPS/1.1',
  'GET / HTTP/1.1 x',
  'GET / x HTTP/1.1',
  'GET /a b HTTP/1.1',
  'GET\t/ HTTP/1.1',
  'GET\v/ HTTP/1.1',
  ' GET / HTTP/1.1',
  'get / HTTP/1.1',
  'GE\0T / HTTP/1.1',
  'G@T / HTTP/1.1',
  'GETT / HTTP/1.1',
  'ICY 200 OK',
  'HTTP/1.1 200 OK',
  '/ GET HTTP/1.1',
  'GET /\0 HTTP/1.1',
  'GET /\x01 HTTP/1.1',
  'GET /\x7f HTTP/1.1',
  'GET /\xff\xfe HTTP/1.1',
  'GET \\..\\windows HTTP/1.1',
  'GET ?key=x HTTP/1.1',
  'GET #fragment HTTP/1.1',
  'GET // HTTP/1.1',
  'GET /%zz HTTP/1.1',
  'GET :80 HTTP/1.1',
  'GET 127.0.0.1 HTTP/1.1',
  'GET http://example.com/v1/models HTTP/1.1',
  'GET https://127.0.0.1/v1/models HTTP/1.1',
  'GET file:///etc/passwd HTTP/1.1',
  'POST http://127.0.0.1/v1/responses HTTP/1.1',
  'CONNECT example.com:443 HTTP/1.1',
  'CONNECT / HTTP/1.1',
  'TRACE / HTTP/1.1',
  'TRACE /v1/responses HTTP/1.1',
  'OPTIONS * HTTP/1.1',
  'PROPFIND /v1/responses HTTP/1.1',
  'PURGE /v1/responses HTTP/1.1',
  'PATCH /v1/responses HTTP/1.1',
  'PUT /v1/responses HTTP/1.1',
  `${'A'.repeat(20_000)} / HTTP/1.1`,
  `GET /${'a'.repeat(200_000)} HTTP/1.1`,
  `GET /?${'a=b&'.repeat(50_000)} HTTP/1.1`,
]

const headers = [
  'no colon',
  ': no name',
  'X : space before the colon',
  'X\t: tab before the colon',
  'X\0Y: NUL in the name',
  'X: NUL \0 in the value',
  'X: bell \x07 in the value',
  'X: delete \x7f in the value',
  'X: a carriage return \r in the value',
  'X: a line feed\nin the value',
  'X(Y): bracket in the name',
  'X Y: space in the name',
  '\xe9: a letter of Latin-1 in the name',
  'X: folded\r\n no colon',
  '"X": quotes in the name',
  ' Host: folded into the line before',
  `X: ${'a'.repeat(200_000)}`,
  `${'X'.repeat(200_000)}: a`,
  Array.from({ length: 20_000 }, (_, at) => `X-${at}: ${at}`).join('\r\n'),
  Array.from({ length: 100_000 }, () => 'a:').join('\r\n'),
]

const hosts = [
  [],
  ['Host:'],
  ['Host: 127.0.0.1', 'Host: 127.0.0.1'],
  ['Host: 127.0.0.1', 'Host: example.com'],
  ['Host: example.com', 'Host: 127.0.0.1'],
  ['Host: 127.0.0.1, example.com'],
  ['Host: 127.0.0.1@example.com'],
  ['Host: example.com@127.0.0.1'],
  ['Host: 127.0.0.1/'],
  ['Host: 127.0.0.1:80:80'],
  ['Host: 127.0.0.1.example.com'],
  ['Host: 127.0.0.1\0'],
  ['Host: 127.1'],
  ['Host: 2130706433'],
  ['Host: 0x7f000001'],
  ['Host: 0.0.0.0'],
  ['Host: [::]'],
  ['Host: localhost.'],
  ['Host: localhost.example.com'],
  ['Host: http://127.0.0.1'],
]

const lengths = [
  '-1',
  '+14',
  '14 14',
  '14,14',
  '14, 15',
  '0x0e',
  '14.0',
  '1e1',
  '',
  'abc',
  '14;',
  '１４',
  '99999999999999999999999',
  '18446744073709551630',
  '300000000',
]

const codings = [
  'chunked, chunked',
  'identity',
  'gzip',
  'chunked, gzip',
  'gzip, identity',
  'xchunked',
  'chunkedx',
  'chunk',
  'chunked;q=1',
  '"chunked"',
  'chunked\0',
  '\vchunked',
  'chunked,identity',
]

const chunks = [
  '-1\r\nx\r\n',
  '+5\r\nhello\r\n',
  '0x5\r\nhello\r\n',
  'g\r\nhello\r\n',
  '5 5\r\nhello\r\n',
  '\r\nhello\r\n',
  '5\nhello\r\n',
  '5\rhello\r\n',
  '5\r\nhello0\r\n',
  '5\r\nhelloworld\r\n',
  '4\r\nhello\r\n',
  'ffffffffffffffffff\r\nhello\r\n',
  '10000000000000000\r\nhello\r\n',
  `5;${'a'.repeat(100_000)}\r\nhello\r\n`,
  '5;a=\0\r\nhello\r\n',
  '5;a\nb\r\nhello\r\n',
  '5;"\r\nhello\r\n',
  `${'0'.repeat(100_000)}5\r\nhello\r\n`,
  '0\r\nTrailer without colon\r\n\r\n',
  `0\r\nX: ${'a'.repeat(200_000)}\r\n\r\n`,
  '0\r\nContent-Length: 5\r\n\0: x\r\n\r\n',
  '0\r\n\rX: y\r\n\r\n',
]

const otherProtocols: readonly (readonly [name: string, bytes: string])[] = [
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
  ['a TLS hello', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'.padEnd(300, '\xaa')],
  ['an SSL 2 hello', '\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10'],
  ['SSH', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ['SMTP', 'EHLO example.com\r\n'],
  ['FTP', 'USER anonymous\r\n'],
  ['Redis', '*1\r\n$4\r\nPING\r\n'],
  ['PostgreSQL', '\0\0\0\x08\x04\xd2\x16\x2f'],
  ['SOCKS 4', '\x04\x01\x00\x50\x7f\x00\x00\x01\0'],
  ['SOCKS 5', '\x05\x01\x00'],
  ['the PROXY protocol', `PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n${smuggled}`],
  ['the PROXY protocol, version 2', `\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c${smuggled}`],
  ['RTSP', 'DESCRIBE rtsp://127.0.0.1/ RTSP/1.0\r\nCSeq: 1\r\n\r\n'],
  ['HTTP/0.9', 'GET /v1/models\r\n'],
  ['a line that does not end', 'x'.repeat(200_000)],
  ['line feeds alone', 'GET / HTTP/1.1\nHost: 127.0.0.1\n\n'],
  ['carriage returns alone', 'GET / HTTP/1.1\rHost: 127.0.0.1\r\r'],
  ['a byte order mark', `\xef\xbb\xbf${smuggled}`],
  ['NULs', '\0'.repeat(1000)],
  ['a form feed before the method', `\f${smuggled}`],
]

/** Must be refused with 4xx or a closed connection, and what hides behind must not be obeyed. */
export const refusedRequests: readonly RawRequest[] = [
  ...requestLines.map((line) => raw(show(line), head(line, host, key))),
  ...headers.map((line) => raw(show(line), `${head('GET /v1/models HTTP/1.1', host, key, line)}`)),
  ...hosts.map((lines) => raw(show(lines.join(' + ')), `${head('GET /v1/models HTTP/1.1', ...lines, key)}`)),
  ...lengths.map((length) =>
    raw(`Content-Length: ${show(length)}`, post([`Content-Length: ${length}`], body + smuggled)),
  ),
  ...codings.map((coding) =>
    raw(`Transfer-Encoding: ${show(coding)}`, post([`Transfer-Encoding: ${coding}`], `0\r\n\r\n${smuggled}`)),
  ),
  ...['chunked', 'Chunked', 'identity', 'gzip, chunked', 'xchunked'].flatMap((coding) =>
    [0, 14, 5].map((length) => {
      const both = [`Content-Length: ${length}`, `Transfer-Encoding: ${coding}`]
      const order = length === 5 ? both.toReversed() : both
      return raw(order.join(' + '), post(order, `0\r\n\r\n${smuggled}`))
    }),
  ),
  raw('the same Content-Length twice', post(['Content-Length: 14', 'Content-Length: 14'], body + smuggled)),
  raw('two Content-Lengths', post(['Content-Length: 0', 'Content-Length: 14'], body + smuggled)),
  raw('a folded Content-Length', post(['Content-Length:', ' 14'], body + smuggled)),
  raw('a folded Transfer-Encoding', post(['Transfer-Encoding:', ' chunked'], `0\r\n\r\n${smuggled}`)),
  raw(
    'Transfer-Encoding twice',
    post(['Transfer-Encoding: chunked', 'Transfer-Encoding: identity'], `0\r\n\r\n${smuggled}`),
  ),
  raw('an expectation nobody knows', post(['Expect: tea', 'Content-Length: 14'], body)),
  raw('chunks in HTTP/1.0', post(['Transfer-Encoding: chunked'], `0\r\n\r\n${smuggled}`, '1.0')),
  ...chunks.map((chunk) =>
    raw(`chunk ${show(chunk)}`, post(['Transfer-Encoding: chunked'], `${chunk}0\r\n\r\n`)),
  ),
  ...otherProtocols.map(([name, bytes]) => raw(name, bytes, name === 'HTTP/0.9' ? 'end' : 'wait')),
]

const good = post([`Content-Length: ${body.length}`], body)
const inChunks = post(['Transfer-Encoding: chunked'], 'e\r\n{"input":"hi"}\r\n0\r\n\r\n')

/** A good request that stops short, at every third byte, in both ways of stopping. */
export const halfRequests: readonly RawRequest[] = [good, inChunks].flatMap((whole, index) =>
  Array.from({ length: Math.floor((whole.length - 1) / 3) }, (_, at) => {
    const ending = (at + index) % 2 === 0 ? 'end' : 'reset'
    return raw(`${index === 0 ? 'a body' : 'chunks'} cut at byte ${at * 3}`, whole.slice(0, at * 3), ending)
  }),
)

/** Good requests with some bytes changed, lost or doubled: what comes of them is open, but for 5xx. */
export const changedRequests: readonly RawRequest[] = Array.from({ length: 200 }, (_, number) => {
  const random = seededRandom('changed', number)
  let bytes = number % 2 === 0 ? good : inChunks
  for (let changes = 1 + Math.floor(random() * 4); changes > 0; changes--) {
    const at = Math.floor(random() * bytes.length)
    const character = String.fromCharCode(Math.floor(random() * 256))
    const kind = random()
    if (kind < 0.5) bytes = bytes.slice(0, at) + character + bytes.slice(at + 1)
    else if (kind < 0.75) bytes = bytes.slice(0, at) + bytes.slice(at + 1)
    else bytes = bytes.slice(0, at) + bytes.slice(at, at + 20) + bytes.slice(at)
  }
  return raw(`number ${number}`, bytes, 'end')
})
