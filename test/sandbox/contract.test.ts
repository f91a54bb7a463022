import { expect, test } from 'vitest'
import type { Endpoint, Field, Fields } from '../../src/contract/field.ts'
import { generateContentEndpoint } from '../../src/contract/generate-content.ts'
import { responsesEndpoint } from '../../src/contract/responses.ts'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'

/** What else a body needs for the field under test to be allowed at all. */
const companions: Json = {
  stream_options: { stream: true },
  tool_choice: { tools: [{ type: 'web_search' }] },
  toolConfig: { tools: [{ functionDeclarations: [{ name: 'look' }] }] },
}

/** Fields whose valid values point at something that must exist. */
const notFound = new Set(['previous_response_id'])

interface Case {
  readonly value: unknown
  readonly ok: boolean
}

const wrongTypes: Record<string, unknown> = {
  string: 5,
  integer: 'five',
  number: 'five',
  boolean: 'yes',
  object: 'text',
  array: { a: 1 },
}

/** Every rule of a field at its boundary and one past it. */
function casesOf(field: Field): Case[] {
  const type = [field.type].flat()[0]!
  const cases: Case[] = [{ value: null, ok: field.nullable === true }]
  const other = [field.type].flat().length === 1 ? wrongTypes[type] : true
  cases.push({ value: other, ok: false })
  const { min, max, minLength, maxLength, values, items } = field
  const step = type === 'integer' ? 1 : 0.001
  if (min !== undefined) cases.push({ value: min, ok: true }, { value: min - step, ok: false })
  if (max !== undefined) cases.push({ value: max, ok: true }, { value: max + step, ok: false })
  if (type === 'integer') cases.push({ value: (min ?? 1) + 0.5, ok: false })
  for (const value of values ?? []) cases.push({ value, ok: true })
  if (values !== undefined) cases.push({ value: 'nonsense', ok: false })
  if (type === 'boolean') cases.push({ value: true, ok: true }, { value: false, ok: true })
  if (type === 'array' && items !== undefined) {
    const entries = (count: number) => Array.from({ length: count }, () => validOf(items))
    if (minLength !== undefined)
      cases.push({ value: entries(minLength), ok: true }, { value: entries(minLength - 1), ok: false })
    if (maxLength !== undefined)
      cases.push({ value: entries(maxLength), ok: true }, { value: entries(maxLength + 1), ok: false })
    for (const { value, ok } of casesOf(items)) if (!ok) cases.push({ value: [value], ok })
  }
  return cases
}

function validOf(field: Field): unknown {
  const type = [field.type].flat()[0]
  if (type === 'string') return field.values?.[0] ?? field.known?.[0] ?? 'text'
  if (type === 'array') return [field.items === undefined ? 'text' : validOf(field.items)]
  if (type !== 'object') return type === 'boolean' ? true : (field.min ?? 1)
  // A part needs something in it, which the specification does not say.
  if (field.fields?.['text'] !== undefined) return { text: 'text' }
  const required = Object.entries(field.fields ?? {}).filter(([, inner]) => inner.required)
  return Object.fromEntries(required.map(([name, inner]) => [name, validOf(inner)]))
}

type Row = readonly [path: string, value: string, ok: boolean, body: Json]

function rowsOf(fields: Fields, wrap: (name: string, value: unknown) => Json, prefix = ''): Row[] {
  return Object.entries(fields).flatMap(([name, field]) => {
    const path = prefix + name
    const own = casesOf(field).map(({ value, ok }): Row => [
      path,
      String(JSON.stringify(value)).slice(0, 40),
      ok,
      wrap(name, value),
    ])
    const required = field.required ? [[path, 'left out', false, wrap(name, undefined)] as const] : []
    const inner =
      field.fields === undefined
        ? []
        : rowsOf(
            field.fields,
            (key, value) => wrap(name, { ...(validOf(field) as Json), [key]: value }),
            `${path}.`,
          )
    const entry = field.items?.fields
    const inList =
      entry === undefined
        ? []
        : rowsOf(
            entry,
            (key, value) => wrap(name, [{ ...(validOf(field.items!) as Json), [key]: value }]),
            `${path}[0].`,
          )
    return [...own, ...required, ...inner, ...inList]
  })
}

const endpoints: readonly [string, string, Endpoint, Json][] = [
  [
    'endpoint 1',
    '/v1beta/models/sandbox-text:generateContent',
    generateContentEndpoint,
    { contents: [{ parts: [{ text: 'hi' }] }] },
  ],
  ['endpoint 2', '/v1/responses', responsesEndpoint, { input: 'hi' }],
]

test.for(endpoints)(
  '%s accepts every field at its boundary and refuses it one past',
  async ([, path, endpoint, base]) => {
    const sandbox = await runningSandbox()
    const rows = rowsOf(endpoint.fields, (name, value) => ({ ...base, ...companions[name], [name]: value }))
    expect(rows.length).toBeGreaterThan(60)
    const surprises: string[] = []
    for (const [field, value, ok, body] of rows) {
      const { status, json } = await call(sandbox, path, body)
      const accepted = notFound.has(field) && value !== 'null' ? 404 : 200
      const isRight = ok ? status === accepted : status === 400 && fieldIn(json).startsWith(rootOf(field))
      if (!isRight) surprises.push(`${field} = ${value}: ${status} ${json.error?.message}`)
    }
    expect(surprises).toEqual([])
  },
)

function rootOf(path: string): string {
  return path.split(/[[.]/)[0]!
}

function fieldIn({ error }: Json): string {
  return error?.param ?? error?.details[0].fieldViolations[0].field ?? ''
}

test.for(endpoints)('%s refuses a field it does not know', async ([, path, , base]) => {
  const sandbox = await runningSandbox()
  const { status, json } = await call(sandbox, path, { ...base, colour: 'red' })
  expect(status).toBe(400)
  expect(fieldIn(json)).toBe('colour')
  expect(json.error.message).toContain('colour')
})

test('the rules that tie fields together are enforced', async () => {
  const sandbox = await runningSandbox()
  const pairs = [
    { previous_response_id: 'resp_1', conversation: 'conv_1' },
    { stream_options: { include_obfuscation: true } },
  ]
  for (const pair of pairs) {
    const { status, json } = await call(sandbox, '/v1/responses', { input: 'hi', ...pair })
    expect([status, json.error.param]).toEqual([400, Object.keys(pair)[0]])
  }
})

test('advice is no rule', async () => {
  const sandbox = await runningSandbox()
  const { status } = await call(sandbox, '/v1/responses', { input: 'hi', temperature: 1, top_p: 1 })
  expect(status).toBe(200)
})

test('the Google envelope lists every violation, the OpenAI one the first', async () => {
  const sandbox = await runningSandbox()
  const google = await call(sandbox, endpoints[0]![1], {
    contents: [],
    generationConfig: { topP: 2, candidateCount: 0 },
  })
  expect(google.json.error.status).toBe('INVALID_ARGUMENT')
  const fields = google.json.error.details[0].fieldViolations.map(({ field }: Json) => field)
  expect(fields).toEqual(['contents', 'generationConfig.topP', 'generationConfig.candidateCount'])
  const openai = await call(sandbox, '/v1/responses', { top_p: 2, top_logprobs: 99 })
  expect(openai.json.error).toEqual({
    message: "Invalid 'top_logprobs': must be from 0 to 20, not 99.",
    type: 'invalid_request_error',
    param: 'top_logprobs',
    code: 'invalid_value',
  })
})
