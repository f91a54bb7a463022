import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TextEvent } from '../../../src/events/text.ts'
import { ModelgateError } from '../../../src/errors.ts'
import { createResponseDecoder } from '../../../src/gateway/responses/decoder.ts'
import {
  followResponse,
  responseStream,
  type StreamPlace,
} from '../../../src/gateway/responses/background.ts'
import { jsonRequest } from '../../../src/gateway/send-request.ts'
import { localServer } from '../../support/local-server.ts'
import { json, sse } from '../../support/server-replies.ts'
import { settled, testGateway } from '../test-gateway.ts'
import { runs } from '../../support/sample.ts'

const words = ['Hel', 'lo, ', 'wörld ', '🙂', '.']
const text = 'Hello, wörld 🙂.'
const answer = { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text }] }
const call = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1}' }
const responseAs = (status: string, output: readonly object[] = []) => {
  return { id: 'resp_1', object: 'response', status, output, error: null }
}
const completed = responseAs('completed', [answer, call])
/** The stream of a response with a text and a call, as the documentation has it. */
const events = [
  { type: 'response.queued', response: responseAs('queued') },
  { type: 'response.created', response: responseAs('in_progress') },
  { type: 'response.output_item.added', output_index: 0, item: { ...answer, content: [] } },
  ...words.map((delta) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })),
  { type: 'response.output_text.done', output_index: 0, text },
  { type: 'response.output_item.done', output_index: 0, item: answer },
  { type: 'response.output_item.added', output_index: 1, item: { ...call, arguments: '' } },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":1}' },
  { type: 'response.output_item.done', output_index: 1, item: call },
  { type: 'response.completed', response: completed },
].map((event, sequence_number) => ({ ...event, sequence_number }))

interface GatewayOptions {
  /** After how many bytes of its body each stream breaks off, in order; then they are whole. */
  readonly cuts?: readonly number[]
  /** The number that an event gets in place of its own. */
  readonly numberOf?: (own: number) => number | undefined
  /** Whether a stream begins where the request says, or always at its first event. */
  readonly resumes?: boolean
  /** The status of requests for the rest of a stream. */
  readonly status?: number
  /** What a look-up says. */
  readonly found?: object
}

/** A gateway with one response, which remembers what it was asked for. */
async function responseGateway(options: GatewayOptions = {}) {
  const { numberOf = Number, resumes = true, status = 200, found = completed } = options
  const cuts = [...(options.cuts ?? [])]
  const asked: string[] = []
  const { url } = await localServer(({ line }) => {
    const [method, target] = line.split(' ') as [string, string]
    const { search, searchParams } = new URL(target, 'http://gateway')
    asked.push(`${method} ${search}`)
    if (method === 'GET' && !searchParams.has('stream')) return json(found)
    if (method === 'GET' && status !== 200) return json({ error: { message: 'No.' } }, { status })
    const after = resumes ? Number(searchParams.get('starting_after') ?? -1) : -1
    const body = events
      .filter(({ sequence_number }) => sequence_number > after)
      .map((event) => ({ ...event, sequence_number: numberOf(event.sequence_number) }))
      .map((event) => `data: ${JSON.stringify(event)}\n\n`)
      .join('')
    const cut = cuts.shift()
    if (cut === undefined) return sse([body])
    const beginning = Buffer.from(body).subarray(0, cut)
    return sse(cut === 0 ? [] : [beginning], { ending: 'cut' })
  })
  return { url, asked }
}

/** Creates a response and follows its stream; or only follows what comes behind an event. */
async function followed(url: string, after?: number) {
  const gateway = testGateway(url)
  const seen: TextEvent[] = []
  const ids: string[] = []
  const isRest = after !== undefined
  const place: StreamPlace = { id: isRest ? 'resp_1' : undefined, after: after ?? -1 }
  const emit = (event: TextEvent) => void seen.push(event)
  const decoder = createResponseDecoder({ emit, keepResponse: true, keepText: true, isRest })
  const create = { kind: 'create', body: {}, streamed: true, idempotencyKey: 'key-1' } as const
  const first = isRest
    ? responseStream(gateway, 'resp_1', after)
    : jsonRequest(gateway, '/v1/responses', create)
  const receiver = { flush: async () => {}, onId: (id: string) => void ids.push(id), onReport() {} }
  const end = await settled(followResponse(gateway, first, place, decoder, receiver, { isRest }))
  const over = end instanceof ModelgateError ? `${end.exitCode} ${end.code}: ${end.message}` : 'ok'
  const shown = seen.map((event) => (event.type === 'text-delta' ? event.text : '')).join('')
  return { over, text: shown, events: seen, place, ids }
}

