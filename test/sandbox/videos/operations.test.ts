import { expect, test } from 'vitest'
import { fakeClock } from '../../support/fake-clock.ts'
import { mp4Facts } from '../../support/mp4-boxes.ts'
import { call, runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { afterwards, fetchBytes, jobMs, operate } from '../../support/video-calls.ts'

async function begun(parameters: Json = {}, more: Json = {}) {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  const reply = await operate(sandbox, parameters, more)
  const look = () => call(sandbox, `/v1beta/${reply.json.name}`)
  return { clock, sandbox, reply, look }
}

async function finished(parameters: Json = {}, more: Json = {}) {
  const run = await begun(parameters, more)
  await run.clock.advance(jobMs)
  const { json } = await run.look()
  return { ...run, json, result: json.response?.generateVideoResponse }
}

test('the name and nothing else, until it is done', async () => {
  const { reply, look, clock, sandbox } = await begun()
  expect([reply.status, Object.keys(reply.json)]).toEqual([200, ['name']])
  expect(reply.json.name).toMatch(/^models\/sandbox-video\/operations\/[\da-f]{20}$/)
  for (const ms of [0, 99, 1, 399]) {
    await clock.advance(ms)
    expect((await look()).json).toEqual({ name: reply.json.name })
  }
  await clock.advance(1)
  const { json } = await look()
  expect(json).toMatchObject({ name: reply.json.name, done: true })
  expect(json.response['@type']).toMatch(/PredictLongRunningResponse$/)
  const [sample, ...others] = json.response.generateVideoResponse.generatedSamples
  expect(others).toEqual([])
  expect(sample.video.uri).toMatch(new RegExp(`^${sandbox.url}/v1beta/files/[\\da-z]+:download\\?alt=media$`))
  expect([sandbox.created('video-operations'), sandbox.created()]).toEqual([1, 1])
})

test('each video is behind a redirect, and both addresses need the key', async () => {
  const { result, sandbox } = await finished({ sampleCount: 2, durationSeconds: 1 })
  const films: Buffer[] = []
  for (const { video } of result.generatedSamples) {
    expect((await fetch(video.uri)).status).toBe(401)
    const hop = await fetchBytes(video.uri)
    expect([hop.status, JSON.parse(hop.bytes.toString()).error.code]).toEqual([302, 302])
    const next = new URL(hop.headers.get('location')!, sandbox.url)
    expect(next.pathname).toMatch(/^\/download\/v1beta\/files\//)
    expect((await fetch(next)).status).toBe(401)
    const { status, headers, bytes } = await fetchBytes(next.href)
    expect([status, headers.get('content-type')]).toEqual([200, 'video/mp4'])
    expect(headers.get('content-length')).toBe(String(bytes.length))
    films.push(bytes)
  }
  expect(films[0]!.equals(films[1]!)).toBe(false)
})

test.each([
  [{}, 1280, 720, 8],
  [{ aspectRatio: '9:16', durationSeconds: 4 }, 720, 1280, 4],
  [{ resolution: '1080p', durationSeconds: 1 }, 1920, 1080, 1],
  [{ resolution: '1080p', aspectRatio: '9:16', durationSeconds: 1 }, 1080, 1920, 1],
  [{ aspectRatio: '1:1', durationSeconds: 1 }, 720, 720, 1],
  [{ aspectRatio: '3:4', durationSeconds: 1 }, 720, 960, 1],
  [{ aspectRatio: '21:9', resolution: '4k', durationSeconds: 1 }, 4096, 1756, 1],
  [{ aspectRatio: '1:9999', durationSeconds: 1 }, 16, 4096, 1],
  [{ aspectRatio: 'wide', resolution: 'toString', durationSeconds: 1 }, 1280, 720, 1],
])('%j is %i by %i pixels and %i seconds', async (parameters, width, height, seconds) => {
  const { json, sandbox } = await finished(parameters)
  const { bytes } = await fetchBytes(`${sandbox.url}/v1/videos/${json.name.split('/').at(-1)}/content`)
  expect(mp4Facts(bytes)).toMatchObject({ width, height, seconds: [seconds, seconds], frames: seconds * 24 })
})

test('the same request to the same seed is the same film, whatever came before; its own seed makes it another', async () => {
  const film = async (seed: number, parameters: Json, isFirst = true) => {
    const clock = fakeClock()
    const sandbox = await runningSandbox({ clock, seed })
    if (!isFirst) await operate(sandbox, { durationSeconds: 2 })
    const { name } = await afterwards(operate(sandbox, { durationSeconds: 1, ...parameters }), clock)
    const { headers } = await fetchBytes(`${sandbox.url}/v1/videos/${name.split('/').at(-1)}/content`)
    return headers.get('etag')
  }
  const first = await film(1, {})
  expect(await film(1, {}, false)).toBe(first)
  expect(await film(2, {})).not.toBe(first)
  expect(await film(1, { seed: 7 })).not.toBe(first)
})

test('what is withheld is counted, with reasons', async () => {
  const all = await finished({ sampleCount: 2 }, { instances: [{ prompt: 'a boat sandbox:filtered' }] })
  const raiMediaFilteredReasons = [expect.stringContaining('withheld'), expect.any(String)]
  expect(all.result).toEqual({ raiMediaFilteredCount: 2, raiMediaFilteredReasons })
  const some = await finished({ sampleCount: 3 }, { headers: { 'x-sandbox-scenario': 'fewer' } })
  expect([some.result.generatedSamples.length, some.result.raiMediaFilteredCount]).toEqual([2, 1])
  const none = await finished({}, { model: 'sandbox-empty' })
  expect([none.json.done, none.result]).toEqual([true, {}])
})

test('a failure is a google.rpc.Status; a refusal never begins, a stuck operation never ends', async () => {
  const { json } = await finished({}, { instances: [{ prompt: 'sandbox:failure' }] })
  expect(json).toMatchObject({ done: true, error: { code: 13, message: expect.any(String), details: [] } })
  expect(json.response).toBeUndefined()
  const { reply, sandbox } = await begun({}, { instances: [{ prompt: 'sandbox:refusal' }] })
  expect([reply.status, sandbox.created()]).toEqual([400, 0])
  const stuck = await begun({}, { instances: [{ prompt: 'sandbox:stuck' }] })
  await stuck.clock.advance(86_400_000)
  expect((await stuck.look()).json).toEqual(stuck.reply.json)
})

test('a file is gone an hour after completion, at once where that is asked for', async () => {
  const { result, clock } = await finished({ durationSeconds: 1 })
  const { uri } = result.generatedSamples[0].video
  await clock.advance(3_599_999)
  expect((await fetchBytes(uri)).status).toBe(302)
  await clock.advance(1)
  expect((await fetchBytes(uri)).status).toBe(404)
  const early = await finished({}, { instances: [{ prompt: 'sandbox:expired' }] })
  expect((await fetchBytes(early.result.generatedSamples[0].video.uri)).status).toBe(404)
})

test('what is not there is 404 in the envelope of its family', async () => {
  const { sandbox, reply } = await begun()
  const id = reply.json.name.split('/').at(-1)
  for (const path of [
    '/v1beta/models/sandbox-video/operations/abc',
    `/v1beta/models/other/operations/${id}`,
    `/v1beta/files/${id}f0:download?alt=media`,
    `/v1beta/files/${id}f9:download?alt=media`,
    '/v1beta/files/..%2F..%2Fetc:download',
    '/v1beta/files/abc',
    '/download/v1beta/files/abc:download',
    '/v1/models/sandbox-video/operations/abc',
  ]) {
    const { status, json } = await call(sandbox, path)
    expect([path, status, json.error.status]).toEqual([path, 404, 'NOT_FOUND'])
  }
})

test('an instance needs a prompt, a picture or a video; addresses are taken as they are', async () => {
  const sandbox = await runningSandbox()
  const image = { bytesBase64Encoded: 'iVBORw0KGgo=', mimeType: 'image/png' }
  for (const instance of [
    { image },
    { lastFrame: image },
    { image: { gcsUri: 'gs://bucket/a.png', mimeType: 'image/png' } },
    { image: { uri: 'https://files.example/a' }, prompt: 'a boat' },
    { video: { uri: 'https://files.example/v1beta/files/1:download?alt=media' } },
    { video: { gcsUri: 'gs://bucket/a.mp4', mimeType: 'video/mp4' } },
    { video: { encodedVideo: 'AAAA', encoding: 'video/mp4' } },
  ]) {
    const { status } = await operate(sandbox, {}, { instances: [instance] })
    expect([instance, status]).toEqual([instance, 200])
  }
})

// What is wrong on both sides: `specification/service.test.ts`.
test.each<[string, Json, Json?]>([
  ['parameters', undefined],
  ['instances[0].prompt', {}, [{}]],
  ['instances[0].image.bytesBase64Encoded', {}, [{ image: { bytesBase64Encoded: 'not base64!' } }]],
  ['instances[0].prompt', {}, [{ prompt: ' ' }]],
  ['instances[1].prompt', {}, [{ prompt: 'a boat' }, { prompt: 4 }]],
  ['parameters.sampleCount', { sampleCount: 0 }],
  ['parameters.sampleCount', { sampleCount: 17 }],
  ['parameters.durationSeconds', { durationSeconds: 0 }],
  ['parameters.durationSeconds', { durationSeconds: 1e9 }],
  ['parameters.enhancePrompt', { enhancePrompt: 'yes' }],
  ['parameters.sampleCount', { sampleCount: 4 }, Array.from({ length: 5 }, () => ({ prompt: 'a boat' }))],
])('%s is refused: %j %j', async (field, parameters, instances = [{ prompt: 'a boat' }]) => {
  const sandbox = await runningSandbox()
  const body = { parameters, instances }
  const { json } = await call(sandbox, '/v1beta/models/any:predictLongRunning', body)
  const fieldViolations = expect.arrayContaining([expect.objectContaining({ field })])
  expect(json.error).toMatchObject({ code: 400, details: [{ fieldViolations }] })
  expect(sandbox.created()).toBe(0)
})
