import { expect, test } from 'vitest'
import { flagName, type Field, type Fields } from '../../src/contract/field.ts'
import { generateContentEndpoint } from '../../src/contract/generate-content.ts'
import { responsesEndpoint } from '../../src/contract/responses.ts'

test.each([
  ['topLogprobs', 'top-logprobs'],
  ['top_logprobs', 'top-logprobs'],
  ['contents', 'contents'],
  ['maxOutputTokens', 'max-output-tokens'],
  ['previous_response_id', 'previous-response-id'],
  ['_responseJsonSchema', 'response-json-schema'],
])('%s is --%s', (field, flag) => {
  expect(flagName(field)).toBe(flag)
})

// The tables of the specification, endpoints 1 and 2, written out once more: a field lost from the data is missed here.
test('the fields of endpoint 1', () => {
  expect(Object.keys(generateContentEndpoint.fields).toSorted()).toEqual([
    'contents',
    'generationConfig',
    'safetySettings',
    'systemInstruction',
    'toolConfig',
    'tools',
  ])
  const { candidateCount } = generateContentEndpoint.fields['generationConfig']!.fields!
  expect(factsOf(candidateCount!)).toBe('integer 1 to 8')
  const required = Object.entries(generateContentEndpoint.fields).filter(([, field]) => field.required)
  expect(required.map(([name]) => name)).toEqual(['contents'])
})

test('the fields of endpoint 2, with what the specification says of each', () => {
  const facts = Object.entries(responsesEndpoint.fields).map(([name, field]) => [name, factsOf(field)])
  expect(Object.fromEntries(facts)).toEqual({
    model: 'string',
    input: 'string or array',
    instructions: 'string or null',
    previous_response_id: 'string or null',
    conversation: 'string or object',
    metadata: 'object',
    top_logprobs: 'integer 0 to 20',
    temperature: 'number or null 0 to 2 = 1',
    top_p: 'number or null 0 to 1 = 1',
    user: 'string deprecated',
    safety_identifier: 'string',
    prompt_cache_key: 'string',
    service_tier: 'string of default, scale',
    reasoning: 'object',
    background: 'boolean or null = false',
    max_output_tokens: 'integer or null 1 to',
    max_tool_calls: 'integer or null 0 to',
    text: 'object',
    tools: 'array',
    tool_choice: 'string or object of none, auto, required',
    prompt: 'string or object',
    truncation: 'string or null of auto, disabled = disabled',
    include: 'array or null',
    parallel_tool_calls: 'boolean or null = true',
    store: 'boolean or null = true',
    stream: 'boolean or null = false',
    stream_options: 'object or null',
  })
})

function factsOf({ type, nullable, values, min, max, default: standard, deprecated }: Field): string {
  const types = [...(typeof type === 'string' ? [type] : type), ...(nullable ? ['null'] : [])].join(' or ')
  return [
    types,
    ...(values === undefined ? [] : [`of ${values.join(', ')}`]),
    ...(min === undefined ? [] : [`${min} to ${max ?? ''}`.trim()]),
    ...(standard === undefined ? [] : [`= ${standard}`]),
    ...(deprecated === undefined ? [] : ['deprecated']),
  ].join(' ')
}

const everyField = (fields: Fields): Field[] =>
  Object.values(fields).flatMap((field) => [
    field,
    ...everyField(field.fields ?? {}),
    ...(field.items === undefined ? [] : everyField({ items: field.items })),
  ])

test.each([
  ['generate', generateContentEndpoint],
  ['respond', responsesEndpoint],
])('every field of %s says what it is, and its bounds make sense', (_, { fields, rules }) => {
  for (const { about, min = -Infinity, max = Infinity, minLength = 0, maxLength = Infinity } of everyField(
    fields,
  )) {
    expect(about).toMatch(/^[a-z]/)
    expect(min).toBeLessThan(max)
    expect(minLength).toBeLessThanOrEqual(maxLength)
  }
  const tied = rules.flatMap((rule) => (rule.kind === 'exclusive' ? rule.fields : [rule.field, rule.other]))
  for (const name of tied) expect(Object.keys(fields)).toContain(name)
})
