import { expect, test } from 'vitest'
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
  const { json } = await create(await runningSandbox({ seed }), body)
  return pixelsOf(json.data[0])
}

test.each(['256x256', '1024x1792', '480x1440', 'auto'])('the size %s when created', async (size) => {
  const { width, height } = await firstOf({ ...plain, size })
  expect(`${width}x${height}`).toBe(size === 'auto' ? '1024x1024' : size)
})

test.each([
  [64, 64, '1024x1024'],
  [90, 60, '1536x1024'],
  [40, 90, '1024x1536'],
  [70, 64, '1024x1024'],
])('the size auto for a source of %d x %d, also where none is asked for', async (width, height, size) => {
  const { png } = await testImages(width, height)
  for (const asked of [{ size: 'auto' }, {}]) {
    const { json } = await edit(await runningSandbox(), { ...modelA, ...asked }, [part(png)])
    const info = readImageInfo(bytesOf(json.data[0]))!
    expect([json.size, `${info.width}x${info.height}`]).toEqual([size, size])
  }
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
  const first = await create(sandbox, { ...plain, n: 3 })
  const again = await create(await runningSandbox(), { ...plain, n: 3 })
  const other = await create(sandbox, { ...plain, prompt: 'a boat on a lake' })
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
  const { data, width, height } = await firstOf({ ...modelA, background: 'transparent', output_format })
  expect([data[3], data[(width * (height / 2) + width / 2) * 4 + 3]]).toEqual([0, 255])
  const opaque = await firstOf({ ...modelA, background: 'opaque', output_format })
  expect(opaque.data.every((value, at) => at % 4 !== 3 || value === 255)).toBe(true)
})

test('an edit keeps to the mask, also when the result has another size', async () => {
  const [side, sandbox] = [256, await runningSandbox()]
  const [source, whole] = [testPicture(side, side), part((await testImages(side)).png)]
  const edited = async (size: string, mask: Uint8Array) => {
    const { json } = await edit(sandbox, { ...plain, size }, [whole, part(mask, 'mask')])
    return pixelsOf(json.data[0])
  }
  // Nowhere fully transparent.
  const closed = await encodePng(testPicture(side, side, () => 1))
  expect(largestDifference(await edited('256x256', closed), source)).toBe(0)
  const [large, untouched] = [await edited('512x512', await maskPng(side)), await edited('512x512', closed)]
  const isInside = (x: number, y: number) => Math.abs(x / 512 - 0.5) < 0.25 && Math.abs(y / 512 - 0.5) < 0.25
  expect(largestDifference(large, untouched, (x, y) => !isInside(x, y))).toBe(0)
  expect(largestDifference(large, untouched, isInside)).toBeGreaterThan(60)
})
