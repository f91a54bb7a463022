import { expect, test } from 'vitest'
import { eventsOf, respond, runningSandbox, type Answer, type Json } from '../support/running-sandbox.ts'

const textOf = ({ output }: Json): string =>
  output
    .flatMap((item: Json) => item.content ?? [])
    .map((part: Json) => part.text ?? '')
    .join('')

const streamed = async (answer: Promise<Answer>) => eventsOf(await answer)
const typesOf = (events: readonly Json[]) => [...new Set(events.map((event) => event.type))]

test('a text quotes the prompt, and the reply has the id of the request', async () => {
  const { json, headers } = await respond(await runningSandbox(), 'Name a river')
  expect(textOf(json)).toMatch(/^\[sandbox\] You asked: “Name a river”\./)
  expect(headers.get('x-request-id')).toMatch(/^req_/)
})

test('a text stream has every event in order, numbered from 0, LF, without [DONE]', async () => {
  const sandbox = await runningSandbox()
  const answer = await respond(sandbox, 'Name a river', { stream: true })
  expect(answer.text).toMatch(/^(event: (\S+)\ndata: \{"type":"\2".*\}\n\n)+$/)
  const events = eventsOf(answer)
  expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()])
  expect(typesOf(events)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  const deltas = events.filter((event) => event.type === 'response.output_text.delta')
  const done = events.find((event) => event.type === 'response.output_text.done')
  expect(deltas.map((event) => event.delta).join('')).toBe(done.text)
  const { response } = events.at(-1)
  expect(textOf(response)).toBe(done.text)
  expect(events.slice(0, -1).every((event) => event.response?.usage == null)).toBe(true)
  expect(response.usage.output_tokens).toBe(deltas.length)
})

test('reasoning is an item without a summary, unless one is asked for', async () => {
  const { json } = await respond(await runningSandbox(), 'Think', { reasoning: { effort: 'low' } })
  expect(json.output[0]).toEqual({ id: expect.any(String), type: 'reasoning', summary: [] })
})

test('the token limit makes a response incomplete, and may leave it without any text', async () => {
  const sandbox = await runningSandbox()
  const events = await streamed(respond(sandbox, 'Long', { stream: true, max_output_tokens: 5 }))
  const { type, response } = events.at(-1)
  expect(type).toBe('response.incomplete')
  expect(response).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    usage: { output_tokens: 5 },
  })
  expect(response.output[0].status).toBe('incomplete')
  const none = await respond(sandbox, 'Long', { max_output_tokens: 3, reasoning: { effort: 'low' } })
  expect([none.json.status, textOf(none.json)]).toEqual(['incomplete', ''])
})

test('log probabilities come for every token, with as many alternatives as asked', async () => {
  const sandbox = await runningSandbox()
  const more = { stream: true, top_logprobs: 2, include: ['message.output_text.logprobs'] }
  const events = await streamed(respond(sandbox, 'hi', more))
  const deltas = events.filter((event) => event.type === 'response.output_text.delta')
  for (const { delta, logprobs } of deltas) {
    expect(logprobs[0]).toMatchObject({ token: delta, bytes: [...Buffer.from(delta)] })
    expect(logprobs[0].top_logprobs).toHaveLength(2)
    expect(logprobs[0].logprob).toBeLessThanOrEqual(0)
  }
  expect(events.at(-1).response.output[0].content[0].logprobs).toHaveLength(deltas.length)
})