const idAt = JSON.stringify(events[0]).length + 8

/** Everything came, and once. */
function expectWhole({ over, text: shown, events: seen }: Awaited<ReturnType<typeof followed>>): void {
  expect([over, shown]).toEqual(['ok', text])
  expect(seen.filter(({ type }) => type === 'tool-call').length).toBe(1)
}

test('wherever the stream breaks, nothing is lost and nothing comes twice', async () => {
  const bytes = Buffer.byteLength(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  for (let cut = idAt; cut < bytes; cut += 13) {
    const { url, asked } = await responseGateway({ cuts: [cut] })
    const ended = await followed(url)
    expectWhole(ended)
    expect(ended.ids).toEqual(['resp_1'])
    expect(ended.place).toEqual({ id: 'resp_1', after: events.length - 1 })
    expect(asked[0]).toBe('POST ')
    expect(asked[1]).toMatch(/^GET \?stream=true&starting_after=\d+$/)
  }
})

test('the same when it breaks again and again', async () => {
  const anyCuts = fc.array(fc.integer({ min: 300, max: 900 }), { minLength: 1, maxLength: 4 })
  const survives = fc.asyncProperty(anyCuts, async ([first, ...others]) => {
    const { url } = await responseGateway({ cuts: [Math.max(idAt, first!), ...others] })
    expectWhole(await followed(url))
  })
  await expect(fc.assert(survives, runs(40))).resolves.toBeUndefined()
})

test('a gateway that begins every stream from the start does not make anything come twice', async () => {
  const { url, asked } = await responseGateway({ cuts: [1000, 1200], resumes: false })
  expectWhole(await followed(url))
  expect(asked.length).toBe(3)
})

test.each<[string, GatewayOptions]>([
  ['whose events have no numbers', { numberOf: () => undefined }],
  ['whose events all have the same number', { numberOf: () => 0 }],
  ['that refuses to stream a response', { status: 400 }],
])('from a gateway %s the rest is fetched when the response has ended', async (_, options) => {
  const { url, asked } = await responseGateway({ ...options, cuts: [1000] })
  expectWhole(await followed(url))
  expect(asked.at(-1)).toBe('GET ')
})

test('a response that was cancelled meanwhile has failed', async () => {
  const { url } = await responseGateway({ cuts: [1000, 0], found: responseAs('cancelled') })
  expect((await followed(url)).over).toMatch(/^9 generation_failed/)
})

test('a stream that cannot go on ends with 11, and its place is known', async () => {
  const { url, asked } = await responseGateway({
    cuts: [1000, ...Array.from({ length: 20 }, () => 0)],
    found: responseAs('in_progress'),
  })
  const { over, text: shown, place } = await followed(url)
  expect(over).toMatch(/^11 still_running: The stream of the response resp_1 broke off 6 times in a row/)
  expect(asked.filter((line) => line.startsWith('GET ?stream')).length).toBe(5)
  const rest = await followed((await responseGateway()).url, place.after)
  expect([rest.over, shown + rest.text]).toEqual(['ok', text])
})

test('before the id has come the outcome is unknown, and nothing is sent again', async () => {
  const { url, asked } = await responseGateway({ cuts: [20] })
  const { over, ids } = await followed(url)
  expect(over).toMatch(/^7 .* A response may exist\.$/s)
  expect([asked, ids]).toEqual([['POST '], []])
})

test.each(events.slice(0, -1).map(({ type, sequence_number }) => [sequence_number, type] as const))(
  'what follows event %i, %s, is the rest of the text and no more',
  async (after) => {
    const { url } = await responseGateway()
    const { over, text: shown } = await followed(url, after)
    const before = words.slice(0, Math.max(0, after - 2)).join('')
    expect([over, before + shown]).toEqual(['ok', text])
  },
)

test('a gateway that streams nothing of a complete response does not look like the end of it', async () => {
  const { url } = await responseGateway({ status: 404 })
  expect((await followed(url, 5)).over).toMatch(/^8 reply_not_understood/)
})
