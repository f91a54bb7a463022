import { createParser } from 'eventsource-parser'
import { expect, test } from 'vitest'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { call, eventsOf, rawCall, respond, runningSandbox, until } from '../../support/running-sandbox.ts'

const request = { input: 'hi', stream: true }

/** One stream request against one rule, as bytes. */
async function withFault(fault: FaultRule, options = {}) {
  const sandbox = await runningSandbox({ faults: [{ id: 'it', ...fault }], ...options })
  const raw = rawCall(sandbox, '/v1/responses', request)
  return { sandbox, raw, over: raw.over }
}

/** The body of a chunked reply, and the sizes of its chunks. `isWhole` when the last chunk came. */
function bodyOf(bytes: string): { text: string; sizes: number[]; isWhole: boolean } {
  let rest = bytes.slice(bytes.indexOf('\r\n\r\n') + 4)
  const sizes: number[] = []
  let text = ''
  for (;;) {
    const size = /^([\da-f]+)\r\n/.exec(rest)
    if (size === null) return { text, sizes, isWhole: false }
    const length = Number.parseInt(size[1]!, 16)
    if (length === 0) return { text, sizes, isWhole: true }
    sizes.push(length)
    text += rest.slice(size[0].length, size[0].length + length)
    rest = rest.slice(size[0].length + length + 2)
  }
}

const typesIn = (text: string) => [...text.matchAll(/^event: (\S+)/gm)].map(([, type]) => type)

test.for<readonly [FaultRule, 'end' | 'reset']>([
  [{ action: 'reset' }, 'reset'],
  [{ action: 'reset', at: 'before-body' }, 'reset'],
  [{ action: 'close', at: 'before-headers' }, 'end'],
])('%j answers nothing at all', async ([fault, ending]) => {
  const { over, sandbox } = await withFault(fault)
  expect(await over).toEqual({ bytes: '', ending })
  const fired = { id: 'it', action: fault.action, method: 'POST', path: '/v1/responses' }
  expect(sandbox.firedFaults()).toEqual([fired])
  // Before the body is read nothing can have been accepted; afterwards it was, whatever the client saw.
  expect(sandbox.created()).toBe(fault.at === 'before-body' ? 0 : 1)
})

