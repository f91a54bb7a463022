import { expect, test } from 'vitest'
import { familyCalled } from '../../../src/contract/families.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { create, edit, part, type FilePart } from '../../support/image-calls.ts'
import { runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { maskPng, testImages } from '../../support/test-images.ts'

// What is taken and what is refused, by model: `specification/image-edits.test.ts`. These are the words.

const { png, jpeg } = await testImages(64)
const mask = await maskPng(64)
const a = 'image-model-a'
const many = (count: number) => Array.from({ length: count }, () => part(png, 'image[]'))
const masked = (...masks: readonly Uint8Array[]) => [part(png), ...masks.map((bytes) => part(bytes, 'mask'))]

const types = 'image/png, image/webp, image/jpeg'
const no = Buffer.from('no')
const noImage = `must be an image of type ${types} by its bytes.`
const vast = [part(pngBytes({ width: 30_000, height: 30_000, rows: [] }))]
const opaque = pngBytes({ width: 64, height: 64, colourType: 2 })

const asText = [part(png), part(mask, 'mask', 'text/plain')]

test.each<[words: string, files: readonly FilePart[], fields?: Json]>([
  ["image: Missing required parameter: 'image'.", []],
  ["image: Invalid 'image': must be at most 16 files, not 17.", many(17)],
  [`image: Invalid 'image': must be sent as ${types}, not as image/gif.`, [part(png, 'image', 'image/gif')]],
  [`image: Invalid 'image': ${noImage}`, [part(no)]],
  [`image: Invalid 'image': ${noImage}`, [part(png.subarray(0, 20))]],
  [`image[1]: Invalid 'image[1]': ${noImage}`, [...many(1), part(no, 'image[]')]],
  ["image: Invalid 'image': is a damaged image/png.", [part(png.subarray(0, 90))]],
  ["image: Invalid 'image': must have at most 40000000 pixels in the sandbox, not 30000x30000.", vast],
  ["picture: Unknown parameter: 'picture'.", [part(png), part(png, 'picture')]],
  ["image: Invalid 'image': must be a file.", [], { image: 'a.png' }],
  ["mask: Invalid 'mask': must be a file.", [part(png)], { mask: 'a.png' }],
  ["mask: Invalid 'mask': must be one file.", masked(mask, mask)],
  ["mask: Invalid 'mask': must be sent as image/png, not as text/plain.", asText],
  ["mask: Invalid 'mask': must have an alpha channel.", masked(opaque)],
])('%s', async (words, files, fields = {}) => {
  const sandbox = await runningSandbox()
  const { status, json } = await edit(sandbox, { prompt: 'a dot', model: a, ...fields }, files)
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

test('a model has the family that the configuration gives it', async () => {
  const families = { fast: familyCalled('image-model-b'), 'dall-e-3': null }
  const sandbox = await runningSandbox({ families })
  const refused = await create(sandbox, { model: 'fast', prompt: 'a dot', size: '640x480' })
  expect(refused.json.error.message).toBe(
    `Invalid 'size': must be one of 256x256, 512x512, 1024x1024 for fast (image-model-b), not "640x480".`,
  )
  expect((await create(sandbox, { model: 'dall-e-3', prompt: 'a dot', size: '640x480' })).status).toBe(200)
})

test.each([
  [{ size: 'huge' }, 'size'],
  [{ size: '10000x10000' }, 'size'],
  [{ size: '0x10' }, 'size'],
  [{ output_format: 'avif' }, 'output_format'],
])('of a model of no family, the sandbox says what it cannot make: %j', async (wish, param) => {
  const { status, json } = await create(await runningSandbox(), { model: 'flux', prompt: 'a dot', ...wish })
  expect([status, json.error.param]).toEqual([400, param])
  expect(json.error.message).toContain('in the sandbox')
})
