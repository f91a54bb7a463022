import { BadRequestError, toFile } from 'openai'
import { expect, test } from 'vitest'
import { decodeImage } from '../../../src/files/codecs.ts'
import { maskPng, testImages } from '../../support/test-images.ts'
import { openaiClient } from './all.ts'

const { png } = await testImages(64)
const mask = await maskPng(64)

const asFile = (bytes: Uint8Array, name: string) => toFile(bytes, name, { type: 'image/png' })

async function sizeOf(base64: string | undefined): Promise<string> {
  const { width, height } = await decodeImage(Buffer.from(base64 ?? '', 'base64'), 'image/png')
  return `${width}x${height}`
}

test('images in base64', async () => {
  const { client } = await openaiClient()
  const { data, usage, size } = await client.images.generate({
    model: 'gpt-image-2',
    prompt: 'a quiet lake',
    n: 2,
    size: '1536x1024',
    quality: 'low',
    moderation: 'low',
  })
  expect([data!.length, size, usage!.output_tokens]).toEqual([2, '1536x1024', 800])
  expect(await sizeOf(data![1]!.b64_json)).toBe('1536x1024')
})

test('images behind URLs', async () => {
  const { client } = await openaiClient()
  const { data } = await client.images.generate({
    model: 'dall-e-3',
    prompt: 'a quiet lake',
    style: 'natural',
  })
  expect(data![0]!.revised_prompt).toContain('a quiet lake')
  const image = await fetch(data![0]!.url!)
  expect(await sizeOf(Buffer.from(await image.arrayBuffer()).toString('base64'))).toBe('1024x1024')
})

test('image edits, with a mask and with several sources', async () => {
  const { client, sandbox } = await openaiClient()
  const one = await client.images.edit({
    model: 'gpt-image-2',
    image: await asFile(png, 'a.png'),
    mask: await asFile(mask, 'mask.png'),
    prompt: 'a quiet lake',
    quality: 'low',
    input_fidelity: 'high',
  })
  expect(await sizeOf(one.data![0]!.b64_json)).toBe('1024x1024')
  const several = await client.images.edit({
    model: 'gpt-image-1-mini',
    image: [await asFile(png, 'a.png'), await asFile(png, 'b.png'), await asFile(png, 'c.png')],
    prompt: 'a quiet lake',
    quality: 'low',
    n: 2,
  })
  expect(several.data).toHaveLength(2)
  expect(several.usage!.input_tokens_details.image_tokens).toBe(3 * 194)
  expect(sandbox.created('image-edits')).toBe(2)
})

test('images with every parameter', async () => {
  const { client } = await openaiClient()
  const wishes = {
    model: 'gpt-image-1',
    prompt: 'a quiet lake',
    n: 2,
    background: 'opaque',
    output_compression: 50,
    output_format: 'webp',
    quality: 'low',
    size: '1024x1536',
    user: 'user-1',
  } as const
  const said = { background: 'opaque', output_format: 'webp', quality: 'low', size: '1024x1536' }
  expect(await client.images.generate({ ...wishes, moderation: 'auto' })).toMatchObject(said)
  const image = await asFile(png, 'a.png')
  expect(await client.images.edit({ ...wishes, image, input_fidelity: 'low' })).toMatchObject(said)
})

test('streams of images and edits', async () => {
  const { client } = await openaiClient()
  const wishes = {
    model: 'gpt-image-2',
    prompt: 'a lake',
    quality: 'low',
    stream: true,
    partial_images: 1,
  } as const
  const types: string[] = []
  let total = 0
  for await (const event of await client.images.generate(wishes)) {
    types.push(event.type)
    expect(await sizeOf(event.b64_json)).toBe('1024x1024')
  }
  for await (const event of await client.images.edit({ ...wishes, image: await asFile(png, 'a.png') })) {
    types.push(event.type)
    if (event.type === 'image_edit.completed') total = event.usage?.total_tokens ?? 0
  }
  expect(total).toBeGreaterThan(272)
  expect(types).toEqual([
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
  const stream = await client.images.generate({
    model: 'gpt-image-2',
    prompt: 'sandbox:error',
    stream: true,
    partial_images: 2,
  })
  const seen: string[] = []
  await expect(
    (async () => {
      for await (const event of stream) seen.push(event.type)
    })(),
  ).rejects.toThrow('broke off')
  expect(seen).toEqual(['image_generation.partial_image'])
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
  await expect(client.images.generate({ prompt: 'a lake', ...more })).rejects.toMatchObject({
    status: 400,
    param,
  })
})