test.for<readonly ['reset' | 'close' | 'cut', 'end' | 'reset', boolean]>([
  ['reset', 'reset', false],
  ['close', 'end', false],
  ['cut', 'end', true],
])('%s happens at every point of a body', async ([action, ending, isProper]) => {
  const whole = bodyOf((await (await withFault({ action: 'headers' })).over).bytes).text
  const hasAllButOne = (text: string) => typesIn(text).at(-1) === 'response.output_item.done'
  const places: [FaultRule['at'], (text: string) => boolean][] = [
    ['after-headers', (text) => text === ''],
    ['mid-event', (text) => /\n\nevent: response\.output_item\.added\ndata: \{[^\n]+$/.test(text)],
    ['mid-character', (text) => text.endsWith('\u00e2')],
    ['before-terminal', (text) => text.endsWith('\n\n') && hasAllButOne(text)],
    ['after-terminal', (text) => text.length === whole.length],
    [1000, (text) => text.length === 1000],
    [0, (text) => text === ''],
  ]
  for (const [at, isThere] of places) {
    const { over, sandbox } = await withFault({ action, at })
    const answer = await over
    const { text, isWhole } = bodyOf(answer.bytes)
    expect([at, isThere(text), answer.ending, isWhole]).toEqual([at, true, ending, isProper])
    expect(answer.bytes).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
    expect(sandbox.created()).toBe(1)
  }
})

test('mid-event can be in any event, and the last one when there are fewer', async () => {
  const { over } = await withFault({ action: 'cut', at: 'mid-event', event: 1 })
  expect(typesIn(bodyOf((await over).bytes).text)).toEqual(['response.created'])
  const late = await withFault({ action: 'cut', at: 'mid-event', event: 9999 })
  expect(bodyOf((await late.over).bytes).text).toMatch(/event: response\.completed\ndata: \{[^\n]+$/)
})

test('a reply that is one document is cut, closed and reset inside as well', async () => {
  for (const action of ['cut', 'close', 'reset'] as const) {
    const sandbox = await runningSandbox({ faults: [{ action, at: 'mid-character' }] })
    const { bytes } = await rawCall(sandbox, '/v1/responses', { input: 'hi' }).over
    expect(bytes).toMatch(/\u00e2(\r\n0\r\n\r\n)?$/)
  }
})

test('a stall is silent until the client leaves, and holds nobody else up', async () => {
  const { raw, sandbox } = await withFault({ action: 'stall', at: 'mid-event', times: 1 })
  await until(() => raw.bytes.includes('output_item.added'))
  const before = raw.bytes
  expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect([raw.bytes, raw.isOpen]).toEqual([before, true])
})

test('a stall with a length goes on afterwards', async () => {
  const clock = fakeClock()
  const { raw, over } = await withFault({ action: 'stall', at: 'before-headers', ms: 5000 }, { clock })
  await until(() => clock.pendingTimers === 1)
  await clock.advance(4999)
  expect(raw.bytes).toBe('')
  await clock.advance(1)
  expect(typesIn(bodyOf((await over).bytes).text).at(-1)).toBe('response.completed')
})

test.for<readonly [FaultRule, number]>([
  [{ action: 'split' }, 1],
  [{ action: 'split', size: 7 }, 7],
  [{ action: 'drip', size: 200, ms: 1 }, 200],
])('%j sends small pieces that add up to the whole', async ([fault, size]) => {
  const { over } = await withFault(fault)
  const { text, sizes, isWhole } = bodyOf((await over).bytes)
  expect(Math.max(...sizes)).toBe(size)
  expect([isWhole, typesIn(text).at(-1)]).toEqual([true, 'response.completed'])
})

test('a drip waits between its pieces', async () => {
  const clock = fakeClock()
  const { raw } = await withFault({ action: 'drip', size: 10, ms: 100 }, { clock })
  for (const pieces of [1, 2, 3]) {
    await until(() => clock.pendingTimers === 1)
    await clock.advance(99)
    expect(bodyOf(raw.bytes).sizes).toHaveLength(pieces - 1)
    await clock.advance(1)
    await until(() => bodyOf(raw.bytes).sizes.length === pieces)
  }
})

const busy = { action: 'status', status: 429, headers: { 'Retry-After': '7' } } as const
test.for<readonly [FaultRule, number, string, string]>([
  [{ action: 'status' }, 503, 'application/json', '"type":"server_error"'],
  [busy, 429, 'application/json', 'rate_limit_exceeded'],
  [{ action: 'status', status: 400, body: { my: 'own' } }, 400, 'application/json', '{"my":"own"}'],
  [{ action: 'status', status: 502, body: 'plain words' }, 502, 'text/plain; charset=utf-8', 'plain words'],
  [{ action: 'html' }, 200, 'text/html; charset=utf-8', '<title>502 Bad Gateway</title>'],
  [{ action: 'html', status: 504 }, 504, 'text/html; charset=utf-8', '<html>'],
  [{ action: 'error-200' }, 200, 'application/json', '"error":{'],
])('%j answers in place of the endpoint and creates nothing', async ([fault, status, type, part]) => {
  const sandbox = await runningSandbox({ faults: [fault] })
  const answer = await call(sandbox, '/v1/responses', request)
  expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type])
  expect(answer.text).toContain(part)
  expect(answer.headers.get('retry-after')).toBe(fault.headers?.['Retry-After'] ?? null)
  expect([sandbox.created(), sandbox.firedFaults().length]).toEqual([0, 1])
})

/** The reply of a stream request under one rule, read as a client would. */
async function streamed(fault: FaultRule) {
  const sandbox = await runningSandbox({ faults: [fault] })
  const { text } = await respond(sandbox, 'hi', { stream: true })
  const types: (string | undefined)[] = []
  createParser({ onEvent: ({ event }) => types.push(event) }).feed(text)
  return { text, types }
}

test('malformed breaks the JSON of one event and no other', async () => {
  const { text } = await streamed({ action: 'malformed', event: 4 })
  const isWhole = (line: string) => {
    try {
      return typeof JSON.parse(line.slice(6)) === 'object'
    } catch {
      return false
    }
  }
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  expect(lines.slice(0, 6).map(isWhole)).toEqual([true, true, true, false, true, true])
  expect(lines.slice(6).every(isWhole)).toBe(true)
})

test.each<[FaultRule['action'], ending: string[]]>([
  ['drop-terminal', ['response.content_part.done', 'response.output_item.done']],
  ['duplicate-terminal', ['response.completed', 'response.completed']],
  ['late-event', ['response.completed', 'response.output_item.done']],
])('%s: a stream ends with %j', async (action, ending) => {
  expect((await streamed({ action })).types.slice(-2)).toEqual(ending)
})

