import { describe, expect, test } from 'vitest'
import { encodePng } from '../../../src/files/codecs.ts'
import { readImageInfo } from '../../../src/files/image-info.ts'
import { bytesOf, create, edit, part, pixelsOf } from '../../support/image-calls.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import {
  largestDifference,
  maskPng,
  meanDifference,
  testImages,
  testPicture,
} from '../../support/test-images.ts'

const modelA = { model: 'image-model-a', prompt: 'hills at dusk', quality: 'low' }
const plain = { model: 'my-own', prompt: 'hills at dusk', size: '256x256', response_format: 'b64_json' }

async function firstOf(body: Json, seed = 1) {
  const sandbox = await runningSandbox({ seed })
  const { json } = await create(sandbox, body)
  return pixelsOf(json.data[0])
}

describe('the size asked for', () => {
  test.each(['256x256', '1024x1792', '480x1440', 'auto'])('%s when created', async (size) => {
    const { json } = await create(await runningSandbox(), { ...plain, size, quality: 'low' })
    const { width, height } = await pixelsOf(json.data[0])
    expect(`${width}x${height}`).toBe(size === 'auto' ? '1024x1024' : size)
  })

  test.each(['256x256', '1536x864'])('%s when edited', async (size) => {
    const sandbox = await runningSandbox()
    const { json } = await edit(sandbox, { ...plain, size }, [part((await testImages(40, 30)).png)])
    const { width, height } = await pixelsOf(json.data[0])
    expect(`${width}x${height}`).toBe(size)
  })

  test.each([
    [64, 64, '1024x1024'],
    [90, 60, '1536x1024'],
    [40, 90, '1024x1536'],
    [70, 64, '1024x1024'],
  ])('auto, for a source of %d x %d', async (width, height, size) => {
    const sandbox = await runningSandbox()
    const { png } = await testImages(width, height)
    for (const asked of [{ size: 'auto' }, {}]) {
      const { json } = await edit(sandbox, { ...modelA, ...asked }, [part(png)])
      expect(json.size).toBe(size)
      expect(readImageInfo(bytesOf(json.data[0]))).toMatchObject({
        width: Number(size.split('x')[0]),
        height: Number(size.split('x')[1]),
      })
    }
  })
})

test.each(['jpeg', 'webp'])('output_compression is the quality that is left of a %s', async (format) => {
  const sandbox = await runningSandbox()
  const lengths: number[] = []
  for (const output_compression of [0, 50, 100]) {
    const { json } = await create(sandbox, { ...plain, output_format: format, output_compression })
    lengths.push(json.data[0].b64_json.length)
  }
  expect(lengths).toEqual([...lengths].sort((a, b) => a - b))
  expect(lengths[2]).toBeGreaterThan(2 * lengths[0]!)
})

test('the same prompt and seed give the same bytes; another of either, and every image of several, look different', async () => {
  const sandbox = await runningSandbox()
  const [first, again, other] = [
    await create(sandbox, { ...plain, n: 3 }),
    await create(await runningSandbox(), { ...plain, n: 3 }),
    await create(sandbox, { ...plain, prompt: 'a boat on a lake' }),
  ]
  expect(again.json.data).toEqual(first.json.data)
  const pictures = await Promise.all([...first.json.data, ...other.json.data].map(pixelsOf))
  pictures.push(await firstOf(plain, 2))
  for (const [index, one] of pictures.entries()) {
    for (const two of pictures.slice(index + 1)) expect(meanDifference(one, two)).toBeGreaterThan(8)
  }
})

test('natural is quieter in its colours than vivid', async () => {
  const colourfulness = async (style: string) => {
    const { data } = await firstOf({ ...plain, prompt: 'blue sea at noon', style })
    return data.reduce((sum, _, at) => (at % 4 === 0 ? sum + Math.abs(data[at]! - data[at + 2]!) : sum), 0)
  }
  expect(await colourfulness('natural')).toBeLessThan(0.8 * (await colourfulness('vivid')))
})

test.each(['png', 'webp'])('a transparent background is alpha in the %s itself', async (output_format) => {
  const sandbox = await runningSandbox()
  const { json } = await create(sandbox, { ...modelA, background: 'transparent', output_format })
  expect(json.background).toBe('transparent')
  const { data, width, height } = await pixelsOf(json.data[0])
  expect(data[3]).toBe(0)
  expect(data[(width * (height / 2) + width / 2) * 4 + 3]).toBe(255)
  const solid = await create(sandbox, { ...modelA, background: 'opaque', output_format })
  expect(solid.json.background).toBe('opaque')
  const opaque = await pixelsOf(solid.json.data[0])
  expect(opaque.data.every((value, at) => at % 4 !== 3 || value === 255)).toBe(true)
})

describe('an edit', async () => {
  const side = 256
  const size = '256x256'
  const { png } = await testImages(side)
  const mask = await maskPng(side)
  const isOpen = (x: number, y: number) => Math.abs(x / side - 0.5) < 0.25 && Math.abs(y / side - 0.5) < 0.25

  test('with a mask that is nowhere fully transparent changes nothing', async () => {
    const sandbox = await runningSandbox()
    const closed = await encodePng(testPicture(side, side, () => 1))
    const { json } = await edit(sandbox, { ...plain, size }, [part(png), part(closed, 'mask')])
    expect(largestDifference(await pixelsOf(json.data[0]), testPicture(side, side))).toBe(0)
  })

  test('keeps to the mask when the result has another size', async () => {
    const sandbox = await runningSandbox()
    const { json } = await edit(sandbox, { ...plain, size: '512x512' }, [part(png), part(mask, 'mask')])
    const edited = await pixelsOf(json.data[0])
    const untouched = await edit(sandbox, { ...plain, size: '512x512' }, [
      part(png),
      part(await encodePng(testPicture(side, side)), 'mask'),
    ])
    const whole = await pixelsOf(untouched.json.data[0])
    const isInside = (x: number, y: number) => isOpen(x / 2, y / 2)
    expect(largestDifference(edited, whole, (x, y) => !isInside(x, y))).toBe(0)
    expect(largestDifference(edited, whole, isInside)).toBeGreaterThan(60)
  })
})
