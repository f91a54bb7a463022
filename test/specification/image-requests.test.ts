import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { call, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { maskPng, paddedPng, testImages } from '../support/test-images.ts'
import { differences, requestOf, type FieldRow } from './both-sides.ts'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'

// Endpoints 4 and 6 of docs/gateway-interface.md, and what its Limits say of images, row by row.

const [modelA, miniA, modelB, modelC] = [
  'image-model-a',
  'image-model-a-mini',
  'image-model-b',
  'image-model-c',
]

/** A field of every model. */
const commonRows: readonly FieldRow[] = [
  { field: 'model', flags: ['-m', modelA], value: modelA, allowed: [modelB, modelC, null], refused: [5] },
  { field: 'n', flags: ['-n', '2'], value: 2, allowed: [1, 10, null], refused: [0, 11, 1.5, '2'] },
  { field: 'user', flags: ['--user', 'ann'], value: 'ann', refused: [5, null] },
  {
    field: 'partial_images',
    flags: ['--partial-images', '2'],
    value: 2,
    allowed: [0, 3],
    refused: [-1, 4, 1.5, '2', null],
    beside: { model: modelA, stream: true },
  },
]

interface FamilyRow {
  readonly field: string
  readonly value: unknown
  readonly beside?: Readonly<Record<string, unknown>>
  /** The models that take it, of A, its mini variant, B and C. */
  readonly takenBy: readonly string[]
}

const anyA = [modelA, miniA]

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

const titleOf = ({ field, value, beside = {}, takenBy }: FamilyRow) => {
  const shown = String(value).length > 20 ? `${String(value).length} characters` : String(value)
  const besides = Object.entries(beside).map(([name, one]) => ` with ${name} ${String(one)}`)
  return `${field} ${shown}${besides.join('')}: ${takenBy.length === 0 ? 'no model' : takenBy.join(', ')}`
}

/** Flags that set fields whatever they hold. */
const setFlags = (fields: Json) =>
  Object.entries(fields).flatMap(([name, value]) => ['--set', `${name}=${JSON.stringify(value)}`])

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
      const { status } = await call(sandbox, path, { prompt: 'a boat', ...fields })
      const isTaken = row.takenBy.includes(model)
      expect([model, code, status]).toEqual([model, isTaken ? 0 : 2, isTaken ? 200 : 400])
    }
  })

  test.each([
    'background',
    'moderation',
    'n',
    'output_compression',
    'output_format',
    'quality',
    'response_format',
    'size',
    'stream',
    'style',
  ])('%s may be null', async (field) => {
    expect((await requestOf(['image', 'create', '--set', `${field}=null`, 'a boat'])).code).toBe(0)
    const { status } = await call(await runningSandbox(), path, { prompt: 'a boat', [field]: null })
    expect(status).toBe(200)
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
    for (const [field, model] of [...rows, ['response_format', modelB], ['style', modelC]]) {
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

/** Sends a form with the picture of a model's own size and kind. */
async function edit(
  sandbox: Sandbox,
  fields: Json,
  files: readonly (readonly [string, Uint8Array, string])[],
) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, String(value))
  for (const [name, bytes, type] of files) {
    form.append(name, new Blob([Uint8Array.from(bytes)], { type }), `${name}.${type.slice(6)}`)
  }
  const headers = { authorization: 'Bearer key' }
  return (await fetch(`${sandbox.url}/v1/images/edits`, { method: 'POST', headers, body: form })).status
}

const editRows: readonly FamilyRow[] = [
  ...['transparent', 'opaque', 'auto'].map((value) => ({ field: 'background', value, takenBy: anyA })),
  ...['high', 'low'].map((value) => ({ field: 'input_fidelity', value, takenBy: [modelA] })),
  ...['png', 'jpeg', 'webp'].map((value) => ({ field: 'output_format', value, takenBy: anyA })),
  { field: 'output_compression', value: 80, beside: { output_format: 'webp' }, takenBy: anyA },
  { field: 'output_compression', value: 80, beside: { output_format: 'png' }, takenBy: [] },
  { field: 'background', value: 'transparent', beside: { output_format: 'jpeg' }, takenBy: [] },
  ...['high', 'medium', 'low'].map((value) => ({ field: 'quality', value, takenBy: anyA })),
  { field: 'output_compression', value: 100, beside: { output_format: 'jpeg' }, takenBy: anyA },
  { field: 'output_compression', value: 101, beside: { output_format: 'webp' }, takenBy: [] },
  { field: 'output_compression', value: 80, takenBy: [] },
  { field: 'background', value: 'transparent', beside: { output_format: 'webp' }, takenBy: anyA },
  ...['background', 'output_format', 'quality', 'response_format', 'size', 'input_fidelity'].map((field) => {
    return { field, value: 'some', takenBy: [] }
  }),
  { field: 'quality', value: 'auto', takenBy: [modelA, miniA, modelB] },
  { field: 'quality', value: 'standard', takenBy: [modelB] },
  { field: 'quality', value: 'hd', takenBy: [] },
  ...['url', 'b64_json'].map((value) => ({ field: 'response_format', value, takenBy: [modelB] })),
  { field: 'size', value: '1024x1024', takenBy: [modelA, miniA, modelB] },
  ...['1536x1024', '1024x1536', 'auto'].map((value) => ({ field: 'size', value, takenBy: anyA })),
  ...['256x256', '512x512'].map((value) => ({ field: 'size', value, takenBy: [modelB] })),
  { field: 'size', value: '1792x1024', takenBy: [] },
  { field: 'n', value: 1, takenBy: [modelA, miniA, modelB] },
  { field: 'n', value: 10, takenBy: [modelA, miniA, modelB] },
  ...[0, 11].map((value) => ({ field: 'n', value, takenBy: [] })),
  { field: 'user', value: 'ann', takenBy: [modelA, miniA, modelB] },
  { field: 'stream', value: true, takenBy: [modelA, miniA, modelB] },
  { field: 'partial_images', value: 3, beside: { stream: true }, takenBy: [modelA, miniA, modelB] },
  { field: 'partial_images', value: 4, beside: { stream: true }, takenBy: [] },
  { field: 'prompt', value: 'x'.repeat(1000), takenBy: [modelA, miniA, modelB] },
  { field: 'prompt', value: 'x'.repeat(1001), takenBy: anyA },
  { field: 'prompt', value: 'x'.repeat(32_000), takenBy: anyA },
  { field: 'prompt', value: 'x'.repeat(32_001), takenBy: [] },
]

describe('endpoint 6, POST /v1/images/edits', async () => {
  const { png, jpeg, webp } = await testImages(64)
  const source = ['image', png, 'image/png'] as const
  let folder = ''
  beforeEach(() => writeFiles((folder = temporaryFolder()), { 'a.png': png, 'a.jpg': jpeg, 'a.webp': webp }))
  const file = (name: string) => join(folder, name)

  test.each(editRows.map((row) => [titleOf(row), row] as const))('%s', async (_, row) => {
    const sandbox = await runningSandbox()
    for (const model of [modelA, miniA, modelB]) {
      const fields = { model, ...row.beside, [row.field]: row.value }
      const prompt = row.field === 'prompt' ? [] : ['a boat']
      const { code } = await requestOf([
        'image',
        'edit',
        '--image',
        file('a.png'),
        ...setFlags(fields),
        ...prompt,
      ])
      const status = await edit(sandbox, { prompt: 'a boat', ...fields }, [source])
      const isTaken = row.takenBy.includes(model)
      expect([model, code, status]).toEqual([model, isTaken ? 0 : 2, isTaken ? 200 : 400])
    }
  })

  test('image and prompt are required', async () => {
    const sandbox = await runningSandbox()
    expect(await edit(sandbox, { prompt: 'a boat' }, [])).toBe(400)
    expect(await edit(sandbox, {}, [source])).toBe(400)
    expect((await requestOf(['image', 'edit', 'a boat'])).code).toBe(2)
    expect((await requestOf(['image', 'edit', '--image', file('a.png')])).code).toBe(2)
  })

  test.each([
    ['png', 'a.png', png],
    ['jpg', 'a.jpg', jpeg],
    ['webp', 'a.webp', webp],
  ])('model A takes %s', async (kind, name, bytes) => {
    const sandbox = await runningSandbox()
    const type = `image/${kind === 'jpg' ? 'jpeg' : kind}`
    expect(await edit(sandbox, { model: modelA, prompt: 'a boat' }, [['image', bytes, type]])).toBe(200)
    expect((await requestOf(['image', 'edit', '-m', modelA, '--image', file(name), 'x'])).code).toBe(0)
    const isForB = kind === 'png'
    expect(await edit(sandbox, { model: modelB, prompt: 'x' }, [['image', bytes, type]])).toBe(
      isForB ? 200 : 400,
    )
    const { code } = await requestOf(['image', 'edit', '-m', modelB, '--image', file(name), 'x'])
    expect(code).toBe(isForB ? 0 : 2)
  })

  test.each([
    [16, 200, 0],
    [17, 400, 2],
  ])('model A: %i images', async (count, status, code) => {
    const many = Array.from({ length: count }, () => ['image[]', png, 'image/png'] as const)
    expect(await edit(await runningSandbox(), { model: modelA, prompt: 'x' }, many)).toBe(status)
    const flags = many.flatMap(() => ['--image', file('a.png')])
    expect((await requestOf(['image', 'edit', '-m', modelA, ...flags, 'x'])).code).toBe(code)
  })

  test('model B: exactly one image', async () => {
    const two = [source, source].map(([, bytes, type]) => ['image[]', bytes, type] as const)
    expect(await edit(await runningSandbox(), { model: modelB, prompt: 'x' }, two)).toBe(400)
    const flags = ['--image', file('a.png'), '--image', file('a.png')]
    expect((await requestOf(['image', 'edit', '-m', modelB, ...flags, 'x'])).code).toBe(2)
  })

  test('model B: a square image', async () => {
    const wide = pngBytes({ width: 64, height: 32 })
    writeFiles(folder, { 'wide.png': wide })
    expect(
      await edit(await runningSandbox(), { model: modelB, prompt: 'x' }, [['image', wide, 'image/png']]),
    ).toBe(400)
    expect((await requestOf(['image', 'edit', '-m', modelB, '--image', file('wide.png'), 'x'])).code).toBe(2)
  })

  test.each([
    [modelA, 50_000_000],
    [modelB, 4_000_000],
  ])('%s: an image under %i bytes', async (model, limit) => {
    const sandbox = await runningSandbox()
    for (const [size, status, code] of [
      [limit - 1, 200, 0],
      [limit, 400, 2],
    ] as const) {
      const padded = paddedPng(png, size)
      writeFiles(folder, { 'large.png': padded })
      expect(await edit(sandbox, { model, prompt: 'x' }, [['image', padded, 'image/png']])).toBe(status)
      expect((await requestOf(['image', 'edit', '-m', model, '--image', file('large.png'), 'x'])).code).toBe(
        code,
      )
    }
  })

  test('the mask is a PNG under 4 MB of the dimensions of the first image', async () => {
    const sandbox = await runningSandbox()
    const [mask, small] = [await maskPng(64), await maskPng(32)]
    const rows: [string, Uint8Array, string, number, number][] = [
      ['good.png', mask, 'image/png', 200, 0],
      ['small.png', small, 'image/png', 400, 2],
      ['mask.jpg', jpeg, 'image/jpeg', 400, 2],
      ['large.png', paddedPng(mask, 4_000_000), 'image/png', 400, 2],
    ]
    for (const [name, bytes, type, status, code] of rows) {
      writeFiles(folder, { [name]: bytes })
      const files = [source, ['mask', bytes, type] as const]
      expect([name, await edit(sandbox, { model: modelA, prompt: 'x' }, files)]).toEqual([name, status])
      const flags = ['--image', file('a.png'), '--mask', file(name)]
      const sent = await requestOf(['image', 'edit', '-m', modelA, ...flags, 'x'])
      expect([name, sent.code]).toEqual([name, code])
    }
  })

  test('the model defaults to B, unless fields of A are used', async () => {
    const sandbox = await runningSandbox()
    expect(await edit(sandbox, { prompt: 'x', size: '256x256' }, [source])).toBe(200)
    expect(await edit(sandbox, { prompt: 'x', background: 'opaque' }, [source])).toBe(200)
    const flags = ['image', 'edit', '--image', file('a.png'), 'x']
    expect((await requestOf([...flags, '--size', '256x256'])).code).toBe(0)
    expect((await requestOf([...flags, '--background', 'opaque'])).code).toBe(0)
  })

  test('the request is multipart/form-data with the fields of the specification', async () => {
    writeFiles(folder, { 'mask.png': await maskPng(64) })
    const flags = [
      '--image',
      file('a.png'),
      '--mask',
      file('mask.png'),
      '--input-fidelity',
      'high',
      '-n',
      '2',
    ]
    const { request, err } = await requestOf(['image', 'edit', '-m', modelA, ...flags, 'a boat'])
    expect(err).toBe('')
    expect(request.headers['content-type']).toMatch(/^multipart\/form-data/)
    const parts = request.parts.map(({ name, value }: Json) =>
      value === undefined ? name : `${name}=${value}`,
    )
    expect(parts.toSorted()).toEqual([
      'image',
      'input_fidelity=high',
      'mask',
      `model=${modelA}`,
      'n=2',
      'prompt=a boat',
    ])
  })
})
