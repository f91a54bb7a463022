import { beforeAll, describe, expect, test } from 'vitest'
import { families } from '../../../src/contract/families.ts'
import type { Endpoint, Family, Field } from '../../../src/contract/field.ts'
import { imageCreateEndpoint, imageEditEndpoint } from '../../../src/contract/images.ts'
import type { Sandbox } from '../../../src/sandbox/start-sandbox.ts'
import { create, edit, part } from '../../support/image-calls.ts'
import { runningSandbox, type Answer, type Json } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'

/** A rule of the table at its boundary or one step past it. */
interface Row {
  readonly name: string
  readonly body: Json
  /** The parameter that a refusal must name; undefined where the request is right. */
  readonly refused: string | undefined
}

/** What else a body needs for a value to be allowed. */
function companions(field: string, value: unknown): Json {
  if (field === 'output_compression') return { output_format: 'jpeg' }
  if (field === 'partial_images' && value !== 0) return { stream: true }
  return {}
}

/** Values of a field that are allowed, and values one step past them. */
function valuesOf(field: Field): { allowed: unknown[]; refused: unknown[] } {
  const { values, known, size, min, max, minLength, maxLength } = field
  const whole = field.type === 'integer'
  return {
    allowed: [
      ...(values ?? known ?? []),
      ...(size === undefined ? [] : ['1536x864', '480x1440']),
      ...(min === undefined ? [] : [min]),
      ...(max === undefined ? [] : [max]),
      ...(maxLength === undefined ? [] : ['x'.repeat(maxLength), '𝄞'.repeat(maxLength)]),
      ...(field.type === 'boolean' ? [false] : []),
    ],
    refused: [
      ...(values === undefined ? [] : ['nonsense']),
      ...(size === undefined ? [] : ['1000x1000', '464x1440', '3856x2160', '1008x640']),
      ...(min === undefined ? [] : [min - 1]),
      ...(max === undefined ? [] : [max + 1]),
      ...(minLength === undefined ? [] : ['']),
      ...(maxLength === undefined ? [] : ['x'.repeat(maxLength + 1)]),
      ...(whole ? ['two', 1.5] : []),
      ...(field.type === 'boolean' ? ['perhaps'] : []),
    ],
  }
}

function rowsOf(endpoint: Endpoint, family: Family | undefined): Row[] {
  const model = family === undefined ? 'some-other-model' : modelOf(family)
  // The quickest picture that the family has.
  const quick = /^(image-model-a|gpt)/.test(model)
    ? { quality: 'low' }
    : model === 'image-model-c'
      ? {}
      : { size: '256x256' }
  const base = { model, prompt: 'a dot', ...quick }
  const narrower = family?.endpoints[endpoint.name!]
  return Object.entries(endpoint.fields).flatMap(([name, wide]): Row[] => {
    if (name === 'model') return []
    const bodyWith = (value: unknown) => ({ ...base, ...companions(name, value), [name]: value })
    const named = (value: unknown) => `${name} = ${String(JSON.stringify(value)).slice(0, 30)}`
    const limits = narrower?.[name] ?? {}
    if (limits === false) {
      const [value] = valuesOf(wide).allowed
      const body = { ...base, [name]: wide.type === 'boolean' ? true : value }
      return [{ name: `${name}, which the family does not have`, body, refused: name }]
    }
    const { allowed, refused } = valuesOf({ ...wide, ...limits })
    return [
      ...allowed.map((value) => ({
        name: named(value),
        body: value === 'transparent' ? { ...bodyWith(value), output_format: 'webp' } : bodyWith(value),
        // Only a family that streams has partial images.
        refused: Object.keys(companions(name, value)).find((other) => narrower?.[other] === false),
      })),
      ...refused.map((value) => ({ name: named(value), body: bodyWith(value), refused: name })),
      ...(wide.required ? [{ name: `${name} left out`, body: bodyWith(undefined), refused: name }] : []),
    ]
  })
}

