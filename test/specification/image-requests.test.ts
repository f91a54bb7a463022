import { describe, expect, test } from 'vitest'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'
import {
  anyA,
  differences,
  miniA,
  modelA,
  modelB,
  modelC,
  requestOf,
  setFlags,
  titleOf,
  type FamilyRow,
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

/** Values that only some models take: generation. */
const generationRows: readonly FamilyRow[] = [
  ...['transparent', 'opaque', 'auto'].map((value) => ({ field: 'background', value, takenBy: anyA })),
  ...['low', 'auto'].map((value) => ({ field: 'moderation', value, takenBy: anyA })),
  ...['png', 'jpeg', 'webp'].map((value) => ({ field: 'output_format', value, takenBy: anyA })),
  { field: 'output_compression', value: 80, beside: { output_format: 'webp' }, takenBy: anyA },
  { field: 'output_compression', value: 80, beside: { output_format: 'jpeg' }, takenBy: anyA },
  { field: 'output_compression', value: 80, beside: { output_format: 'png' }, takenBy: [] },
  { field: 'output_compression', value: 101, beside: { output_format: 'webp' }, takenBy: [] },
  { field: 'output_compression', value: -1, beside: { output_format: 'webp' }, takenBy: [] },
  { field: 'background', value: 'transparent', beside: { output_format: 'jpeg' }, takenBy: [] },
  { field: 'background', value: 'transparent', beside: { output_format: 'webp' }, takenBy: anyA },
  { field: 'background', value: 'transparent', beside: { output_format: 'png' }, takenBy: anyA },
  ...[0, 100].map((value) => {
    return { field: 'output_compression', value, beside: { output_format: 'webp' }, takenBy: anyA }
  }),
  { field: 'output_compression', value: 80, takenBy: [] },
  { field: 'quality', value: 'auto', takenBy: [modelA, miniA, modelB, modelC] },
  ...['high', 'medium', 'low'].map((value) => ({ field: 'quality', value, takenBy: anyA })),
  { field: 'quality', value: 'hd', takenBy: [modelC] },
  { field: 'quality', value: 'standard', takenBy: [modelB, modelC] },
  ...['url', 'b64_json'].map((value) => ({ field: 'response_format', value, takenBy: [modelB, modelC] })),
  { field: 'stream', value: true, takenBy: anyA },
  { field: 'stream', value: false, takenBy: [modelA, miniA, modelB, modelC] },
  { field: 'partial_images', value: 1, takenBy: [] },
  { field: 'partial_images', value: 0, takenBy: [modelA, miniA, modelB, modelC] },
  ...['vivid', 'natural'].map((value) => ({ field: 'style', value, takenBy: [modelC] })),
  { field: 'size', value: '1024x1024', takenBy: [modelA, miniA, modelB, modelC] },
  ...['1536x1024', '1024x1536', 'auto'].map((value) => ({ field: 'size', value, takenBy: anyA })),
  ...['256x256', '512x512'].map((value) => ({ field: 'size', value, takenBy: [modelB] })),
  ...['1792x1024', '1024x1792'].map((value) => ({ field: 'size', value, takenBy: [modelC] })),
  { field: 'n', value: 2, takenBy: [modelA, miniA, modelB] },
  { field: 'n', value: 1, takenBy: [modelA, miniA, modelB, modelC] },
  { field: 'prompt', value: 'x'.repeat(1000), takenBy: [modelA, miniA, modelB, modelC] },
  { field: 'prompt', value: 'x'.repeat(1001), takenBy: [modelA, miniA, modelC] },
  { field: 'prompt', value: 'x'.repeat(4000), takenBy: [modelA, miniA, modelC] },
  { field: 'prompt', value: 'x'.repeat(4001), takenBy: anyA },
  { field: 'prompt', value: 'x'.repeat(32_000), takenBy: anyA },
  { field: 'prompt', value: 'x'.repeat(32_001), takenBy: [] },
]

describe('endpoint 4, POST /v1/images/generations', () => {
  const path = '/v1/images/generations'
  const endpoint = { command: ['image', 'create'], words: ['a boat'], path, body: { prompt: 'a boat' } }

  test.each(commonRows.map((row) => [row.field, row] as const))('%s', async (_, row) => {
    expect(await differences(await runningSandbox(), endpoint, row)).toEqual([])
  })

  test.each(generationRows.map((row) => [titleOf(row), row] as const))('%s', async (_, row) => {
    const sandbox = await runningSandbox()
    for (const model of [modelA, miniA, modelB, modelC]) {
      const fields = { model, ...row.beside, [row.field]: row.value }
      const prompt = row.field === 'prompt' ? [] : ['a boat']
      const { code } = await requestOf(['image', 'create', ...setFlags(fields), ...prompt])
      const isTaken = row.takenBy.includes(model)
      expect([model, code]).toEqual([model, isTaken ? 0 : 2])
      // To draw takes time: one picture is enough.
      if (isTaken && model !== row.takenBy[0]) continue
      const { status } = await call(sandbox, path, { prompt: 'a boat', ...fields })
      expect([model, status]).toEqual([model, isTaken ? 200 : 400])
    }
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
    const sandbox = await runningSandbox()
    expect((await call(sandbox, path, {})).status).toBe(400)
    for (const prompt of [5, null]) {
      expect((await requestOf(['image', 'create', '--set', `prompt=${prompt}`])).code).toBe(2)
      expect((await call(sandbox, path, { prompt })).status).toBe(400)
    }
  })

  test('a value outside the lists of the specification is refused for its models', async () => {
    const sandbox = await runningSandbox()
    const rows = ['background', 'moderation', 'output_format', 'quality', 'size'].map((field) => [
      field,
      modelA,
    ])
    for (const field of ['quality', 'size', 'response_format']) rows.push([field, modelB], [field, modelC])
    for (const [field, model] of [...rows, ['style', modelC]]) {
      const fields = { model, [field!]: 'some' }
      expect((await requestOf(['image', 'create', ...setFlags(fields), 'a boat'])).code).toBe(2)
      expect((await call(sandbox, path, { prompt: 'a boat', ...fields })).status).toBe(400)
    }
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
