import { describe, expect, test } from 'vitest'
import { fakeClock } from '../support/fake-clock.ts'
import { call, respond, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json, sse } from '../support/server-replies.ts'
import { jobMs } from '../support/video-calls.ts'
import { documentOf, requestOf } from './both-sides.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'

// What fields of endpoint 2 do for conversations and on both sides, and "States and transitions" of the specification;
// test/sandbox has what else the sandbox does.

const fruit = { role: 'user', content: 'apple pear plum cherry' }

/** The tokens that the model read, which tell how much of a conversation it got. */
const inputTokens = (answer: { json: Json }): number => answer.json.usage.input_tokens

describe('conversation', () => {
  const conversation = 'conv_1'
  const readAfter = async (sandbox: Sandbox) =>
    inputTokens(await respond(sandbox, 'and now?', { conversation }))
  const readAlone = async () => inputTokens(await respond(await runningSandbox(), 'and now?'))

  test('its items are prepended to the input, and input and output are appended after completion', async () => {
    const sandbox = await runningSandbox()
    const first = await respond(sandbox, [fruit], { conversation: { id: conversation } })
    const { input_tokens: input, output_tokens: output } = first.json.usage
    expect(await readAfter(sandbox)).toBeGreaterThanOrEqual((await readAlone()) + input + output * 0.9)
  })

  test('items are appended of a response that is not stored, too, and none of one that fails or is incomplete', async () => {
    const [sandbox, other] = [await runningSandbox(), await runningSandbox()]
    const { json: first } = await respond(sandbox, [fruit], { conversation, store: false })
    expect(await readAfter(sandbox)).toBeGreaterThan(first.usage.total_tokens)
    const failed = await respond(other, 'sandbox:failure', { conversation })
    const cut = await respond(other, 'hi', { conversation, max_output_tokens: 2, store: false })
    expect([failed.json.status, cut.json.status]).toEqual(['failed', 'incomplete'])
    expect(await readAfter(other)).toBe(await readAlone())
  })

  test('nothing is appended before a background response is complete, or of one that is cancelled', async () => {
    const clock = fakeClock()
    const sandbox = await runningSandbox({ clock })
    const { json: begun } = await respond(sandbox, [fruit], { conversation, background: true })
    await call(sandbox, `/v1/responses/${begun.id}/cancel`, {})
    await respond(sandbox, [fruit], { conversation, background: true })
    const { json: before } = await respond(sandbox, 'and now?', { conversation, max_output_tokens: 1 })
    expect([before.status, before.usage.input_tokens]).toEqual(['incomplete', await readAlone()])
    await clock.advance(jobMs * 2)
    expect(await readAfter(sandbox)).toBeGreaterThan(before.usage.input_tokens + 10)
  })
})

test('encrypted reasoning is taken back without a stored response', async () => {
  const sandbox = await runningSandbox()
  const asked = { store: false, reasoning: { effort: 'low' }, include: ['reasoning.encrypted_content'] }
  const { json: first } = await respond(sandbox, 'hi', asked)
  expect(first.output[0]).toMatchObject({ type: 'reasoning', encrypted_content: expect.any(String) })
  const input = [{ role: 'user', content: 'hi' }, ...first.output, { role: 'user', content: 'on' }]
  expect((await respond(sandbox, input, asked)).status).toBe(200)
})

describe('include', () => {
  const search = { type: 'file_search', vector_store_ids: ['vs_1'] }
  const interpreter = { type: 'code_interpreter', container: { type: 'auto' } }
  const required = (tool: Json) => ({ tools: [tool], tool_choice: 'required' })

  test.each<[value: string, more: Json, found: (output: Json[]) => unknown]>([
    ['file_search_call.results', required(search), ([item]) => item.results],
    ['code_interpreter_call.outputs', required(interpreter), ([item]) => item.outputs],
    ['web_search_call.action.sources', required({ type: 'web_search' }), ([item]) => item.action.sources],
    ['reasoning.encrypted_content', { reasoning: { effort: 'low' } }, ([item]) => item.encrypted_content],
    ['message.output_text.logprobs', {}, (output) => output.at(-1).content[0].logprobs[0]],
  ])('%s', async (value, more, found) => {
    const sandbox = await runningSandbox()
    const without = await respond(sandbox, 'find out', more)
    const included = await respond(sandbox, 'find out', { ...more, include: [value] })
    expect(found(without.json.output) ?? null).toBeNull()
    expect(found(included.json.output)).toEqual(expect.anything())
    const { request } = await requestOf(['respond', '--include', value, 'hi'])
    expect(request.body.include).toEqual([value])
    const { document } = await documentOf(['respond', '--no-stream', 'hi'], json(included.json))
    expect(found(document.response.output)).toEqual(found(included.json.output))
  })
})

describe('what the specification leaves open is read', () => {
  const textOf = (text: string) => ({ type: 'output_text', text, annotations: [] })
  const message = (text: string, ...before: object[]) => {
    const content = [...before, textOf(text)]
    return { type: 'message', id: 'msg_1', status: 'completed', role: 'assistant', content }
  }
  const whole = {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    model: 'm',
    output: [message('Hello')],
  }
  const unknown = { type: 'of_2030', id: 'x' }
  const answered = (more: Json) => documentOf(['respond', '--no-stream', 'hi'], json({ ...whole, ...more }))

  test.each<[what: string, more: Json]>([
    ['no status, which is not required', { status: undefined }],
    [
      'a first item that is no message',
      { output: [{ type: 'reasoning', id: 'r', summary: [] }, message('Hello')] },
    ],
    ['an item of an unknown kind', { output: [unknown, message('Hello')] }],
    ['content of an unknown type', { output: [message('Hello', unknown)] }],
    ['the text of several messages', { output: [message('Hel'), message('lo')] }],
    ['no usage', { usage: undefined }],
  ])('%s', async (_, more) => {
    const { code, document } = await answered(more)
    expect([code, document.text, document.finish_reason]).toEqual([0, 'Hello', 'stop'])
  })

  test('a reason of incomplete_details that is not known', async () => {
    const incomplete = { status: 'incomplete', incomplete_details: { reason: 'of_2030' } }
    const { code, document, err } = await answered(incomplete)
    expect([code, document.text, err]).toEqual([0, 'Hello', expect.stringContaining('of_2030')])
  })

  test('an event and an item of unknown kinds in a stream', async () => {
    const events = [
      { type: 'response.created', response: { ...whole, status: 'in_progress', output: [] } },
      { type: 'response.of_2030.delta', delta: 'no text' },
      { type: 'response.output_item.added', output_index: 0, item: unknown },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hello' },
      { type: 'response.completed', response: { ...whole, output: [unknown, message('Hello')] } },
    ]
    const stream = sse(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
    const { code, document } = await documentOf(['respond', 'hi'], stream)
    expect([code, document.text]).toEqual([0, 'Hello'])
  })
})
