import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GenerateVideosOperation, GoogleGenAI, type GeneratedVideo } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { call, runningSandbox } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'

async function openaiClient() {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  return {
    sandbox,
    clock,
    client: new OpenAI({ baseURL: `${sandbox.url}/v1`, apiKey: 'any', maxRetries: 0 }),
  }
}

/** Asks until the job has ended, as soon as the sandbox advises. */
async function ended(
  { client, clock }: { client: OpenAI; clock: FakeClock },
  id: string,
): Promise<OpenAI.Video> {
  for (;;) {
    const { data, response } = await client.videos.retrieve(id).withResponse()
    const wait = response.headers.get('openai-poll-after-ms')
    if (wait === null) return data
    await clock.advance(Number(wait))
  }
}

test('openai: a video is made, looked up, downloaded, listed and deleted', async () => {
  const { client, clock, sandbox } = await openaiClient()
  const { png } = await testImages(32)
  const made = await client.videos.create({
    model: 'sora-2',
    prompt: 'a paper boat',
    seconds: '4',
    size: '1280x720',
    input_reference: await toFile(png, 'first.png', { type: 'image/png' }),
  })
  expect(made).toMatchObject({ status: 'pending', progress: 0, seconds: '4', size: '1280x720' })
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
  await expect(client.videos.retrieve(made.id)).rejects.toMatchObject({
    status: 404,
    code: 'video_not_found',
  })
  expect(sandbox.created('video-create')).toBe(1)
})

test('openai: the built-in video is remixed', async () => {
  const { client, clock, sandbox } = await openaiClient()
  const wishes = { model: 'sora-2', prompt: 'make it night' }
  const remix = await client.videos.remix('video_sandbox_source', wishes)
  expect(remix).toMatchObject({
    remixed_from_video_id: 'video_sandbox_source',
    seconds: '4',
    size: '1280x720',
    status: 'pending',
  })
  expect(await ended({ client, clock }, remix.id)).toMatchObject({ status: 'completed' })
  expect(sandbox.created('video-remix')).toBe(1)
})

test('openai: a failed video has its error', async () => {
  const { client, clock } = await openaiClient()
  const { id } = await client.videos.create({ prompt: 'a boat sandbox:failure' })
  expect(await ended({ client, clock }, id)).toMatchObject({
    status: 'failed',
    error: { code: 'video_generation_failed', message: expect.any(String) },
  })
})

test.each(['v1', 'v1beta'])(
  'google: an operation is polled and its video downloaded (%s)',
  async (apiVersion) => {
    const clock = fakeClock()
    const sandbox = await runningSandbox({ clock })
    const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: sandbox.url, apiVersion } })
    const { json } = await call(sandbox, `/${apiVersion}/models/sandbox-video:predictLongRunning`, {
      instances: [{ prompt: 'a paper boat' }],
      parameters: { aspectRatio: '9:16', durationSeconds: 4, sampleCount: 2 },
    })
    expect(json).toEqual({ name: expect.stringMatching(/^models\/sandbox-video\/operations\/[\da-f]{20}$/) })
    // The client itself creates videos at Vertex only.
    let operation = Object.assign(new GenerateVideosOperation(), json)
    while (operation.done !== true) {
      operation = await client.operations.getVideosOperation({ operation })
      await clock.advance(1_000)
    }
    const videos = operation.response!.generatedVideos!
    expect(videos).toHaveLength(2)
    const folder = await mkdtemp(join(tmpdir(), 'sandbox-video-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const [first, second] = videos as [GeneratedVideo, GeneratedVideo]
    const name = /files\/[\da-z]+/.exec(second.video!.uri!)![0]
    for (const file of [first, second.video!, second.video!.uri!, { name }, name, name.slice(6)]) {
      const downloadPath = join(folder, 'clip.mp4')
      await client.files.download({ file, downloadPath })
      expect((await readFile(downloadPath)).toString('latin1', 4, 8)).toBe('ftyp')
      await rm(downloadPath)
    }
    expect(sandbox.created('video-operations')).toBe(1)
  },
)
