import { createServer } from 'node:http'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { listenForTest } from '../../support/local-server.ts'
import { recorder, recordingsIn, replayer } from '../../support/recorder.ts'
import { runs } from '../../support/sample.ts'

const json = fc.json({ maxDepth: 4 })
const exact = '{"t":1.0,"u":"\\u00e9"}'
const event = fc
  .tuple(
    fc.constantFrom('', 'event: a\n', 'event: response.completed\r\n', 'id: 7\n', ': note\n', '\ufeff'),
    fc.oneof(json, fc.string({ unit: 'binary' }), fc.constant('[DONE]'), fc.constant(exact)),
    fc.constantFrom('\n\n', '\r\n\r\n', '\r\r', '\n', ''),
  )
  .map(([name, data, end]) => Buffer.from(`${name}data: ${data}${end}`))
const bytes = fc.uint8Array({ maxLength: 200_000, size: 'max' }).map((array) => Buffer.from(array))
const asBytes = json.map((text) => Buffer.from(text))
const layout = fc.constantFrom(0, 1, 2, '\t')
const laidOut = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), layout)
  .map(([value, indent]) => Buffer.from(JSON.stringify(value, null, indent)))
const body = fc.oneof(
  fc.record({
    type: fc.constant('text/event-stream'),
    pieces: fc.array(fc.oneof(event, bytes), { maxLength: 8 }),
  }),
  fc.record({
    type: fc.constantFrom('application/json', 'text/plain; charset=utf-8', 'image/png', ''),
    pieces: fc.array(fc.oneof(laidOut, asBytes, bytes), { maxLength: 3 }),
  }),
)
const reply = fc.record({
  body,
  path: fc.constantFrom('/v1/responses', '/v1/images/generations', '/v1/videos/v/content', '/v1/x'),
  status: fc.constantFrom(200, 201, 400, 404, 429, 500, 529),
  headers: fc.record({
    'x-request-id': fc
      .string({ maxLength: 20, unit: fc.constantFrom(...'abc 123-_.;,=') })
      .map((text) => `r${text}`.trim()),
    'retry-after': fc.constantFrom('1', '0.5', 'Wed, 21 Oct 2026 07:28:00 GMT'),
  }),
})

type Given = typeof reply extends fc.Arbitrary<infer Value> ? Value : never

async function received(url: string, path: string) {
  const answer = await fetch(url + path, { method: 'POST', body: '{}' })
  const content = Buffer.from(await answer.arrayBuffer()).toString('base64')
  const names = ['content-type', 'x-request-id', 'retry-after']
  return { status: answer.status, content, headers: names.map((name) => answer.headers.get(name)) }
}

test('whatever a gateway sends comes through the recorder, and from the recording, as it was', async () => {
  let next: Given | undefined
  const gateway = createServer((incoming, outgoing) => {
    incoming.resume()
    const { status, headers, body: sent } = next!
    outgoing.writeHead(status, { ...headers, ...(sent.type !== '' && { 'content-type': sent.type }) })
    for (const piece of sent.pieces) outgoing.write(piece)
    outgoing.end()
  })
  const url = await listenForTest(gateway)
  await fc.assert(
    fc.asyncProperty(reply, async (given) => {
      next = given
      const direct = await received(url, given.path)
      const recording = await recorder(url)
      expect(await received(recording.url, given.path)).toEqual(direct)
      expect([recording.lines, recordingsIn(recording.folder).length]).toEqual([[], 1])
      await recording.close()
      const replaying = await replayer(recording.folder)
      expect(await received(replaying.url, given.path)).toEqual(direct)
      await replaying.close()
    }),
    runs(25),
  )
})
