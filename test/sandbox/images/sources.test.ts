import { beforeAll, describe, expect, test } from 'vitest'
import { maskLimits } from '../../../src/contract/images.ts'
import { encodePng } from '../../../src/files/codecs.ts'
import { gifBytes, pngBytes } from '../../support/image-bytes.ts'
import { edit, part, type FilePart } from '../../support/image-calls.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { maskPng, paddedPng, testImages, testPicture } from '../../support/test-images.ts'

type Files = Awaited<ReturnType<typeof testImages>>
let small: Files
let mask: Uint8Array
beforeAll(async () => {
  small = await testImages(64)
  mask = await maskPng(64)
})

const prompt = 'a dot'

/** Asks for an edit with these files and says what became of it: the words of the refusal, or `accepted`. */
async function outcome(model: string, files: readonly FilePart[], more: Json = {}): Promise<string> {
  const sandbox = await runningSandbox()
  const { status, json } = await edit(sandbox, { prompt, model, ...more }, files)
  expect(sandbox.created()).toBe(status === 200 ? 1 : 0)
  if (status === 200) return 'accepted'
  expect(status).toBe(400)
  return `${json.error.param}: ${json.error.message}`
}

/** Specification, Limits. */
const current = {
  maxCount: 16,
  mediaTypes: ['image/png', 'image/webp', 'image/jpeg'],
  square: false,
}
const legacy = { maxCount: 1, mediaTypes: ['image/png'], square: true }
const models = [
  ['image-model-a', current],
  ['image-model-a-mini', current],
  ['image-model-b', legacy],
  ['gpt-image-2', current],
] as const
const usual = (model: string) => (model === 'image-model-b' ? { size: '256x256' } : { quality: 'low' })

describe.each(models)('%s', (model, limits) => {
  test('as many images as it takes, and one more', async () => {
    const files = (count: number) => Array.from({ length: count }, () => part(small.png, 'image[]'))
    expect(await outcome(model, files(limits.maxCount), usual(model))).toBe('accepted')
    expect(await outcome(model, files(limits.maxCount + 1))).toContain(
      `image: Invalid 'image': must be at most ${limits.maxCount === 1 ? '1 file,' : '16 files,'}`,
    )
    expect(await outcome(model, [])).toBe("image: Missing required parameter: 'image'.")
  })

  test.each(['png', 'jpeg', 'webp'] as const)('%s by its bytes and by its declared type', async (format) => {
    const type = `image/${format}`
    const isTaken = limits.mediaTypes.includes(type)
    const answer = await outcome(model, [part(small[format], 'image', type)], usual(model))
    expect(answer).toContain(
      isTaken ? 'accepted' : `image: Invalid 'image': must be sent as ${limits.mediaTypes.join(', ')}`,
    )
    // The bytes decide: a type that is only declared does not help.
    const disguised = await outcome(model, [part(small[format], 'image', 'image/png')], usual(model))
    expect(disguised).toContain(isTaken ? 'accepted' : 'by its bytes')
  })

  test('a part that declares no type of image', async () => {
    for (const type of ['application/octet-stream', 'text/plain', 'image/gif']) {
      expect(await outcome(model, [part(small.png, 'image', type)])).toContain('must be sent as image/png')
    }
  })

  test('bytes that are no image', async () => {
    for (const bytes of [Buffer.from('<html>'), Buffer.alloc(0), gifBytes(), small.png.subarray(0, 20)]) {
      expect(await outcome(model, [part(bytes)])).toContain(
        "image: Invalid 'image': must be an image of type",
      )
    }
    expect(await outcome(model, [part(small.png.subarray(0, 90))])).toContain('is a damaged image/png')
  })

  test('an image that is not square', async () => {
    const { png } = await testImages(64, 65)
    const answer = await outcome(model, [part(png)], usual(model))
    expect(answer).toBe(limits.square ? "image: Invalid 'image': must be square, not 64x65." : 'accepted')
  })
})

// Of 50 MB in `specification/large-pictures.ci.test.ts`.
test('image-model-b: an image as large as it takes, and one byte more', async () => {
  const [model, most] = ['image-model-b', 3_999_999]
  expect(await outcome(model, [part(paddedPng(small.png, most))], usual(model))).toBe('accepted')
  expect(await outcome(model, [part(paddedPng(small.png, most + 1))])).toContain(
    'must be smaller than 4000000 bytes',
  )
})

