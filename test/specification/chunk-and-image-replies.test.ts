import { describe, expect, test } from 'vitest'
import { call, eventsOf, generate, runningSandbox, type Json } from '../support/running-sandbox.ts'
import { json, sse } from '../support/server-replies.ts'
import { testImages } from '../support/test-images.ts'
import { documentOf, isInteger } from './both-sides.ts'

// "Resources and their fields" and "States and transitions" of the specification, row by row: what the sandbox
// answers, and what the program makes of an answer that has it.

describe('Content-generation chunk', () => {
  const rating = { category: 'HARM_CATEGORY_HARASSMENT', probability: 'NEGLIGIBLE', blocked: false }
  const citation = { startIndex: 0, endIndex: 5, uri: 'https://source.example/a', license: 'MIT' }
  const candidate = {
    content: { parts: [{ text: 'Hello' }], role: 'model' },
    finishReason: 'STOP',
    index: 0,
    safetyRatings: [rating],
    citationMetadata: { citationSources: [citation] },
    tokenCount: 1,
  }
  const counts = {
    promptTokenCount: 3,
    candidatesTokenCount: 1,
    totalTokenCount: 4,
    cachedContentTokenCount: 2,
  }
  const chunk = { candidates: [candidate], usageMetadata: counts, modelVersion: 'm-001' }
  const shown = (one: Json = chunk) =>
    documentOf(['generate', 'hi'], sse([`data: ${JSON.stringify(one)}\r\n\r\n`]))

  test('the sandbox has every field', async () => {
    const safetySettings = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }]
    const more = { safetySettings, generationConfig: { candidateCount: 2 } }
    const events = eventsOf(await generate(await runningSandbox(), 'sandbox:citations hi', more))
    const content = { role: 'model', parts: [{ text: expect.any(String) }] }
    expect(events[0].candidates[0]).toMatchObject({ content, index: 0 })
    const all: Json[] = events.flatMap(({ candidates }) => candidates)
    const ends = all.filter(({ finishReason }) => finishReason)
    expect(ends.map(({ index }) => index).toSorted()).toEqual([0, 1])
    const span = { startIndex: isInteger, endIndex: isInteger }
    const source = { ...span, uri: expect.any(String), license: expect.any(String) }
    for (const end of ends) {
      expect(end).toMatchObject({ finishReason: 'STOP', safetyRatings: [rating], tokenCount: isInteger })
      expect(end.citationMetadata.citationSources[0]).toEqual(source)
    }
    const { usageMetadata: usage } = events.at(-1)
    const sum = usage.promptTokenCount + usage.candidatesTokenCount
    expect(usage).toMatchObject({ cachedContentTokenCount: isInteger, totalTokenCount: sum })
    expect(sum).toEqual(isInteger)
    expect(events.every(({ modelVersion }) => typeof modelVersion === 'string')).toBe(true)
  })

  test('the program keeps every field', async () => {
    const { code, document } = await shown()
    expect([code, document.text, document.finish_reason]).toEqual([0, 'Hello', 'stop'])
    expect(document.response).toEqual(chunk)
    const usage = { input_tokens: 3, output_tokens: 1, total_tokens: 4, cached_tokens: 2 }
    expect(document.usage).toMatchObject(usage)
  })

  test.each(['FINISH_REASON_UNSPECIFIED', 'OF_2030'])(
    'finishReason %s at a clean end is a result',
    async (reason) => {
      const { code, document, err } = await shown({
        ...chunk,
        candidates: [{ ...candidate, finishReason: reason }],
      })
      expect([code, document.text, err]).toEqual([0, 'Hello', expect.stringContaining(reason)])
    },
  )

  test.each(['SAFETY', 'BLOCK_REASON_UNSPECIFIED', 'OF_2030'])(
    'promptFeedback: blockReason %s',
    async (blockReason) => {
      const { code, document } = await shown({ promptFeedback: { blockReason, safetyRatings: [] } })
      // Whether a refused prompt costs anything is not known.
      expect([code, document.error.billed]).toEqual([9, 'maybe'])
      expect(document.error.message).toContain(blockReason)
    },
  )

  test('promptFeedback, with a block and without', async () => {
    const events = eventsOf(await generate(await runningSandbox(), 'sandbox:block hi'))
    const { blockReason, safetyRatings } = events[0].promptFeedback
    const blocking = { category: expect.any(String), probability: expect.any(String), blocked: true }
    expect([blockReason, safetyRatings[0]]).toEqual([expect.any(String), blocking])
    const promptFeedback = { safetyRatings: [rating] }
    const { code, document } = await shown({ ...chunk, promptFeedback })
    expect([code, document.text, document.response.promptFeedback]).toEqual([0, 'Hello', promptFeedback])
  })

  test('a probability that is not known is kept', async () => {
    const safetyRatings = ['HARM_PROBABILITY_UNSPECIFIED', 'OF_2030'].map((probability) => {
      return { ...rating, probability }
    })
    const { code, document } = await shown({ ...chunk, candidates: [{ ...candidate, safetyRatings }] })
    expect([code, document.response.candidates[0].safetyRatings]).toEqual([0, safetyRatings])
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
    // No field has a value outside its list.
    expect(b.json).toEqual({ created: isInteger, data: [{ url: expect.stringMatching(/^http/) }] })
    const c = await call(sandbox, path, { prompt: 'a boat', model: 'image-model-c', quality: 'hd' })
    expect(Object.keys(c.json).toSorted()).toEqual(['created', 'data'])
    for (const answer of [a, b]) expect(JSON.stringify(answer.json)).not.toContain(':null')
  })

  test.each<[fields: Json, expected?: Json]>([
    [{ output_format: 'jpeg' }],
    [{ output_format: 'webp' }],
    [{ background: 'transparent' }],
    [{ background: 'auto' }, { background: 'opaque' }],
    [{ quality: 'auto' }, { quality: expect.stringMatching(/^(low|medium|high)$/) }],
    [{ size: 'auto' }, { size: expect.stringMatching(/^(1024x1024|1024x1536|1536x1024)$/) }],
    [{ size: '1536x1024' }],
  ])('what was made of %j is told', async (fields, expected = fields) => {
    const body = { prompt: 'a boat', model: 'image-model-a', quality: 'low', ...fields }
    const { json: answer } = await call(await runningSandbox(), '/v1/images/generations', body)
    expect(answer).toMatchObject(expected)
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
    const body = { prompt: 'a boat', model: 'image-model-a' }
    const { json: answer } = await call(sandbox, '/v1/images/generations', body)
    const { code, document } = await documentOf(['image', 'create', 'a boat'], json(answer))
    const { data: _, ...rest } = answer
    expect([code, document.response]).toEqual([0, expect.objectContaining(rest)])
    expect(document.usage).toMatchObject({ total_tokens: answer.usage.total_tokens })
    expect(JSON.stringify(document)).not.toContain(answer.data[0].b64_json.slice(0, 100))
  })
})
