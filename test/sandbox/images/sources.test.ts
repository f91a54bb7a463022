import { expect, test } from 'vitest'
import { pngBytes } from '../../support/image-bytes.ts'
import { edit, part, type FilePart } from '../../support/image-calls.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { maskPng, testImages } from '../../support/test-images.ts'

// What is taken and what is refused, by model: `specification/image-edits.test.ts`. These are the words.

const { png, jpeg } = await testImages(64)
const mask = await maskPng(64)
const a = 'image-model-a'
const many = (count: number) => Array.from({ length: count }, () => part(png, 'image[]'))
const masked = (...masks: readonly Uint8Array[]) => [part(png), ...masks.map((bytes) => part(bytes, 'mask'))]

const types = 'image/png, image/webp, image/jpeg'
const noImage = `image: Invalid 'image': must be an image of type ${types} by its bytes.`

test.each<[words: string, model: string, files: readonly FilePart[], fields?: Json]>([
  ["image: Missing required parameter: 'image'.", a, []],
  ["image: Invalid 'image': must be at most 16 files, not 17.", a, many(17)],
  [
    `image: Invalid 'image': must be sent as ${types}, not as image/gif.`,
    a,
    [part(png, 'image', 'image/gif')],
  ],
  [noImage, a, [part(Buffer.from('<html>'))]],
  [noImage, a, [part(png.subarray(0, 20))]],
  [
    noImage.replaceAll("'image'", "'image[1]'").replace('image:', 'image[1]:'),
    a,
    [part(png, 'image[]'), part(Buffer.from('no'), 'image[]')],
  ],
  ["image: Invalid 'image': is a damaged image/png.", a, [part(png.subarray(0, 90))]],
  [
    "image: Invalid 'image': must have at most 40000000 pixels in the sandbox, not 30000x30000.",
    a,
    [part(pngBytes({ width: 30_000, height: 30_000, rows: [] }))],
  ],
  ["picture: Unknown parameter: 'picture'.", a, [part(png), part(png, 'picture')]],
  ["image: Invalid 'image': must be a file.", a, [], { image: 'a.png' }],
  ["mask: Invalid 'mask': must be a file.", a, [part(png)], { mask: 'a.png' }],
  ["mask: Invalid 'mask': must be one file.", a, masked(mask, mask)],
  [
    "mask: Invalid 'mask': must be sent as image/png, not as text/plain.",
    a,
    [part(png), part(mask, 'mask', 'text/plain')],
  ],
  [
    "mask: Invalid 'mask': must have an alpha channel.",
    a,
    masked(pngBytes({ width: 64, height: 64, colourType: 2 })),
  ],
])('%s (%s)', async (words, model, files, fields = {}) => {
  const sandbox = await runningSandbox()
  const { status, json } = await edit(sandbox, { prompt: 'a dot', model, ...fields }, files)
  expect([status, `${json.error.param}: ${json.error.message}`]).toEqual([400, words])
  expect(sandbox.created()).toBe(0)
})

test.each<[what: string, files: readonly FilePart[]]>([
  ['a mask before its image', masked(mask).toReversed()],
  ['a JPEG that is sent as a PNG', [part(jpeg)]],
])('%s is taken', async (_, files) => {
  const { status } = await edit(await runningSandbox(), { prompt: 'a dot', model: a }, files)
  expect(status).toBe(200)
})
