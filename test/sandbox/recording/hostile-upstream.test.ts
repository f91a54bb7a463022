import { rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { localServer } from '../../support/local-server.ts'
import { recorder, recordingAt, recordingsIn, replayer, textIn, upstreamKey } from '../../support/recorder.ts'
import { call, rawCall, runningSandbox, until } from '../../support/running-sandbox.ts'
import {
  chunk,
  end,
  head,
  hold,
  json,
  readAll,
  reset,
  sse,
  stall,
  text,
  write,
  type ServerReply,
} from '../../support/server-replies.ts'

const key = { authorization: 'Bearer caller' }
const path = '/v1/responses'
const delta = (piece: string) =>
  `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","output_index":0,"delta":${JSON.stringify(piece)}}\n\n`
const completed = 'event: response.completed\ndata: {"type":"response.completed"}\n\n'

/** A recorder of a gateway that replies so. */
async function recorderOf(...replies: ServerReply[]) {
  const gateway = await localServer(replies)
  const recording = await recorder(gateway.url)
  const reply = (at: number) => recordingAt(recording.folder, at).reply
  return { gateway, recording, reply, names: () => recordingsIn(recording.folder) }
}
const streamHead = write(head(200, { 'content-type': 'text/event-stream' }))

test('what comes is passed on as it comes, also in the middle of an event', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const chunked = write(head(200, { 'content-type': 'text/event-stream', 'transfer-encoding': 'chunked' }))
  const [half, rest] = [write(chunk('data: {"half":')), write(`${chunk('1}\n\n')}0\r\n\r\n`)]
  const { recording, reply, names } = await recorderOf([readAll, chunked, half, hold(promise), rest, end])
  const asked = rawCall(recording, path, {})
  await until(() => asked.bytes.includes('data: {"half":'))
  expect(names()).toEqual([])
  resolve()
  expect((await asked.over).bytes).toContain('1}\n\n')
  expect(reply(0).body.events).toEqual([{ ms: expect.any(Number), text: 'data: {"half":1}\n\n' }])
})

test('a body that is shorter than announced is recorded and replayed as broken off', async () => {
  const headers = { 'content-type': 'application/json', 'content-length': '100' }
  const { recording } = await recorderOf([readAll, write(head(200, headers)), write('{"cut":'), end])
  const live = await rawCall(recording, path, {}).over
  expect(live.bytes).toMatch(/content-length: 100[^]*\r\n\r\n\{"cut":$/i)
  const replaying = await replayer(recording.folder)
  await expect(call(replaying, path, {})).rejects.toThrow('terminated')
})

test('a caller that leaves stops the gateway, and nothing is recorded', async () => {
  const { gateway, recording, names } = await recorderOf([readAll, streamHead, write(delta('one')), stall])
  const leaving = new AbortController()
  const request = { method: 'POST', headers: key, body: '{}', signal: leaving.signal }
  const reply = await fetch(recording.url + path, request)
  await reply.body!.getReader().read()
  leaving.abort()
  await until(() => gateway.openSockets === 0)
  expect([names(), recording.lines]).toEqual([[], []])
  await until(() => recording.requests()[0]!.status === 200)
  expect(recording.recordings()).toMatchObject({ recorded: 0, refused: 0, abandoned: 1 })
})

test('a caller that leaves with the last event of a stream is recorded', async () => {
  const events = write(delta('one') + completed)
  const { recording, reply, names } = await recorderOf([readAll, streamHead, events, stall])
  const asked = rawCall(recording, path, {})
  await until(() => asked.bytes.includes('response.completed'))
  await recording.close()
  await until(() => names().length === 1, recording.folder)
  expect(reply(0).broken_off).toBeUndefined()
})

test.for([
  ['gzip', gzipSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
] as const)('a compressed reply (%s) is passed on and recorded without', async ([encoding, compress]) => {
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  const bytes = compress('{"a":1}')
  const whole = write(head(200, { ...headers, 'content-length': String(bytes.length) }))
  const { gateway, recording, reply } = await recorderOf([readAll, whole, write(bytes), end])
  const { text: live, headers: received } = await call(recording, path, {})
  expect(live).toBe('{"a":1}')
  expect(received.get('content-encoding')).toBeNull()
  expect(gateway.requests[0]!.headers['accept-encoding']).toBe('identity')
  expect(reply(0).body).toEqual({ text: '{"a":1}' })
})

test('a reply in an unknown encoding is passed on and not recorded', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'rot13' }
  const { recording } = await recorderOf(text('{"n":1}', { headers }))
  const { text: live, headers: received } = await call(recording, path, {})
  expect(live).toBe('{"n":1}')
  expect(received.get('content-encoding')).toBe('rot13')
  expect(recording.lines).toEqual(['Not recorded: POST /v1/responses: the encoding rot13 is not known.'])
})

