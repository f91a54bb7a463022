import { toFile, type OpenAI } from 'openai'
import { expect, test } from 'vitest'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { testImages } from '../../support/test-images.ts'
import { openaiClient } from './all.ts'

async function timedClient() {
  const clock = fakeClock()
  return { clock, ...(await openaiClient({ clock })) }
}

/** Asks until the job has ended, as soon as the sandbox advises. */
async function ended({ client, clock }: { client: OpenAI; clock: FakeClock }, id: string) {
  for (;;) {
    const { data, response } = await client.videos.retrieve(id).withResponse()
    const wait = response.headers.get('openai-poll-after-ms')
    if (wait === null) return data
    await clock.advance(Number(wait))
  }
}

test('videos created, retrieved, downloaded, listed, deleted', async () => {
  const { client, clock, sandbox } = await timedClient()
  const { png } = await testImages(32)
  const made = await client.videos.create({
    model: 'sora-2',
    prompt: 'a paper boat',
    seconds: '4',
    size: '1280x720',
    input_reference: await toFile(png, 'first.png', { type: 'image/png' }),
  })
  expect(made).toMatchObject({ status: 'queued', progress: 0, seconds: '4', size: '1280x720' })
  expect(made.error ?? null).toBeNull()
  const done = await ended({ client, clock }, made.id)
  expect(done).toMatchObject({ status: 'completed', progress: 100 })
  expect(done.expires_at! - done.completed_at!).toBe(3600)
  const content = await client.videos.downloadContent(made.id)
  const bytes = Buffer.from(await content.arrayBuffer())
  expect([content.headers.get('content-type'), bytes.toString('latin1', 4, 8)]).toEqual(['video/mp4', 'ftyp'])
  const listed: string[] = []
  for await (const video of client.videos.list({ limit: 1 })) listed.push(video.id)
  expect(listed).toEqual([made.id, 'video_sandbox_source'])
  expect(await client.videos.delete(made.id)).toEqual({ id: made.id, object: 'video.deleted', deleted: true })
  await expect(client.videos.retrieve(made.id)).rejects.toMatchObject({ code: 'video_not_found' })
  expect(sandbox.created('video-create')).toBe(1)
})

test('video remixes', async () => {
  const { client, clock, sandbox } = await timedClient()
  const wishes = { model: 'sora-2', prompt: 'make it night' }
  const remix = await client.videos.remix('video_sandbox_source', wishes)
  expect(remix).toMatchObject({ remixed_from_video_id: 'video_sandbox_source', status: 'pending' })
  expect(await ended({ client, clock }, remix.id)).toMatchObject({ status: 'completed' })
  expect(sandbox.created('video-remix')).toBe(1)
})

test('failed videos', async () => {
  const { client, clock } = await timedClient()
  const { id } = await client.videos.create({ prompt: 'a boat sandbox:failure' })
  const error = { code: 'video_generation_failed', message: expect.any(String) }
  expect(await ended({ client, clock }, id)).toMatchObject({ status: 'failed', error })
})

const video = { id: 'video_1' }
test.each([
  ['video edits', (client: OpenAI) => client.videos.edit({ prompt: 'at night', video })],
  ['video extensions', (client: OpenAI) => client.videos.extend({ prompt: 'x', seconds: '4', video })],
  ['video characters', (client: OpenAI) => client.videos.getCharacter('char_1')],
])('%s: not offered', async (_, ask) => {
  const { client } = await timedClient()
  await expect(ask(client)).rejects.toMatchObject({ status: 404, type: 'invalid_request_error' })
})

test('video remixes without a model: refused', async () => {
  const { client } = await timedClient()
  const remix = client.videos.remix('video_sandbox_source', { prompt: 'make it night' })
  await expect(remix).rejects.toMatchObject({ status: 400, param: 'model' })
})

test('thumbnails of videos', async () => {
  const { client } = await timedClient()
  const still = await client.videos.downloadContent('video_sandbox_source', { variant: 'thumbnail' })
  expect(still.headers.get('content-type')).toMatch(/^image\//)
})
