import { describe, expect, test } from 'vitest'
import { create, edit, part } from '../../support/image-calls.ts'
import { eventsOf, runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'

const { png } = await testImages(32)

const endpoints: readonly (readonly [string, typeof create])[] = [
  ['generations', create],
  ['edits', (sandbox, body, headers) => edit(sandbox, body, [part(png)], headers)],
]

const small = { size: '256x256', response_format: 'b64_json' }

describe.each(endpoints)('%s', (_, ask) => {
  /** Asks for a scenario in one of three ways. */
  async function play(scenario: string, more: Json = {}, way = 'prompt') {
    const sandbox = await runningSandbox()
    const body = {
      model: way === 'model' ? `sandbox-${scenario}` : 'any',
      prompt: way === 'prompt' ? `a lake sandbox:${scenario}` : 'a lake',
      ...small,
      ...more,
    }
    const headers = way === 'header' ? { 'x-sandbox-scenario': scenario } : {}
    return { ...(await ask(sandbox, body, headers)), created: sandbox.created() }
  }

  test.each(['model', 'header', 'prompt'])('a refusal, asked for by %s, is no creation', async (way) => {
    const { status, json, created } = await play('refusal', { stream: true }, way)
    expect([status, created]).toEqual([400, 0])
    expect(json.error).toMatchObject({ type: 'image_generation_user_error', code: 'moderation_blocked' })
  })

  test('a failure, no images, and fewer than asked for', async () => {
    const { status, json } = await play('failure')
    expect([status, json.error.type]).toEqual([500, 'server_error'])
    expect((await play('empty', { n: 2 })).json.data).toEqual([])
    expect((await play('fewer', { n: 3 })).json.data).toHaveLength(2)
    const streamed = eventsOf(await play('fewer', { n: 3, stream: true }))
    expect(streamed).toHaveLength(2)
    const nothing = await play('empty', { stream: true })
    expect([nothing.status, nothing.text, nothing.created]).toEqual([200, '', 1])
  })

  test('an error in the middle of a stream', async () => {
    const { text, created } = await play('error', { stream: true, partial_images: 2 })
    const events = eventsOf({ text })
    expect(events.map(({ type }) => type.replace(/^.*\./, ''))).toEqual(['partial_image', 'error'])
    expect(events[1].error.message).toContain('broke off')
    expect(text).toContain('event: error\n')
    expect(created).toBe(1)
    expect((await play('error')).status).toBe(500)
  })

  test('the whole image before its partial ones', async () => {
    const events = eventsOf(await play('early', { stream: true, partial_images: 2 }))
    const types = events.map(({ type }) => type.replace(/^.*\./, ''))
    expect(types).toEqual(['completed', 'partial_image', 'partial_image'])
  })
})
