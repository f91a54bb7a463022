import { describe, expect, test } from 'vitest'
import { call, eventsOf, generate, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json, sse } from '../support/server-replies.ts'
import { testImages } from '../support/test-images.ts'
import { documentOf, isInteger } from './both-sides.ts'

// "Resources and their fields" and "States and transitions" of the specification, row by row: what the sandbox
// answers, and what the program makes of an answer that has it.

describe('Content-generation chunk', () => {
  const chunk = {
    candidates: [
      {
        content: { parts: [{ text: 'Hello' }], role: 'model' },
        finishReason: 'STOP',
        index: 0,
        safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE', blocked: false }],
        citationMetadata: {
          citationSources: [{ startIndex: 0, endIndex: 5, uri: 'https://source.example/a', license: 'MIT' }],
        },
        tokenCount: 1,
      },
    ],
    usageMetadata: {
      promptTokenCount: 3,
      candidatesTokenCount: 1,
      totalTokenCount: 4,
      cachedContentTokenCount: 2,
    },
    modelVersion: 'm-001',
  }
  const shown = (one: Json = chunk) =>
    documentOf(['generate', 'hi'], sse([`data: ${JSON.stringify(one)}\r\n\r\n`]))

  test('the sandbox has every field', async () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    const more = { safetySettings, generationConfig: { candidateCount: 2 } }
    const events = eventsOf(await generate(await runningSandbox(), 'sandbox:citations hi', more))
    expect(events[0].candidates[0]).toMatchObject({
      content: { role: 'model', parts: [{ text: expect.any(String) }] },
      index: 0,
    })
    const ends: Json[] = events.flatMap(({ candidates }) =>
      candidates.filter((one: Json) => one.finishReason),
    )
    expect(ends.map(({ index }) => index).toSorted()).toEqual([0, 1])
    for (const end of ends) {
      expect(end).toMatchObject({
        finishReason: 'STOP',
        safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE', blocked: false }],
        tokenCount: isInteger,
      })
      expect(end.citationMetadata.citationSources[0]).toEqual({
        startIndex: isInteger,
        endIndex: isInteger,
        uri: expect.any(String),
        license: expect.any(String),
      })
    }
    const { usageMetadata: usage } = events.at(-1)
    expect(usage).toMatchObject({
      promptTokenCount: isInteger,
      candidatesTokenCount: isInteger,
      cachedContentTokenCount: isInteger,
      totalTokenCount: usage.promptTokenCount + usage.candidatesTokenCount,
    })
    expect(events.every(({ modelVersion }) => typeof modelVersion === 'string')).toBe(true)
  })

  test('the program keeps every field', async () => {
    const { code, document } = await shown()
    expect([code, document.text, document.finish_reason]).toEqual([0, 'Hello', 'stop'])
    expect(document.response).toEqual(chunk)
    expect(document.usage).toMatchObject({
      input_tokens: 3,
      output_tokens: 1,
      total_tokens: 4,
      cached_tokens: 2,
    })
  })

  test('finishReason FINISH_REASON_UNSPECIFIED at a clean end is a result', async () => {
    const [candidate] = chunk.candidates
    const candidates = [{ ...candidate, finishReason: 'FINISH_REASON_UNSPECIFIED' }]
    const { code, document, err } = await shown({ ...chunk, candidates })
    expect([code, document.text, err]).toEqual([
      0,
      'Hello',
      expect.stringContaining('FINISH_REASON_UNSPECIFIED'),
    ])
  })

  test('promptFeedback: blockReason', async () => {
    const events = eventsOf(await generate(await runningSandbox(), 'sandbox:block hi'))
    expect(events[0].promptFeedback).toMatchObject({ blockReason: expect.any(String) })
    const blocked = { promptFeedback: { blockReason: 'SAFETY', safetyRatings: [] } }
    const { code, document } = await shown(blocked)
    // Whether a refused prompt costs anything is not known.
    expect([code, document.error.billed]).toEqual([9, 'maybe'])
  })

  test.each(['BLOCK_REASON_UNSPECIFIED', 'OF_2030'])(
    'promptFeedback: blockReason %s',
    async (blockReason) => {
      const { code, err } = await shown({ promptFeedback: { blockReason } })
      expect([code, err]).toEqual([9, expect.stringContaining(blockReason)])
    },
  )

  test('promptFeedback: safetyRatings, without a block', async () => {
    const events = eventsOf(await generate(await runningSandbox(), 'sandbox:block hi'))
    expect(events[0].promptFeedback.safetyRatings[0]).toEqual({
      category: expect.any(String),
      probability: expect.any(String),
      blocked: true,
    })
    const rated = { ...chunk, promptFeedback: { safetyRatings: chunk.candidates[0]!.safetyRatings } }
    const { code, document } = await shown(rated)
    expect([code, document.text]).toEqual([0, 'Hello'])
    expect(document.response.promptFeedback).toEqual(rated.promptFeedback)
  })

  test('allowed values that are not shown: finishReason, probability', async () => {
    const [candidate] = chunk.candidates
    const ratings = ['HARM_PROBABILITY_UNSPECIFIED', 'OF_2030'].map((probability) => {
      return { category: 'HARM_CATEGORY_HARASSMENT', probability, blocked: false }
    })
    const open = { ...candidate, finishReason: 'OF_2030', safetyRatings: ratings }
    const { code, document, err } = await shown({ ...chunk, candidates: [open] })
    expect([code, document.text, err]).toEqual([0, 'Hello', expect.stringContaining('OF_2030')])
    expect(document.response.candidates[0].safetyRatings).toEqual(ratings)
  })
})