describe('the mask', () => {
  const withMask = (bytes: Uint8Array, type = 'image/png') =>
    outcome('image-model-a', [part(small.png), part(bytes, 'mask', type)], { quality: 'low' })

  test('is a PNG with alpha and the dimensions of the image', async () => {
    expect(await withMask(mask)).toBe('accepted')
    expect(await withMask(await maskPng(64, 63))).toBe(
      "mask: Invalid 'mask': must be 64x64 as the first image, not 64x63.",
    )
    const { png } = await testImages(65, 64)
    expect(await withMask(png)).toContain('must be 64x64 as the first image, not 65x64')
  })

  test('is a PNG by its bytes and by its declared type', async () => {
    expect(await withMask(small.webp, 'image/webp')).toContain('mask: ')
    expect(await withMask(small.webp)).toContain("mask: Invalid 'mask': must be an image of type image/png")
    expect(await withMask(mask, 'application/octet-stream')).toContain('must be sent as image/png')
  })

  test('has an alpha channel', async () => {
    expect(await withMask(pngBytes({ width: 64, height: 64, colourType: 2 }))).toBe(
      "mask: Invalid 'mask': must have an alpha channel.",
    )
  })

  test('is as large as it may be, and one byte larger', async () => {
    expect(await withMask(paddedPng(mask, maskLimits.below - 1))).toBe('accepted')
    expect(await withMask(paddedPng(mask, maskLimits.below))).toContain(
      `mask: Invalid 'mask': must be smaller than ${maskLimits.below} bytes`,
    )
  })

  test('is one, and may come before the image', async () => {
    const twice = [part(small.png), part(mask, 'mask'), part(mask, 'mask')]
    expect(await outcome('image-model-a', twice)).toBe("mask: Invalid 'mask': must be one file.")
    const early = [part(mask, 'mask'), part(small.png)]
    expect(await outcome('image-model-a', early, { quality: 'low' })).toBe('accepted')
  })

  test('counts for the first of several images', async () => {
    const { png } = await testImages(32)
    const files = [part(small.png, 'image[]'), part(png, 'image[]'), part(mask, 'mask')]
    expect(await outcome('image-model-a', files, { quality: 'low' })).toBe('accepted')
    const turned = [part(png, 'image[]'), part(small.png, 'image[]'), part(mask, 'mask')]
    expect(await outcome('image-model-a', turned)).toContain('must be 32x32 as the first image')
  })
})

test('several images are told apart in a refusal', async () => {
  const files = [part(small.png, 'image[]'), part(Buffer.from('no'), 'image[]')]
  expect(await outcome('image-model-a', files)).toContain("image[1]: Invalid 'image[1]'")
})

test('a file under another name, and text in place of a file', async () => {
  expect(await outcome('image-model-a', [part(small.png), part(small.png, 'picture')])).toBe(
    "picture: Unknown parameter: 'picture'.",
  )
  expect(await outcome('image-model-a', [], { image: 'a.png' })).toBe(
    "image: Invalid 'image': must be a file.",
  )
  expect(await outcome('image-model-a', [part(small.png)], { mask: 'a.png' })).toContain('must be a file')
})

test('an image of more pixels than the sandbox has memory for is refused by its header', async () => {
  const bomb = pngBytes({ width: 30_000, height: 30_000, rows: [] })
  expect(await outcome('image-model-a', [part(bomb)])).toContain('must have at most 40000000 pixels')
})

test('no model is model B, unless a parameter of model A is used', async () => {
  const { png } = await testImages(64, 65)
  const sandbox = await runningSandbox()
  const refused = await edit(sandbox, { prompt }, [part(png)])
  expect(refused.json.error.message).toContain('must be square')
  const accepted = await edit(sandbox, { prompt, output_format: 'jpeg' }, [part(png)])
  expect(accepted.json.output_format).toBe('jpeg')
  const legacy = await edit(sandbox, { prompt, size: '256x256' }, [part(await encodePng(testPicture(8, 8)))])
  expect(legacy.json.data[0].url).toContain('/sandbox/images/')
})
