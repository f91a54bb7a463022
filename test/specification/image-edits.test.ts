import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { edit, part, pixelsOf, type FilePart } from '../support/image-calls.ts'
import { runningSandbox, type Json } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { largestDifference, maskPng, paddedPng, testImages, testPicture } from '../support/test-images.ts'
import {
  anyA,
  isInteger,
  miniA,
  modelA,
  modelB,
  modelC,
  requestOf,
  setFlags,
  titleOf,
  type FamilyRow,
} from './both-sides.ts'

// Endpoint 6 of the specification, and what its Limits say of it, row by row.

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
  const small = await testImages(32)
  let folder = ''
  beforeEach(() => void (folder = temporaryFolder()))

  /** What both sides say to an edit: the program's exit code and the sandbox's status. */
  async function answers(fields: Json, files: readonly FilePart[]) {
    const { status } = await edit(await runningSandbox(), fields, files)
    return [await codeOf(fields, files), status]
  }
  async function codeOf({ prompt, model, ...others }: Json, files: readonly FilePart[]) {
    const flags = files.flatMap(({ name, bytes }, index) => {
      writeFiles(folder, { [`${index}`]: bytes })
      return [name === 'mask' ? '--mask' : '--image', join(folder, `${index}`)]
    })
    const words = [...(model === undefined ? [] : ['-m', model]), ...setFlags(others), ...flags]
    const { code } = await requestOf(['image', 'edit', ...words, ...(prompt === undefined ? [] : [prompt])])
    return code
  }
  const taken = [0, 200]
  const refused = [2, 400]

  test.each(editRows.map((row) => [titleOf(row), row] as const))('%s', async (_, row) => {
    const sandbox = await runningSandbox()
    for (const model of [modelA, miniA, modelB]) {
      const fields = { prompt: 'a boat', model, ...row.beside, [row.field]: row.value }
      const isTaken = row.takenBy.includes(model)
      expect([model, await codeOf(fields, [part(png)])]).toEqual([model, isTaken ? 0 : 2])
      // To draw takes time: one picture is enough.
      if (isTaken && model !== row.takenBy[0]) continue
      const { status } = await edit(sandbox, fields, [part(png)])
      expect([model, status]).toEqual([model, isTaken ? 200 : 400])
    }
  })

  test('model C is no model of an edit', async () => {
    expect(await answers({ model: modelC, prompt: 'x' }, [part(png)])).toEqual(refused)
  })

  test('image and prompt are required', async () => {
    expect(await answers({ prompt: 'a boat' }, [])).toEqual(refused)
    expect(await answers({}, [part(png)])).toEqual(refused)
  })

  test.each([
    ['png', png, taken],
    ['jpeg', jpeg, refused],
    ['webp', webp, refused],
  ])('image: %s for the models A; for B only png', async (kind, bytes, ofB) => {
    const files = [part(bytes, 'image', `image/${kind}`)]
    expect(await answers({ model: modelA, prompt: 'x' }, files)).toEqual(taken)
    expect(await codeOf({ model: miniA, prompt: 'x' }, files)).toBe(0)
    expect(await answers({ model: modelB, prompt: 'x' }, files)).toEqual(ofB)
  })

  test.each([
    [modelA, 16],
    [miniA, 16],
    [modelB, 1],
  ])('%s: an array of at most %i images', async (model, most) => {
    const many = Array.from({ length: most }, () => part(png, most === 1 ? 'image' : 'image[]'))
    expect(await answers({ model, prompt: 'x' }, many)).toEqual(taken)
    expect(await answers({ model, prompt: 'x' }, [...many, part(png, 'image[]')])).toEqual(refused)
  })

  test('model B: a square image', async () => {
    const wide = [part(pngBytes({ width: 64, height: 32 }))]
    expect(await answers({ model: modelB, prompt: 'x' }, wide)).toEqual(refused)
  })

  // For the models A in `large-pictures.ci.test.ts`.
  test('model B: an image under 4000000 bytes', async () => {
    const fields = { model: modelB, prompt: 'x' }
    expect(await answers(fields, [part(paddedPng(png, 3_999_999))])).toEqual(taken)
    expect(await answers(fields, [part(paddedPng(png, 4_000_000))])).toEqual(refused)
  })

  test('mask: a valid PNG under 4 MB, same dimensions as the image', async () => {
    const mask = await maskPng(64)
    const rows: readonly [string, Uint8Array, number[]][] = [
      ['good', mask, taken],
      ['just under 4 MB', paddedPng(mask, 3_999_999), taken],
      ['4 MB', paddedPng(mask, 4_000_000), refused],
      ['other dimensions', await maskPng(32), refused],
      ['cut', mask.subarray(0, 200), refused],
      ['JPEG', jpeg, refused],
    ]
    for (const [name, bytes, expected] of rows) {
      const files = [part(png), part(bytes, 'mask')]
      expect([name, await answers({ model: modelA, prompt: 'x' }, files)]).toEqual([name, expected])
    }
  })

  test('mask: with several images it applies to the first', async () => {
    const two = [part(png, 'image[]'), part(small.png, 'image[]')]
    const mask = part(await maskPng(64), 'mask')
    expect(await answers({ model: modelA, prompt: 'x' }, [...two, mask])).toEqual(taken)
    expect(await answers({ model: modelA, prompt: 'x' }, [...two.toReversed(), mask])).toEqual(refused)
  })

  test('mask: its fully transparent areas are the region that is edited', async () => {
    const side = 256
    const [source, mask] = [(await testImages(side)).png, await maskPng(side)]
    const sandbox = await runningSandbox()
    const fields = { model: modelB, prompt: 'hills', size: '256x256', response_format: 'b64_json' }
    const { json: answer } = await edit(sandbox, fields, [part(source), part(mask, 'mask')])
    const edited = await pixelsOf(answer.data[0])
    const isOpen = (x: number, y: number) => Math.abs(x - 128) < 64 && Math.abs(y - 128) < 64
    expect(largestDifference(edited, testPicture(side, side), (x, y) => !isOpen(x, y))).toBe(0)
    expect(largestDifference(edited, testPicture(side, side), isOpen)).toBeGreaterThan(60)
  })

  test.each<[model: string, fields: Json, field: string]>([
    [modelB, {}, 'url'],
    [modelB, { size: '256x256', user: 'ann', n: 1 }, 'url'],
    [modelA, { background: 'opaque' }, 'b64_json'],
    [modelA, { output_format: 'png' }, 'b64_json'],
    [modelA, { output_compression: 50, output_format: 'webp' }, 'b64_json'],
    [modelA, { input_fidelity: 'low' }, 'b64_json'],
  ])('the model defaults to %s with %j', async (model, fields, field) => {
    const { json: answer } = await edit(await runningSandbox(), { prompt: 'x', ...fields }, [part(png)])
    expect(Object.keys(answer.data[0])).toEqual([field])
    writeFiles(folder, { 'a.png': png })
    const words = ['image', 'edit', '--image', join(folder, 'a.png'), ...setFlags(fields), 'x']
    const { code, err, request } = await requestOf(words)
    expect([code, err]).toEqual([0, expect.stringMatching(new RegExp(`\\b${model}\\b(?!-)`))])
    expect(request.parts.map(({ name }: Json) => name)).not.toContain('model')
  })

  test('size defaults to 1024x1024', async () => {
    const sandbox = await runningSandbox()
    for (const model of [modelA, modelB]) {
      const fields = { prompt: 'x', model, ...(model === modelB && { response_format: 'b64_json' }) }
      const { json: answer } = await edit(sandbox, fields, [part(png)])
      expect(await pixelsOf(answer.data[0])).toMatchObject({ width: 1024, height: 1024 })
    }
  })

  test('the result of model A has its fields and usage, that of B has not', async () => {
    const sandbox = await runningSandbox()
    const fields = { prompt: 'x', quality: 'low', output_format: 'webp' }
    const { json: answer } = await edit(sandbox, { model: modelA, ...fields }, [part(png)])
    expect(answer).toMatchObject({ created: isInteger, quality: 'low', output_format: 'webp' })
    expect(answer.usage.input_tokens_details.image_tokens).toBeGreaterThan(0)
    const legacy = await edit(sandbox, { model: modelB, prompt: 'x' }, [part(png)])
    expect(Object.keys(legacy.json).toSorted()).toEqual(['created', 'data'])
  })

  test('the request is multipart/form-data with the fields of the specification', async () => {
    writeFiles(folder, { 'a.png': png, 'mask.png': await maskPng(64) })
    const files = ['--image', join(folder, 'a.png'), '--mask', join(folder, 'mask.png')]
    const flags = ['--input-fidelity', 'high', '-n', '2', '--set', 'size=null']
    const { request, err } = await requestOf(['image', 'edit', '-m', modelA, ...files, ...flags, 'a boat'])
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
