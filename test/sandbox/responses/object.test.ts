import { expect, test } from 'vitest'
import { eventsOf, respond, runningSandbox, type Json } from '../../support/running-sandbox.ts'

/** Of the response object: the required fields, and those that may be null (specification, Resources). */
const required = [
  'id', 'object', 'created_at', 'error', 'incomplete_details', 'instructions', 'metadata', 'model', 'output',
  'parallel_tool_calls', 'temperature', 'top_p', 'tools', 'tool_choice',
] // prettier-ignore
const nullable = new Set([
  'error', 'incomplete_details', 'instructions', 'output_text', 'temperature', 'top_p', 'top_logprobs',
  'previous_response_id', 'background', 'max_output_tokens', 'max_tool_calls', 'truncation',
]) // prettier-ignore

const bodies: readonly Json[] = [
  {},
  { background: true },
  { stream: true },
  { stream: true, background: true },
  { stream: true, parallel_tool_calls: null, background: null, truncation: null, temperature: null },
  { input: 'sandbox:failure', stream: true },
  { input: 'sandbox:length' },
  { input: 'sandbox:error', stream: true },
  {
    instructions: null, previous_response_id: null, temperature: null, top_p: null, background: null,
    max_output_tokens: null, max_tool_calls: null, truncation: null, include: null, parallel_tool_calls: null,
    store: null, stream: null, reasoning: { effort: null, summary: null },
  },
] // prettier-ignore

test.for(bodies)('no response object lacks a field or has a null that is not allowed: %j', async (body) => {
  const { json, text } = await respond(await runningSandbox(), 'hi', body)
  const events = text.startsWith('event:') ? eventsOf({ text }) : []
  const objects = [...events.map(({ response }) => response), json].filter(
    (value) => value?.object === 'response',
  )
  expect(objects.length).toBeGreaterThan(0)
  for (const object of objects) {
    expect(required.filter((name) => !(name in object))).toEqual([])
    const nulls = Object.keys(object).filter((name) => object[name] === null)
    expect(nulls.filter((name) => !nullable.has(name))).toEqual([])
  }
})

test('usage counts the calls of tools and the reasoning', async () => {
  const sandbox = await runningSandbox()
  const body = { reasoning: { effort: 'low' }, stream: true }
  const events = eventsOf(await respond(sandbox, 'sandbox:code_interpreter', body))
  const { usage } = events.at(-1).response
  const deltas = events.filter(({ type }) => type.endsWith('.delta')).length
  expect(usage.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  expect(usage.output_tokens).toBe(deltas + usage.output_tokens_details.reasoning_tokens)
})

test('the token limit leaves out calls that it has no room for', async () => {
  const { json } = await respond(await runningSandbox(), 'sandbox:code_interpreter', { max_output_tokens: 5 })
  expect(json).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
  expect(json.output).toEqual([])
})

test('a picture in the conversation is read as one, not as its characters', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'A fox sandbox:image_generation')
  const { json } = await respond(sandbox, 'And now?', { previous_response_id: first.json.id })
  expect(json.usage.input_tokens).toBeLessThan(600)
})