test('error-event breaks off in the form of the service', async () => {
  const { types, text } = await streamed({ action: 'error-event', event: 6 })
  expect(types.slice(4)).toEqual(['response.output_text.delta', 'error', 'response.failed'])
  expect(eventsOf({ text }).map((event) => event.sequence_number)).toEqual([0, 1, 2, 3, 4, 5, 6])
  const sandbox = await runningSandbox({ faults: [{ action: 'error-event' }] })
  const body = { contents: [{ parts: [{ text: 'hi' }] }] }
  const google = await call(sandbox, '/v1beta/models/m:streamGenerateContent?alt=sse', body)
  expect(google.text).toMatch(/\r\n\r\n\{\n {2}"error": \{\n {4}"code": 500/)
})

test('comments come before every event, or alone and for good', async () => {
  const { text, types } = await streamed({ action: 'comments' })
  expect(text.match(/^: keep-alive$/gm)).toHaveLength(types.length)
  const clock = fakeClock()
  const { raw } = await withFault({ action: 'comments-only', ms: 1000 }, { clock })
  await until(() => clock.pendingTimers === 1)
  await clock.advance(3000)
  await until(() => bodyOf(raw.bytes).sizes.length === 3)
  expect(bodyOf(raw.bytes).text).toBe(': keep-alive\n\n'.repeat(3))
  expect(raw.isOpen).toBe(true)
})

test.each(Object.entries({ cr: '\r', crlf: '\r\n', lf: '\n' }))('line endings: %s', async (value, ending) => {
  const { text, types } = await streamed({ action: 'line-endings', value })
  expect([...new Set(text.match(/[\r\n]+/g))]).toEqual([ending, ending + ending])
  expect(types.at(-1)).toBe('response.completed')
})

test.each<[FaultRule, bytes: RegExp]>([
  [{ action: 'content-type', value: 'application/json' }, /\r\ncontent-type: application\/json\r\n/],
  [{ action: 'headers', headers: { 'Content-Encoding': 'gzip' } }, /\r\ncontent-encoding: gzip\r\n/],
  [{ action: 'empty' }, /^HTTP\/1\.1 200 [^]*\r\n\r\n0\r\n\r\n$/],
  [{ action: 'done-marker' }, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/],
  [{ action: 'bom' }, /\r\n\u00ef\u00bb\u00bfevent: /],
  [{ action: 'no-blank-line' }, /\}\r\n0\r\n\r\n$/],
  [{ action: 'not-http' }, /^SSH-2\.0-OpenSSH_9\.9\r\n$/],
  [{ action: 'huge-headers' }, /^HTTP\/1\.1 200 (?:(?!\r\n\r\n)[^]){65536}/],
  [{ action: 'bad-chunk' }, /event: response\.created[^]*\r\nnot-a-size\r\n$/],
])('%j shows in the bytes', async (fault, bytes) => {
  expect((await (await withFault(fault)).over).bytes).toMatch(bytes)
})

test('short-length announces more than comes', async () => {
  const { bytes, ending } = await (await withFault({ action: 'short-length' })).over
  const announced = Number(/content-length: (\d+)/.exec(bytes)![1])
  expect([announced - bytes.slice(bytes.indexOf('\r\n\r\n') + 4).length, ending]).toEqual([100, 'end'])
})

test('keep-open sends everything and leaves the connection open', async () => {
  const { raw, sandbox } = await withFault({ action: 'keep-open', times: 1 })
  await until(() => raw.bytes.includes('event: response.completed'))
  expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect([raw.isOpen, bodyOf(raw.bytes).isWhole]).toEqual([true, false])
})

test('ignore-stream answers both styles with one document', async () => {
  const sandbox = await runningSandbox({ faults: [{ action: 'ignore-stream' }] })
  const openai = await respond(sandbox, 'hi', { stream: true })
  expect([openai.json.object, openai.headers.get('content-type')]).toEqual(['response', 'application/json'])
  const body = { contents: [{ parts: [{ text: 'hi' }] }] }
  const google = await call(sandbox, '/v1beta/models/m:streamGenerateContent?alt=sse', body)
  expect(google.json.candidates[0].finishReason).toBe('STOP')
})