/** Rules that tie fields together, on both sides. */
const tied: readonly (readonly [Json, string | undefined])[] = [
  [{ background: 'transparent' }, undefined],
  [{ background: 'transparent', output_format: 'png' }, undefined],
  [{ background: 'transparent', output_format: 'jpeg' }, 'background'],
  [{ output_compression: 50 }, 'output_compression'],
  [{ output_compression: 50, output_format: 'png' }, 'output_compression'],
  [{ output_compression: 50, output_format: 'webp' }, undefined],
  [{ partial_images: 1 }, 'partial_images'],
  [{ partial_images: 1, stream: false }, 'partial_images'],
  [{ partial_images: 0 }, undefined],
  [{ partial_images: 1, stream: true }, undefined],
  [{ colour: 'red' }, 'colour'],
]

const modelOf = ({ id }: Family) => (id === 'gpt-image-2.5' ? 'gpt-image-2.5-flare' : id)

let source: Uint8Array
beforeAll(async () => {
  source = (await testImages(64)).png
})

type Ask = (sandbox: Sandbox, body: Json) => Promise<Answer>
const endpoints: readonly (readonly [string, Endpoint, Ask])[] = [
  ['generations', imageCreateEndpoint, create],
  ['edits', imageEditEndpoint, (sandbox, body) => edit(sandbox, defined(body), [part(source)])],
]

function defined(body: Json): Json {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

/** Plays all rows and lists those that did not end as they should, so that one failure tells all of them. */
async function surprisesOf(ask: Ask, rows: readonly Row[]): Promise<string[]> {
  const sandbox = await runningSandbox()
  const surprises: string[] = []
  for (const { name, body, refused } of rows) {
    const before = sandbox.created()
    const { status, json } = await ask(sandbox, body)
    const isRight =
      refused === undefined
        ? status === 200 && sandbox.created() === before + 1
        : status === 400 && json.error.param === refused && sandbox.created() === before
    if (!isRight) surprises.push(`${name}: ${status} ${json.error?.message ?? ''}`)
  }
  return surprises
}

describe.each(endpoints)('%s', (_, endpoint, ask) => {
  const served = families.filter(({ endpoints: own }) => own[endpoint.name!] !== undefined)
  const rows: readonly (readonly [string, Family | undefined])[] = [
    ...served.map((family) => [modelOf(family), family] as const),
    ['a model of no family', undefined],
  ]

  test.each(rows)('%s: every field at its boundary and one step past it', async (_, family) => {
    const rows = rowsOf(endpoint, family)
    expect(rows.length).toBeGreaterThan(25)
    expect(await surprisesOf(ask, rows)).toEqual([])
  })

  test('the rules that tie fields together', async () => {
    const rows = tied.map(([more, refused]) => ({
      name: JSON.stringify(more),
      body: { model: 'image-model-a', prompt: 'a dot', ...more },
      refused,
    }))
    expect(await surprisesOf(ask, rows)).toEqual([])
  })

  test('a model of another endpoint is refused by name', async () => {
    const sandbox = await runningSandbox()
    const { status, json } = await ask(sandbox, { model: 'sora-2', prompt: 'a dot' })
    expect([status, json.error.param]).toEqual([400, 'model'])
    expect(json.error.message).toContain('image-model-b')
  })
})

test('the second legacy model makes images and does not edit them', async () => {
  const sandbox = await runningSandbox()
  expect((await create(sandbox, { model: 'dall-e-3', prompt: 'a dot' })).status).toBe(200)
  const { status, json } = await edit(sandbox, { model: 'dall-e-3', prompt: 'a dot' }, [part(source)])
  expect([status, json.error.param]).toEqual([400, 'model'])
})

test('public ids have the rules of their families', async () => {
  const sandbox = await runningSandbox()
  const url = { prompt: 'a dot', response_format: 'url' }
  const { json } = await create(sandbox, { ...url, model: 'gpt-image-1' })
  expect(json.error).toMatchObject({ param: 'response_format', code: 'unknown_parameter' })
  expect((await create(sandbox, { ...url, model: 'dall-e-2', size: '256x256' })).status).toBe(200)
})
