import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GenerateVideosOperation, GoogleGenAI, type GeneratedVideo } from '@google/genai'
import { expect, onTestFinished, test } from 'vitest'
import { fakeClock } from '../../support/fake-clock.ts'
import { call, runningSandbox } from '../../support/running-sandbox.ts'

test.each(['v1', 'v1beta'])('operations and files.download (%s)', async (apiVersion) => {
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
})
