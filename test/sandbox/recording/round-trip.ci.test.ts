import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { recorder, recordingAt, recordingsIn, replayer, textIn, upstreamKey } from '../../support/recorder.ts'
import { call, runningSandbox, type Answer } from '../../support/running-sandbox.ts'
import type { Sandbox } from '../../../src/sandbox/start-sandbox.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { maskPng } from '../../support/test-images.ts'

async function bytesAt(url: string): Promise<Buffer> {
  const reply = await fetch(url, { headers: { authorization: 'Bearer k' } })
  expect(reply.status).toBe(200)
  return Buffer.from(await reply.arrayBuffer())
}

/** A recorder of a sandbox, and what answers when both are gone. */
async function recorded() {
  const clock = fakeClock()
  const gateway = await runningSandbox({ clock })
  const recording = await recorder(gateway.url)
  const replayed = async () => {
    await gateway.close()
    await recording.close()
    return replayer(recording.folder)
  }
  return { clock, gateway, recording, replayed }
}

test('images at URLs are downloaded through the recorder, and again from the recording', async () => {
  const { recording, replayed } = await recorded()
  const request = { prompt: 'A hill', model: 'image-model-b', response_format: 'url', size: '256x256', n: 2 }
  const live = await call(recording, '/v1/images/generations', request)
  const urls: string[] = live.json.data.map(({ url }: { url: string }) => url)
  expect(urls.map((url) => new URL(url).origin)).toEqual([recording.url, recording.url])
  const images = await Promise.all(urls.map(bytesAt))
  const replaying = await replayed()
  const again = await call(replaying, '/v1/images/generations', request)
  for (const [index, { url }] of (again.json.data as { url: string }[]).entries()) {
    expect(await bytesAt(url)).toEqual(images[index])
  }
  expect(replaying.recordings()).toMatchObject({ used: 3, unused: [], missed: 0 })
})

test('an edit in a form is found again with another boundary', async () => {
  const { recording } = await recorded()
  const image = new File([Buffer.from(await maskPng(64))], 'a.png', { type: 'image/png' })
  const send = async ({ url }: Sandbox, prompt: string) => {
    const body = new FormData()
    body.set('image', image)
    body.set('prompt', prompt)
    body.set('model', 'gpt-image-1')
    const headers = { authorization: 'Bearer k' }
    const reply = await fetch(`${url}/v1/images/edits`, { method: 'POST', headers, body })
    return [reply.status, await reply.text()] as const
  }
  const live = await send(recording, 'Blue')
  expect(live[0]).toBe(200)
  const replaying = await replayer(recording.folder)
  expect(await send(replaying, 'Blue')).toEqual(live)
  const [status, miss] = await send(replaying, 'Green')
  expect(status).toBe(404)
  expect(miss).toContain('differs in: prompt.')
})

test('a video job advances with each look, and its last state stays', async () => {
  const { clock, recording, replayed } = await recorded()
  const { json: job } = await call(recording, '/v1/videos', { prompt: 'A boat' })
  const look = async (sandbox: Sandbox) => (await call(sandbox, `/v1/videos/${job.id}`)).json
  const states = [await look(recording)]
  while (states.at(-1).status !== 'completed') {
    await clock.advance(50)
    states.push(await look(recording))
  }
  expect([...new Set(states.map(({ status }) => status))]).toEqual(['pending', 'in_progress', 'completed'])
  const film = await bytesAt(`${recording.url}/v1/videos/${job.id}/content`)
  const replaying = await replayed()
  expect((await call(replaying, '/v1/videos', { prompt: 'A boat' })).json).toEqual(job)
  for (const state of states) expect(await look(replaying)).toEqual(state)
  expect((await look(replaying)).status).toBe('completed')
  expect(await bytesAt(`${replaying.url}/v1/videos/${job.id}/content`)).toEqual(film)
})

