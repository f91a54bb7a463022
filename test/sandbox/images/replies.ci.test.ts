import { expect, test } from 'vitest'
import { create, edit, part, pixelsOf } from '../../support/image-calls.ts'
import { eventsOf, runningSandbox, type Answer, type Json } from '../../support/running-sandbox.ts'
import { meanDifference, testImages } from '../../support/test-images.ts'

const { png } = await testImages(64)

const modelA = { model: 'image-model-a', prompt: 'a quiet lake', quality: 'low' }

/** All parts of a usage object add up. */
function expectSum(usage: Json): void {
  const { input_tokens_details: input, output_tokens_details: output } = usage
  expect(input.text_tokens + input.image_tokens).toBe(usage.input_tokens)
  expect(output.text_tokens + output.image_tokens).toBe(usage.output_tokens)
  expect(usage.input_tokens + usage.output_tokens).toBe(usage.total_tokens)
}

test('usage of an edit counts its source images, more of them with high fidelity', async () => {
  const sandbox = await runningSandbox()
  const usage = async (files: Json[], more = {}) => {
    const { json } = await edit(sandbox, { ...modelA, ...more }, files)
    expectSum(json.usage)
    return json.usage.input_tokens_details.image_tokens
  }
  const one = await usage([part(png)])
  expect(one).toBe(194)
  expect(await usage([part(png, 'image[]'), part(png, 'image[]')])).toBe(2 * one)
  expect(await usage([part(png)], { input_fidelity: 'high' })).toBe(one + 4160)
})

const stream = { ...modelA, stream: true }
const streams: readonly (readonly [string, (body: Json) => Promise<Answer>])[] = [
  ['image_generation', async (body) => create(await runningSandbox(), { ...stream, ...body })],
  ['image_edit', async (body) => edit(await runningSandbox(), { ...stream, ...body }, [part(png)])],
]

test.each(streams)(
  '%s: partial images show more and more and the whole one closes the stream',
  async (prefix, ask) => {
    const answer = await ask({ partial_images: 3 })
    expect(answer.headers.get('content-type')).toContain('text/event-stream')
    const events = eventsOf(answer)
    const types = events.map(({ type }) => type)
    const partial = `${prefix}.partial_image`
    expect(types).toEqual([partial, partial, partial, `${prefix}.completed`])
    expect([...answer.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name)).toEqual(types)
    expect(events.map((event) => event.partial_image_index)).toEqual([0, 1, 2, undefined])
    const look = { size: '1024x1024', quality: 'low', background: 'opaque', output_format: 'png' }
    for (const event of events) expect(event).toMatchObject({ created_at: expect.any(Number), ...look })
    const pictures = await Promise.all(events.map(pixelsOf))
    const whole = pictures.at(-1)!
    const missing = pictures.map((picture) => meanDifference(picture, whole))
    expect(missing).toEqual([...missing].sort((a, b) => b - a))
    expect(new Set(missing).size).toBe(4)
    expectSum(events.at(-1)!.usage)
    expect(events.at(-1)!.usage.output_tokens).toBe(272 + 3 * 100)
    expect(answer.text).not.toContain('[DONE]')
  },
)

test.each(streams)(
  '%s: no partial images is one event an image, each with the usage so far',
  async (prefix, ask) => {
    const events = eventsOf(await ask({ n: 2 }))
    expect(events.map(({ type }) => type)).toEqual([`${prefix}.completed`, `${prefix}.completed`])
    expect(events[0].b64_json).not.toBe(events[1].b64_json)
    expect(events.map(({ usage }) => usage.output_tokens)).toEqual([272, 2 * 272])
    for (const { usage } of events) expectSum(usage)
  },
)

test.each([
  ['{}', {}, 'b64_json'],
  ['a format', { output_format: 'webp', background: 'transparent' }, 'b64_json'],
  ['a size of model B', { size: '256x256' }, 'url'],
  ['a style of model C', { style: 'natural' }, 'url'],
])('a creation without a model is made by one that takes its parameters: %s', async (_, more, key) => {
  const sandbox = await runningSandbox()
  for (const model of [undefined, null]) {
    const { status, json } = await create(sandbox, { prompt: 'a dot', model, ...more })
    expect([status, Object.keys(json.data[0])[0]]).toEqual([200, key])
  }
})
