import { describe, expect, test } from 'vitest'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'
import {
  anyA,
  differences,
  familyDifferences,
  miniA,
  modelA,
  modelB,
  modelC,
  requestOf,
  rowsOf,
  setFlags,
  type FieldRow,
} from './both-sides.ts'

// Endpoint 4 of the specification, and what its Limits say of it, row by row.

/** A field of every model. */
const commonRows: readonly FieldRow[] = [
  { field: 'model', flags: ['-m', modelA], value: modelA, allowed: [modelB, modelC, null], refused: [5] },
  {
    field: 'n',
    flags: ['-n', '2'],
    value: 2,
    allowed: [1, 10, null],
    refused: [0, 11, 1.5, '2'],
    beside: { model: modelB, size: '256x256' },
  },
  { field: 'user', value: 'ann', refused: [5, null] },
  {
    field: 'partial_images',
    value: 2,
    allowed: [0, 3],
    refused: [-1, 4, 1.5, '2', null],
    beside: { model: modelA, stream: true },
  },
]

const models = [modelA, miniA, modelB, modelC]

/** Values that only some models take. */
const generationRows = [
  ...rowsOf(anyA, {
    background: ['transparent', 'opaque', 'auto'],
    moderation: ['low', 'auto'],
    output_format: ['png', 'jpeg', 'webp'],
    quality: ['high', 'medium', 'low'],
    size: ['1536x1024', '1024x1536', 'auto'],
    stream: [true],
    prompt: ['x'.repeat(4001), 'x'.repeat(32_000)],
  }),
  ...rowsOf(
    anyA,
    { background: ['transparent'], output_compression: [0, 80, 100] },
    { output_format: 'webp' },
  ),
  ...rowsOf(anyA, { output_compression: [80] }, { output_format: 'jpeg' }),
  ...rowsOf(anyA, { background: ['transparent'] }, { output_format: 'png' }),
  ...rowsOf([modelA, miniA, modelC], { prompt: ['x'.repeat(1001), 'x'.repeat(4000)] }),
  ...rowsOf([modelA, miniA, modelB], { n: [2] }),
  ...rowsOf([modelB, modelC], { quality: ['standard'], response_format: ['url', 'b64_json'] }),
  ...rowsOf([modelB], { size: ['256x256', '512x512'] }),
  ...rowsOf([modelC], { quality: ['hd'], style: ['vivid', 'natural'], size: ['1792x1024', '1024x1792'] }),
  ...rowsOf(models, {
    quality: ['auto'],
    stream: [false],
    partial_images: [0],
    size: ['1024x1024'],
    n: [1],
    prompt: ['x'.repeat(1000)],
  }),
  ...rowsOf([], { output_compression: [101, -1] }, { output_format: 'webp' }),
  ...rowsOf([], { output_compression: [80] }, { output_format: 'png' }),
  ...rowsOf([], { background: ['transparent'] }, { output_format: 'jpeg' }),
  ...rowsOf([], { output_compression: [80], partial_images: [1], prompt: ['x'.repeat(32_001), 5, null] }),
  ...['background', 'moderation', 'output_format', 'quality', 'size', 'response_format', 'style'].flatMap(
    (field) => rowsOf([], { [field]: ['some'] }),
  ),
]

describe('endpoint 4, POST /v1/images/generations', () => {
  const path = '/v1/images/generations'
  const endpoint = { command: ['image', 'create'], words: ['a boat'], path, body: { prompt: 'a boat' } }

  test.each(commonRows.map((row) => [row.field, row] as const))('%s', async (_, row) => {
    expect(await differences(await runningSandbox(), endpoint, row)).toEqual([])
  })

  test.each(generationRows)('%s', async (_, row) => {
    const sandbox = await runningSandbox()
    const codeOf = async (fields: Json) => (await requestOf(['image', 'create', ...setFlags(fields)])).code
    const statusOf = async (fields: Json) => (await call(sandbox, path, fields)).status
    expect(await familyDifferences(row, models, codeOf, statusOf)).toEqual([])
  })

  test('most fields may be null', async () => {
    const names = ['background', 'moderation', 'n', 'output_compression', 'output_format', 'quality']
    const others = ['response_format', 'size', 'stream', 'style']
    const fields = Object.fromEntries([...names, ...others].map((name) => [name, null]))
    expect((await requestOf(['image', 'create', ...setFlags(fields), 'a boat'])).code).toBe(0)
    expect((await call(await runningSandbox(), path, { prompt: 'a boat', ...fields })).status).toBe(200)
  })

  test('prompt is required', async () => {
    expect((await requestOf(['image', 'create'])).code).toBe(2)
    expect((await call(await runningSandbox(), path, {})).status).toBe(400)
  })

  test('defaults: one image, as a URL for models B and C, base64 for A', async () => {
    const sandbox = await runningSandbox()
    for (const model of [modelA, modelB, modelC]) {
      const { json } = await call(sandbox, path, { prompt: 'a boat', model })
      const fields = json.data.map((image: Json) => Object.keys(image).filter((name) => /url|b64/.test(name)))
      expect([model, fields]).toEqual([model, [[model === modelA ? 'b64_json' : 'url']]])
    }
    const { request } = await requestOf(['image', 'create', 'a boat'])
    expect(request.body).toEqual({ prompt: 'a boat' })
  })
})