describe('Image result', () => {
  test('created, data with url, background, output_format, quality, size, usage of model A only', async () => {
    const sandbox = await runningSandbox()
    const path = '/v1/images/generations'
    const a = await call(sandbox, path, { prompt: 'a boat', model: 'image-model-a', quality: 'low' })
    expect(a.json).toMatchObject({
      created: isInteger,
      data: [{ b64_json: expect.any(String) }],
      background: expect.stringMatching(/^(transparent|opaque)$/),
      output_format: 'png',
      quality: 'low',
      size: expect.stringMatching(/^(1024x1024|1024x1536|1536x1024)$/),
      usage: {
        input_tokens: isInteger,
        input_tokens_details: { image_tokens: isInteger, text_tokens: isInteger },
        output_tokens: isInteger,
        total_tokens: a.json.usage.input_tokens + a.json.usage.output_tokens,
      },
    })
    const b = await call(sandbox, path, { prompt: 'a boat', model: 'image-model-b' })
    expect(b.json).toEqual(expect.not.objectContaining({ usage: expect.anything() }))
    expect(b.json.data).toEqual([expect.objectContaining({ url: expect.stringMatching(/^http/) })])
    for (const answer of [a, b]) expect(JSON.stringify(answer.json)).not.toContain(':null')
  })

  test.each<[title: string, fields: Json, expected: Json]>([
    ['output_format jpeg', { output_format: 'jpeg' }, { output_format: 'jpeg' }],
    ['output_format webp', { output_format: 'webp' }, { output_format: 'webp' }],
    ['background transparent', { background: 'transparent' }, { background: 'transparent' }],
    ['background auto', { background: 'auto' }, { background: 'opaque' }],
    ['quality auto', { quality: 'auto' }, { quality: expect.stringMatching(/^(low|medium|high)$/) }],
    ['size auto', { size: 'auto' }, { size: expect.stringMatching(/^(1024x1024|1024x1536|1536x1024)$/) }],
    ['size 1536x1024', { size: '1536x1024' }, { size: '1536x1024' }],
  ])('%s', async (_, fields, expected) => {
    const body = { prompt: 'a boat', model: 'image-model-a', quality: 'low', ...fields }
    const { json: answer } = await call(await runningSandbox(), '/v1/images/generations', body)
    expect(answer).toMatchObject(expected)
  })

  test.each<[model: string, fields: Json]>([
    ['image-model-b', { size: '256x256', quality: 'standard' }],
    ['image-model-c', { size: '1792x1024', quality: 'hd' }],
  ])('%s: no field has a value outside its list', async (model, fields) => {
    const body = { prompt: 'a boat', model, ...fields }
    const { json: answer } = await call(await runningSandbox(), '/v1/images/generations', body)
    expect(Object.keys(answer).toSorted()).toEqual(['created', 'data'])
  })

  test('url: the image is fetched from there', async () => {
    const sandbox = await runningSandbox()
    const body = { prompt: 'a boat', model: 'image-model-b', size: '256x256' }
    const { json: answer } = await call(sandbox, '/v1/images/generations', body)
    const { code, document } = await documentOf(['image', 'create', 'a boat'], json(answer))
    expect([code, document.files[0]]).toEqual([0, expect.objectContaining({ format: 'png', width: 256 })])
    expect(document.usage).toBeNull()
  })

  test.each<[title: string, asked: number, order: readonly string[]]>([
    ['partial_images 0: one image in a single stream event', 0, ['completed']],
    ['partial images precede the final one', 2, ['partial', 'partial', 'completed']],
    ['the final image may arrive before all partial images', 2, ['partial', 'completed', 'partial']],
    ['fewer partial images than asked for', 3, ['completed']],
  ])('%s', async (_, asked, order) => {
    const b64_json = Buffer.from((await testImages(32)).png).toString('base64')
    const events = order.map((kind, index) => {
      const type = `image_generation.${kind === 'partial' ? 'partial_image' : kind}`
      return { type, b64_json, ...(kind === 'partial' && { partial_image_index: index }) }
    })
    const stream = sse(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`))
    const argv = ['image', 'create', '--stream', '--partial-images', String(asked), 'a boat']
    const { code, err, document } = await documentOf(argv, stream)
    expect([code, err, document.files.length]).toEqual([0, '', 1])
  })

  test('the program keeps them all but the base64', async () => {
    const sandbox = await runningSandbox()
    const { json: answer } = await call(sandbox, '/v1/images/generations', {
      prompt: 'a boat',
      model: 'image-model-a',
    })
    const { code, document } = await documentOf(['image', 'create', 'a boat'], json(answer))
    const { data: _, ...rest } = answer
    expect([code, document.response]).toEqual([0, expect.objectContaining(rest)])
    expect(document.usage).toMatchObject({ total_tokens: answer.usage.total_tokens })
    expect(JSON.stringify(document)).not.toContain(answer.data[0].b64_json.slice(0, 100))
  })
})