test('the file of an operation is fetched through its redirect', async () => {
  const { clock, recording, replayed } = await recorded()
  const body = { instances: [{ prompt: 'A boat' }], parameters: { durationSeconds: 4 } }
  const { json } = await call(recording, '/v1beta/models/veo:predictLongRunning', body)
  await clock.advance(60_000)
  const done = await call(recording, `/v1beta/${json.name}`)
  const uriOf = ({ json: operation }: Answer): string =>
    operation.response.generateVideoResponse.generatedSamples[0].video.uri
  expect(uriOf(done)).toContain(`${recording.url}/v1beta/files/`)
  const film = await bytesAt(uriOf(done))
  const replaying = await replayed()
  expect(await bytesAt(uriOf(await call(replaying, `/v1beta/${json.name}`)))).toEqual(film)
})

test('the n-th repetition gets the n-th recording, and then the last', async () => {
  const { recording } = await recorded()
  const ask = async (sandbox: Sandbox) => (await call(sandbox, '/v1/responses', { input: 'Hi' })).json.id
  const ids = [await ask(recording), await ask(recording)]
  expect(new Set(ids).size).toBe(2)
  const replaying = await replayer(recording.folder)
  expect([await ask(replaying), await ask(replaying), await ask(replaying)]).toEqual([...ids, ids[1]])
})

test('cancelling counts as no creation, when recording and when replaying', async () => {
  const { recording, gateway } = await recorded()
  const { json } = await call(recording, '/v1/responses', { input: 'Hi', background: true })
  await call(recording, `/v1/responses/${json.id}/cancel`, {})
  const replaying = await replayer(recording.folder)
  await call(replaying, '/v1/responses', { input: 'Hi', background: true })
  await call(replaying, `/v1/responses/${json.id}/cancel`, {})
  expect([gateway.created(), recording.created(), replaying.created()]).toEqual([1, 1, 1])
})

test('a recording can be read and edited', async () => {
  const { recording, gateway } = await recorded()
  await call(recording, '/v1/responses?key=caller-key-0123456789', { stream: true, input: 'Name a river' })
  const [name] = recordingsIn(recording.folder)
  expect(name).toMatch(/^0001-post-v1-responses-[\da-f]{8}\.json$/)
  const { request, reply } = recordingAt(recording.folder, 0)
  expect(request).toEqual({
    method: 'POST',
    path: '/v1/responses',
    headers: { accept: '*/*', 'content-type': 'application/json' },
    body: { json: { input: 'Name a river', stream: true } },
  })
  expect(Object.keys(reply.headers).sort()).toEqual(['cache-control', 'content-type', 'x-request-id'])
  const lines = readFileSync(join(recording.folder, name!), 'utf8').split('\n')
  const events = lines.filter((line) => /^ {8}\{"ms":\d+,"text":"event: response\./.test(line))
  expect(events).toHaveLength(reply.body.events.length)
  expect(textIn(recording.folder)).not.toContain('caller-key')
  expect(textIn(recording.folder)).not.toContain(upstreamKey)
  expect(textIn(recording.folder)).not.toContain(new URL(gateway.url).host)
})

test('with the real pace each event waits as long as when it was recorded', async () => {
  const { recording, clock } = await recorded()
  await call(recording, '/v1/responses', { input: 'Hi', stream: true })
  const path = join(recording.folder, recordingsIn(recording.folder)[0]!)
  let ms = 0
  const slower = readFileSync(path, 'utf8').replace(/"ms":\d+/g, () => `"ms":${(ms += 1000)}`)
  writeFileSync(path, slower)
  const replaying = await replayer(recording.folder, { pace: 'real', clock })
  let isOver = false
  const begun = clock.now()
  const reply = call(replaying, '/v1/responses', { input: 'Hi', stream: true }).finally(() => (isOver = true))
  while (!isOver) await clock.advance(500)
  expect((await reply).text).toContain('response.completed')
  expect(clock.now() - begun).toBeGreaterThanOrEqual(ms)
})
