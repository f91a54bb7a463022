import { BadRequestError, toFile } from 'openai'
import { expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { maskPng, testImages } from '../../support/test-images.ts'
import { all, openaiClient } from './all.ts'

const { png } = await testImages(64)
const mask = await maskPng(64)

const asFile = (bytes: Uint8Array, name: string) => toFile(bytes, name, { type: 'image/png' })

async function sizeOf(base64: string | undefined): Promise<string> {
  const { width, height } = await decodeImage(Buffer.from(base64 ?? '', 'base64'), 'image/png')
  return `${width}x${height}`
}

test('images in base64', async () => {
  const { client } = await openaiClient()
  const size = '1536x1024'
  const wishes = { model: 'gpt-image-2', prompt: 'a quiet lake', n: 2, size, quality: 'low' } as const
  const { data, usage } = await client.images.generate(wishes)
  expect([data!.length, usage!.output_tokens]).toEqual([2, 800])
  expect(await sizeOf(data![1]!.b64_json)).toBe('1536x1024')
})

test('images behind URLs', async () => {
  const { client } = await openaiClient()
  const wishes = { model: 'dall-e-3', prompt: 'a quiet lake', style: 'natural' } as const
  const { data } = await client.images.generate(wishes)
  expect(data![0]!.revised_prompt).toContain('a quiet lake')
  const image = await fetch(data![0]!.url!)
  expect(await sizeOf(Buffer.from(await image.arrayBuffer()).toString('base64'))).toBe('1024x1024')
})

test('image edits, with a mask and with several sources', async () => {
  const { client, sandbox } = await openaiClient()
  const [a, b] = [await asFile(png, 'a.png'), await asFile(png, 'b.png')]
  const masking = await asFile(mask, 'm.png')
  const wishes = { model: 'gpt-image-2', prompt: 'a quiet lake', quality: 'low' } as const
  const one = await client.images.edit({ ...wishes, image: a, mask: masking, input_fidelity: 'high' })
  expect(await sizeOf(one.data![0]!.b64_json)).toBe('1024x1024')
  const several = await client.images.edit({ ...wishes, image: [a, b, a], n: 2 })
  expect(several.data).toHaveLength(2)
  expect(several.usage!.input_tokens_details.image_tokens).toBe(3 * 194)
  expect(sandbox.created('image-edits')).toBe(2)
})

test('images with every parameter', async () => {
  const { client } = await openaiClient()
  const said = { background: 'opaque', output_format: 'webp', quality: 'low', size: '1024x1536' } as const
  const others = { model: 'gpt-image-1', n: 2, output_compression: 50, user: 'user-1' }
  const wishes = { prompt: 'a quiet lake', ...said, ...others }
  expect(await client.images.generate({ ...wishes, moderation: 'auto' })).toMatchObject(said)
  const image = await asFile(png, 'a.png')
  expect(await client.images.edit({ ...wishes, image, input_fidelity: 'low' })).toMatchObject(said)
})

test('streams of images and edits', async () => {
  const { client } = await openaiClient()
  const model = 'gpt-image-2'
  const wishes = { model, prompt: 'a lake', quality: 'low', stream: true, partial_images: 1 } as const
  const events = [
    ...(await all(await client.images.generate(wishes))),
    ...(await all(await client.images.edit({ ...wishes, image: await asFile(png, 'a.png') }))),
  ]
  for (const event of events) expect(await sizeOf(event.b64_json)).toBe('1024x1024')
  expect(events.map(({ type }) => type)).toEqual([
    'image_generation.partial_image',
    'image_generation.completed',
    'image_edit.partial_image',
    'image_edit.completed',
  ])
})

test('errors of images, before and in a stream', async () => {
  const { client } = await openaiClient()
  const refused = client.images.generate({ model: 'gpt-image-2', prompt: 'sandbox:refusal' })
  await expect(refused).rejects.toBeInstanceOf(BadRequestError)
  await expect(refused).rejects.toMatchObject({ code: 'moderation_blocked' })
  const unnamed = client.images.edit({ prompt: 'a lake', image: await toFile(png, 'a') })
  await expect(unnamed).rejects.toMatchObject({ status: 400, param: 'image' })
  const wishes = { model: 'gpt-image-2', prompt: 'sandbox:error', stream: true, partial_images: 2 } as const
  await expect(all(await client.images.generate(wishes))).rejects.toThrow('broke off')
})

test('image variations: not offered', async () => {
  const { client } = await openaiClient()
  const image = await asFile(png, 'a.png')
  await expect(client.images.createVariation({ image })).rejects.toMatchObject({ status: 404 })
})

test.each([
  ['response_format of gpt-image models', { model: 'gpt-image-1', response_format: 'b64_json' }],
  ['partial_images of null', { model: 'gpt-image-1', partial_images: null as unknown as number }],
] as const)('%s: refused', async (_, more) => {
  const { client } = await openaiClient()
  const [, param] = Object.keys(more)
  const asked = client.images.generate({ prompt: 'a lake', ...more })
  await expect(asked).rejects.toMatchObject({ status: 400, param })
})