test('a header that could not be sent again is not kept', async () => {
  const disposition = 'attachment; filename=b\u00e4r.png'
  const headers = { 'content-disposition': disposition, 'x-request-id': 'r1', 'content-length': '2' }
  const latin1 = write(Buffer.from(head(200, headers), 'latin1'))
  const { recording, reply } = await recorderOf([readAll, latin1, write('{}'), end])
  expect((await call(recording, path, {})).text).toBe('{}')
  expect(reply(0).headers).toEqual({ 'x-request-id': 'r1' })
  await replayer(recording.folder)
})

test('a stream with what looks like another key is passed on whole, and not recorded', async () => {
  const stream = [delta('AIzaSyA1b2C3d4E5f6'), delta('G7h8I9j0K1l2M3n4O5p6Q'), completed]
  const { recording } = await recorderOf(sse(stream))
  expect((await call(recording, path, {})).text).toBe(stream.join(''))
  expect(recording.lines).toEqual(['Not recorded: POST /v1/responses: it holds a key (AIza…).'])
  expect(recording.recordings()).toMatchObject({ recorded: 0, refused: 1 })
  expect(textIn(recording.folder)).toBe('')
})

test('the key in a request or its path refuses the recording; in a header of the reply it is hidden', async () => {
  const headers = { 'x-request-id': upstreamKey, 'x-other': upstreamKey }
  const { recording, reply } = await recorderOf(json({}), json({}), json({}, { headers }))
  await call(recording, path, { input: `my key is ${upstreamKey}` })
  await call(recording, `/v1/responses/${upstreamKey}`)
  expect(recording.recordings()).toMatchObject({ recorded: 0, refused: 2 })
  const line = 'Not recorded: GET /v1/responses/[hidden]: the request holds the key in use.'
  expect(recording.lines[1]).toBe(line)
  await call(recording, path, {})
  expect(reply(0).headers).toMatchObject({ 'x-request-id': '[hidden]' })
  expect(textIn(recording.folder)).not.toContain(upstreamKey)
})

test('the key of a caller goes on where none is configured, and is looked for, too', async () => {
  const gateway = await localServer([json({ echo: 'callers-own-key-77' })])
  const recording = await recorder(gateway.url, { key: null })
  await call(recording, path, {}, { headers: { authorization: 'Bearer callers-own-key-77' } })
  expect(textIn(recording.folder)).toContain('[hidden]')
  expect(gateway.requests[0]!.headers['authorization']).toBe('Bearer callers-own-key-77')
})

test('a redirect goes on without its body, which may repeat the request', async () => {
  const file = '/v1beta/files/a:download?alt=media'
  const redirecting = { status: 302, headers: { location: `/download${file}` } }
  const echo = `{"headers":{"x-goog-api-key":"${upstreamKey}"}}`
  const { gateway, recording, names } = await recorderOf(text(echo, redirecting))
  const headers = { 'x-goog-api-key': 'caller' }
  const reply = await fetch(recording.url + file, { headers, redirect: 'manual' })
  const location = reply.headers.get('location')
  expect([reply.status, await reply.text(), location]).toEqual([302, '', `${recording.url}/download${file}`])
  expect(names()).toHaveLength(1)
  expect(gateway.requests[0]!.headers['x-goog-api-key']).toBe(upstreamKey)
})

