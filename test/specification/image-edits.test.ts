import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { pngBytes } from '../support/image-bytes.ts'
import { edit, part, pixelsOf, type FilePart } from '../support/image-calls.ts'
import { runningSandbox, type Json } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { largestDifference, maskPng, paddedPng, testImages, testPicture } from '../support/test-images.ts'
import {
  anyA,
  familyDifferences,
  isInteger,
  miniA,
  modelA,
  modelB,
  modelC,
  requestOf,
  rowsOf,
  setFlags,
} from './both-sides.ts'

// Endpoint 6 of the specification, and what its Limits say of it, row by row.

const models = [modelA, miniA, modelB]

const editRows = [
  ...rowsOf(anyA, {
    background: ['transparent', 'opaque', 'auto'],
    output_format: ['png', 'jpeg', 'webp'],
    quality: ['high', 'medium', 'low'],
    size: ['1536x1024', '1024x1536', 'auto'],
    prompt: ['x'.repeat(1001), 'x'.repeat(32_000)],
  }),
  ...rowsOf(anyA, { output_compression: [80], background: ['transparent'] }, { output_format: 'webp' }),
  ...rowsOf(anyA, { output_compression: [100] }, { output_format: 'jpeg' }),
  ...rowsOf([modelA], { input_fidelity: ['high', 'low'] }),
  ...rowsOf([modelB], {
    quality: ['standard'],
    response_format: ['url', 'b64_json'],
    size: ['256x256', '512x512'],
  }),
  ...rowsOf(models, {
    quality: ['auto'],
    size: ['1024x1024'],
    n: [1, 10],
    user: ['ann'],
    stream: [true],
    prompt: ['x'.repeat(1000)],
  }),
  ...rowsOf(models, { partial_images: [3] }, { stream: true }),
  ...rowsOf([], { partial_images: [4] }, { stream: true }),
  ...rowsOf([], { output_compression: [80] }, { output_format: 'png' }),
  ...rowsOf([], { output_compression: [101] }, { output_format: 'webp' }),
  ...rowsOf([], { background: ['transparent'] }, { output_format: 'jpeg' }),
  ...rowsOf([], {
    output_compression: [80],
    quality: ['hd', 'some'],
    size: ['1792x1024', 'some'],
    n: [0, 11],
    prompt: ['x'.repeat(32_001)],
  }),
  ...['background', 'output_format', 'response_format', 'input_fidelity'].flatMap((field) =>
    rowsOf([], { [field]: ['some'] }),
  ),
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

  test.each(editRows)('%s', async (_, row) => {
    const sandbox = await runningSandbox()
    const statusOf = async (fields: Json) => (await edit(sandbox, fields, [part(png)])).status
    const codeOfPng = (fields: Json) => codeOf(fields, [part(png)])
    expect(await familyDifferences(row, models, codeOfPng, statusOf)).toEqual([])
  })

  test('image and prompt are required, and model C is no model of an edit', async () => {
    expect(await answers({ prompt: 'a boat' }, [])).toEqual(refused)
    expect(await answers({}, [part(png)])).toEqual(refused)
    expect(await answers({ model: modelC, prompt: 'x' }, [part(png)])).toEqual(refused)
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

  // For the models A in `large-pictures.ci.test.ts`.
  test('model B: a square image under 4000000 bytes', async () => {
    const fields = { model: modelB, prompt: 'x' }
    expect(await answers(fields, [part(pngBytes({ width: 64, height: 32 }))])).toEqual(refused)
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

  test('the result of model A has its fields and usage, that of B has not; size defaults to 1024x1024', async () => {
    const sandbox = await runningSandbox()
    const fields = { model: modelA, prompt: 'x', quality: 'low', output_format: 'webp' }
    const { json: answer } = await edit(sandbox, fields, [part(png)])
    expect(answer).toMatchObject({ created: isInteger, quality: 'low', output_format: 'webp' })
    expect(answer.usage.input_tokens_details.image_tokens).toBeGreaterThan(0)
    const ofB = { model: modelB, prompt: 'x', response_format: 'b64_json' }
    const { json: legacy } = await edit(sandbox, ofB, [part(png)])
    expect(Object.keys(legacy).toSorted()).toEqual(['created', 'data'])
    for (const { data } of [answer, legacy])
      expect(await pixelsOf(data[0])).toMatchObject({ width: 1024, height: 1024 })
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
    const fields = ['image', 'input_fidelity=high', 'mask', `model=${modelA}`, 'n=2', 'prompt=a boat']
    expect(parts.toSorted()).toEqual(fields)
  })
})
