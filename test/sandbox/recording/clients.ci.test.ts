import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GenerateVideosOperation, GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { recorder, replayer } from '../../support/recorder.ts'
import { runMain } from '../../support/run-main.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { maskPng } from '../../support/test-images.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import type { FakeClock } from '../../support/fake-clock.ts'

/** What a program gets from a gateway through a recorder, and from the recording when the gateway is gone. */
async function twice<Value>(use: (url: string) => Promise<Value>): Promise<[live: Value, replay: Value]> {
  const gateway = await runningSandbox()
  const recording = await recorder(gateway.url)
  const live = await use(recording.url)
  await gateway.close()
  await recording.close()
  const replaying = await replayer(recording.folder)
  const replay = await use(replaying.url)
  expect(recording.lines).toEqual([])
  expect(replaying.recordings()).toMatchObject({ unused: [], missed: 0 })
  return [live, replay]
}

async function allOf<Value>(stream: AsyncIterable<Value>): Promise<Value[]> {
  const values: Value[] = []
  for await (const value of stream) values.push(value)
  return values
}

test('openai: responses, whole and streamed', async () => {
  const [live, replay] = await twice(async (url) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
    const request = { model: 'sandbox-text', input: 'Name a river' }
    const whole = await client.responses.create(request)
    const events = await allOf(await client.responses.create({ ...request, stream: true }))
    return { whole, events }
  })
  expect(live.events.at(-1)!.type).toBe('response.completed')
  expect(replay).toEqual(live)
})

test('openai: images, edits and videos with their content', async () => {
  const png = await maskPng(64)
  const [live, replay] = await twice(async (url) => {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
    const made = await client.images.generate({ prompt: 'A hill', model: 'gpt-image-1' })
    const image = await toFile(png, 'a.png', { type: 'image/png' })
    const edited = await allOf(
      await client.images.edit({
        prompt: 'Blue',
        image,
        model: 'gpt-image-1',
        stream: true,
        partial_images: 1,
      }),
    )
    const wishes = { model: 'sora-2', prompt: 'night' }
    const { id } = await client.videos.remix('video_sandbox_source', wishes)
    const content = await client.videos.downloadContent('video_sandbox_source')
    return { made, edited, id, film: Buffer.from(await content.arrayBuffer()).toString('base64') }
  })
  expect(live.made.data![0]!.b64_json).toMatch(/^iVBOR/)
  expect(live.edited.at(-1)!.type).toBe('image_edit.completed')
  expect(replay).toEqual(live)
})

test('google: content, a stream, and the file of an operation', async () => {
  const folder = temporaryFolder()
  const [live, replay] = await twice(async (url) => {
    const client = new GoogleGenAI({ apiKey: 'any', httpOptions: { baseUrl: url } })
    const request = { model: 'sandbox-text', contents: 'Name a river' }
    const whole = await client.models.generateContent(request)
    const chunks = await allOf(await client.models.generateContentStream(request))
    // The client itself creates videos at Vertex only.
    const created = await fetch(`${url}/v1beta/models/veo:predictLongRunning`, {
      method: 'POST',
      headers: { 'x-goog-api-key': 'any' },
      body: '{"instances":[{"prompt":"A boat"}],"parameters":{}}',
    })
    let operation = Object.assign(new GenerateVideosOperation(), await created.json())
    while (!operation.done) operation = await client.operations.getVideosOperation({ operation })
    const file = operation.response!.generatedVideos![0]!
    const downloadPath = join(folder, `${new URL(url).port}.mp4`)
    await client.files.download({ file, downloadPath })
    return {
      texts: [whole.text, ...chunks.map(({ text }) => text)],
      film: readFileSync(downloadPath).toString('base64'),
    }
  })
  expect(live.film.length).toBeGreaterThan(1000)
  expect(replay).toEqual(live)
})

test('modelgate: all seven operations', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'a.png': await maskPng(64) })
  const calls = [
    ['generate', '-m', 'sandbox-text', 'Name a river'],
    ['respond', 'Name a river'],
    ['image', 'create', '-m', 'image-model-b', '--response-format', 'url', '-o', 'url.png', 'A hill'],
    ['image', 'create', '-m', 'gpt-image-1', '--stream', '--partial-images', '1', '-o', 'made.png', 'A hill'],
    ['image', 'edit', '-m', 'gpt-image-1', '--image', 'a.png', '-o', 'edited.png', 'Blue'],
    ['video', 'generate', '-m', 'veo', '-o', 'made.mp4', '--wait', '--poll-interval', '0.1', 'A boat'],
    [
      'video',
      'remix',
      '-m',
      'sora-2',
      '-o',
      'remix.mp4',
      '--wait',
      '--poll-interval',
      '0.1',
      'video_sandbox_source',
      'Make it night',
    ],
    ['video', 'status', 'video_sandbox_source'],
  ]
  const files = ['url.png', 'made.png', 'edited.png', 'made.mp4', 'remix.mp4']
  const [live, replay] = await twice(async (url) => {
    const env = {
      MODELGATE_BASE_URL: url,
      MODELGATE_API_KEY: 'any-key',
      MODELGATE_STATE_DIR: temporaryFolder(),
    }
    const results = []
    for (const argv of calls) {
      const force = argv.includes('-o') ? ['--force'] : []
      const clock = systemClock as FakeClock
      const { code, out, err } = await runMain([...argv, ...force], { cwd, env, clock })
      expect([argv.join(' '), code, err.includes('error')]).toEqual([argv.join(' '), 0, false])
      results.push(out.replaceAll(url, 'ORIGIN'))
    }
    return { results, files: files.map((name) => readFileSync(join(cwd, name)).toString('base64')) }
  })
  expect(replay.files).toEqual(live.files)
  expect(replay.results).toEqual(live.results)
})