test('a signed address of another host is neither told nor kept, and gets no key', async () => {
  const results = await localServer([text('the image', { headers: { 'content-type': 'image/png' } })])
  const signed = `${results.url}/a.png?key=own&se=2026&sig=abcdefghijklmnopqrstuvwxyz0123456789`
  const { recording } = await recorderOf(json({ data: [{ url: signed }] }))
  const { json: reply, text: live } = await call(recording, '/v1/images/generations', { prompt: 'A hill' })
  expect(live).not.toContain('sig=')
  const image = await fetch(reply.data[0].url as string, { headers: key })
  expect(await image.text()).toBe('the image')
  expect(results.requests[0]!.line).toContain('?key=own&se=2026&sig=abcdefghijklmnopqrstuvwxyz0123456789')
  expect(results.requests[0]!.headers).not.toHaveProperty('authorization')
  expect(recording.lines).toEqual([])
  expect(textIn(recording.folder)).not.toContain('sig=')
  expect(textIn(recording.folder)).not.toContain(new URL(results.url).host)
})

test('a gateway that cannot be reached is a 503, one that hangs up a 502; neither is recorded', async () => {
  const { recording, names } = await recorderOf([readAll, reset])
  expect((await call(recording, path, {})).status).toBe(502)
  const unreachable = await recorder('http://127.0.0.1:1')
  expect((await call(unreachable, path, {})).status).toBe(503)
  expect([...names(), ...recordingsIn(unreachable.folder)]).toEqual([])
})

test('no path leads to another host than the gateway', async () => {
  const { gateway, recording } = await recorderOf(json({ n: 1 }), json({ n: 2 }))
  for (const target of ['//evil.example/v1', '/../@evil.example/v1']) {
    const { promise, resolve } = Promise.withResolvers<number>()
    request(recording.url, { path: target, headers: key }, (reply) => {
      reply.resume()
      resolve(reply.statusCode!)
    }).end()
    expect(await promise).toBe(200)
  }
  expect(gateway.requests.map(({ line }) => line)).toEqual([
    'GET //evil.example/v1 HTTP/1.1',
    'GET /@evil.example/v1 HTTP/1.1',
  ])
})

test('methods that no endpoint has are not passed on', async () => {
  const gateway = await runningSandbox()
  const recording = await recorder(gateway.url)
  expect((await call(recording, path, undefined, { method: 'PUT' })).status).toBe(405)
  expect(gateway.requests()).toEqual([])
})

test('a large body and a binary one are kept by their digests', async () => {
  const large = JSON.stringify({ data: [{ b64_json: 'A'.repeat(2_000_000) }] })
  const bytes = Buffer.from([0xff, 0xd8, 0xff, 0x00, 0xfe])
  const jpegHead = write(head(200, { 'content-type': 'image/jpeg', 'content-length': '5' }))
  const first = text(large, { headers: { 'content-type': 'application/json' } })
  const { recording, reply } = await recorderOf(first, [readAll, jpegHead, write(bytes), end])
  expect((await call(recording, '/v1/images/generations', {})).text).toBe(large)
  await call(recording, '/v1/videos/v/content')
  const file = expect.stringMatching(/^bodies\/[\da-f]{64}\.json$/)
  expect(reply(0).body).toEqual({ file, bytes: large.length })
  expect(reply(1).body).toEqual({
    file: 'bodies/6ee3d5f0db0859f025eeedddf310343e42b267afe7b198d122cba35fff02a1bd.jpg',
    bytes: 5,
  })
})

test('two recorders of one folder overwrite nothing', async () => {
  const gateway = await runningSandbox()
  const one = await recorder(gateway.url)
  const two = await recorder(gateway.url, { folder: one.folder })
  const all = [one, two].flatMap((sandbox) => [1, 2, 3].map((n) => call(sandbox, path, { input: `${n}` })))
  await Promise.all(all)
  expect(recordingsIn(one.folder)).toHaveLength(6)
  const three = await recorder(gateway.url, { folder: one.folder })
  await call(three, path, { input: 'later' })
  expect(recordingsIn(one.folder).at(-1)).toMatch(/^0004-/)
})

test('a folder that cannot be written refuses the recording, not the reply', async () => {
  const gateway = await runningSandbox()
  const recording = await recorder(gateway.url)
  rmSync(recording.folder, { recursive: true })
  writeFileSync(recording.folder, '')
  expect((await call(recording, path, { input: 'x' })).status).toBe(200)
  expect(recording.lines).toEqual([expect.stringMatching(/^Not recorded: POST \/v1\/responses: /)])
})
