import { expect, test } from 'vitest'
import { eventsOf, respond, runningSandbox, type Answer, type Json } from '../support/running-sandbox.ts'

const weather = {
  type: 'function',
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
    required: ['city', 'days'],
    additionalProperties: false,
  },
}

const textOf = ({ output }: Json): string =>
  output
    .flatMap((item: Json) => item.content ?? [])
    .map((part: Json) => part.text ?? '')
    .join('')

const streamed = async (answer: Promise<Answer>) => eventsOf(await answer)
const typesOf = (events: readonly Json[]) => [...new Set(events.map((event) => event.type))]

/** The fields that the specification marks required (Response object). */
const required = [
  'id', 'object', 'created_at', 'error', 'incomplete_details', 'instructions', 'metadata', 'model', 'output',
  'parallel_tool_calls', 'temperature', 'top_p', 'tools', 'tool_choice',
] // prettier-ignore

test('a whole response has every required field, the defaults and usage that adds up', async () => {
  const sandbox = await runningSandbox()
  const { json, headers } = await respond(sandbox, 'Name a river', {
    metadata: { run: '7' },
    instructions: 'Be brief',
  })
  for (const name of required) expect(json).toHaveProperty(name)
  expect(json).toMatchObject({
    object: 'response',
    status: 'completed',
    model: 'sandbox-text',
    metadata: { run: '7' },
    instructions: 'Be brief',
    temperature: 1,
    top_p: 1,
    truncation: 'disabled',
    store: true,
    background: false,
    parallel_tool_calls: true,
    tool_choice: 'auto',
  })
  expect(textOf(json)).toMatch(/^\[sandbox\] You asked: “Name a river”\./)
  const { input_tokens, output_tokens, total_tokens } = json.usage
  expect(input_tokens + output_tokens).toBe(total_tokens)
  expect(json.usage.input_tokens_details.cached_tokens).toBe(0)
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

test('deltas are padded unless include_obfuscation is false', async () => {
  const sandbox = await runningSandbox()
  const paddings = async (more: Json) =>
    (await streamed(respond(sandbox, 'hi', { stream: true, ...more })))
      .filter((event) => event.type.endsWith('.delta'))
      .map((event) => typeof event.obfuscation)
  expect(new Set(await paddings({}))).toEqual(new Set(['string']))
  const off = await paddings({ stream_options: { include_obfuscation: false } })
  expect(new Set(off)).toEqual(new Set(['undefined']))
})

test('reasoning comes first, with a summary and encrypted content on request, and is counted', async () => {
  const sandbox = await runningSandbox()
  const events = await streamed(
    respond(sandbox, 'Think', {
      stream: true,
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    }),
  )
  expect(typesOf(events)).toEqual(
    expect.arrayContaining([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]),
  )
  const { output, usage } = events.at(-1).response
  expect(output.map((item: Json) => item.type)).toEqual(['reasoning', 'message'])
  expect(output[0].encrypted_content).toBeTypeOf('string')
  expect(usage.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  const quiet = await respond(sandbox, 'Think', { reasoning: { effort: 'low' } })
  expect(quiet.json.output[0]).toEqual({ id: expect.any(String), type: 'reasoning', summary: [] })
})

test.for([
  ['required', { tool_choice: 'required' }, 'hello'],
  ['a forced function', { tool_choice: { type: 'function', name: 'get_weather' } }, 'hello'],
  ['the name in the prompt', {}, 'call get_weather'],
  [
    'allowed tools',
    {
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'get_weather' }],
      },
    },
    'hello',
  ],
] as const)(
  '%s makes a function call with arguments that satisfy the parameters',
  async ([, more, prompt]) => {
    const sandbox = await runningSandbox()
    const events = await streamed(respond(sandbox, prompt, { stream: true, tools: [weather], ...more }))
    const [item] = events.at(-1).response.output
    expect(item).toMatchObject({ type: 'function_call', name: 'get_weather', status: 'completed' })
    const given = JSON.parse(item.arguments)
    expect(Object.keys(given).sort()).toEqual(['city', 'days'])
    const deltas = events.filter((event) => event.type === 'response.function_call_arguments.delta')
    expect(deltas.map((event) => event.delta).join('')).toBe(item.arguments)
    const done = events.find((event) => event.type === 'response.function_call_arguments.done')
    expect(done).toMatchObject({ name: 'get_weather', arguments: item.arguments, item_id: item.id })
  },
)

test('a custom tool gets text, parallel calls can be turned off, an unknown forced tool is 400', async () => {
  const sandbox = await runningSandbox()
  const note = { type: 'custom', name: 'take_note' }
  const events = await streamed(respond(sandbox, 'take_note', { stream: true, tools: [note] }))
  expect(typesOf(events)).toContain('response.custom_tool_call_input.delta')
  expect(events.at(-1).response.output[0]).toMatchObject({
    type: 'custom_tool_call',
    input: expect.any(String),
  })
  const both = { tools: [weather, note] }
  const parallel = await respond(sandbox, 'take_note and get_weather', both)
  expect(parallel.json.output).toHaveLength(2)
  const single = await respond(sandbox, 'take_note and get_weather', { ...both, parallel_tool_calls: false })
  expect(single.json.output).toHaveLength(1)
  const unknown = await respond(sandbox, 'hi', { ...both, tool_choice: { type: 'function', name: 'nope' } })
  expect([unknown.status, unknown.json.error.param]).toEqual([400, 'tool_choice'])
})

test('the output of a tool is spoken about instead of calling again', async () => {
  const sandbox = await runningSandbox()
  const first = await respond(sandbox, 'call get_weather', { tools: [weather] })
  const { call_id } = first.json.output[0]
  const input = [{ type: 'function_call_output', call_id, output: 'clear sky' }]
  const second = await respond(sandbox, input, { tools: [weather], previous_response_id: first.json.id })
  expect(textOf(second.json)).toContain('clear sky')
})

test('structured output satisfies its schema', async () => {
  const sandbox = await runningSandbox()
  const format = { type: 'json_schema', name: 'person', schema: weather.parameters, strict: true }
  const { json } = await respond(sandbox, 'Invent', { text: { format } })
  expect(JSON.parse(textOf(json))).toEqual({ city: expect.any(String), days: expect.any(Number) })
  const free = await respond(sandbox, 'Invent', { text: { format: { type: 'json_object' } } })
  expect(JSON.parse(textOf(free.json))).toMatchObject({ sandbox: true })
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

test('the same request has the same text and ids for a seed', async () => {
  const [one, two, other] = await Promise.all(
    [1, 1, 2].map(async (seed) => (await respond(await runningSandbox({ seed }), 'Name a river')).json),
  )
  expect(textOf(one)).toBe(textOf(two))
  expect(one.id).toBe(two.id)
  expect(textOf(one)).not.toBe(textOf(other))
})
