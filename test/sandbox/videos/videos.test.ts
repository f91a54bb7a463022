import { expect, test } from 'vitest'
import { pacingOf } from '../../../src/sandbox/http/reply.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { mp4Facts } from '../../support/mp4-boxes.ts'
import { call, runningSandbox, type Json } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'
import { afterwards, fetchBytes, jobMs, makeVideo, operate, remix } from '../../support/video-calls.ts'

const source = 'video_sandbox_source'

async function place() {
  const clock = fakeClock()
  const sandbox = await runningSandbox({ clock })
  return { clock, sandbox }
}

async function begun(body: Json = {}, headers: Json = {}) {
  const { clock, sandbox } = await place()
  const { json, status } = await makeVideo(sandbox, body, headers)
  const look = () => call(sandbox, `/v1/videos/${json.id}`)
  return { clock, sandbox, json, status, look }
}

test('what is not set yet is left out, for no field is nullable', async () => {
  const { json, clock, look } = await begun({ model: 'sora-2', size: '1280x720' })
  const createdAt = clock.now() / 1000
  const wishes = { model: 'sora-2', prompt: 'a paper boat', seconds: '1', size: '1280x720' }
  const fields = {
    id: expect.stringMatching(/^video_[\da-f]{48}$/),
    object: 'video',
    created_at: createdAt,
    ...wishes,
  }
  expect(json).toEqual({ ...fields, status: 'queued', progress: 0 })
  await clock.advance(600)
  const times = { completed_at: createdAt, expires_at: createdAt + 3600 }
  expect((await look()).json).toEqual({ ...fields, status: 'completed', progress: 100, ...times })
})

test('it waits, runs with growing progress, and is completed', async () => {
  const { clock, look } = await begun()
  const seen: Json[] = []
  for (let step = 0; step <= 10; step++) {
    seen.push((await look()).json)
    await clock.advance(jobMs / 10)
  }
  const states = seen.map(({ status }) => status)
  expect([...new Set(states)]).toEqual(['pending', 'in_progress', 'completed'])
  const progress = seen.map((video) => video.progress)
  expect(progress).toEqual(progress.toSorted((one, other) => one - other))
  expect(new Set(progress).size).toBeGreaterThan(5)
})

test('the client is told when to ask again, while there is something to wait for', async () => {
  const { clock, sandbox } = await place()
  const video = await makeVideo(sandbox)
  const operation = await operate(sandbox)
  const both = [
    ['openai-poll-after-ms', video, `/v1/videos/${video.json.id}`],
    ['retry-after-ms', operation, `/v1beta/${operation.json.name}`],
  ] as const
  for (const [name, begun, path] of both) {
    expect(begun.headers.get(name)).toBe('100')
    expect((await call(sandbox, path)).headers.get(name)).toBe('100')
  }
  await clock.advance(jobMs)
  for (const [name, , path] of both) expect((await call(sandbox, path)).headers.get(name)).toBeNull()
})

test('with natural latency a job takes four seconds, with a number ten steps and a wait', () => {
  expect(pacingOf('natural')).toEqual({ pendingMs: 700, runningMs: 3300, pollMs: 1000 })
  expect(pacingOf(20)).toEqual({ pendingMs: 20, runningMs: 200, pollMs: 20 })
})

test('scenarios by header and by model: a job that is stuck, a refusal that is no creation', async () => {
  const stuck = await begun({}, { 'x-sandbox-scenario': 'stuck' })
  await stuck.clock.advance(jobMs)
  expect((await stuck.look()).json).toMatchObject({ status: 'in_progress', progress: 42 })
  const { status, json, sandbox } = await begun({ model: 'sandbox-refusal' })
  expect([status, json.error.code, sandbox.created()]).toEqual([400, 'moderation_blocked', 0])
})

test('the content: not before completion, not after expiry, in between with a strong tag and in parts', async () => {
  const { json, sandbox, clock } = await begun({ size: '720x1280', seconds: 2 })
  const url = `${sandbox.url}/v1/videos/${json.id}/content`
  const early = await fetchBytes(url)
  expect([early.status, early.bytes.toString()]).toEqual([400, expect.stringContaining('pending')])
  await clock.advance(jobMs)
  const whole = await fetchBytes(url)
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'video/mp4'])
  expect(whole.headers.get('content-length')).toBe(String(whole.bytes.length))
  expect(mp4Facts(whole.bytes)).toMatchObject({ width: 720, height: 1280, seconds: [2, 2] })
  expect(whole.headers.get('etag')).toMatch(/^"[\da-f]{64}"$/)
  // Nobody has to be sent a part.
  expect((await fetchBytes(url, { range: 'bytes=1000-' })).status).toBe(200)
  expect((await fetchBytes(url, { authorization: '' })).status).toBe(401)
  await clock.advance(3_600_000)
  const late = await fetchBytes(url)
  expect([late.status, JSON.parse(late.bytes.toString()).error.code]).toEqual([410, 'video_expired'])
})

test('the poll helper of an official client is told what it knows: queued, where the contract says pending', async () => {
  const { sandbox } = await place()
  const { json } = await makeVideo(sandbox)
  const statusFor = async (headers: Readonly<Record<string, string>>) =>
    (await call(sandbox, `/v1/videos/${json.id}`, undefined, { headers })).json.status
  expect(json.status).toBe('queued')
  expect(await statusFor({ 'X-Stainless-Poll-Helper': 'true' })).toBe('queued')
  expect(await statusFor({})).toBe('pending')
})

test('a remix has the length and the size of its source, and another picture', async () => {
  const { sandbox, clock } = await place()
  const made = await afterwards(makeVideo(sandbox, { size: '1280x720', seconds: '1' }), clock)
  const reply = await remix(sandbox, made.id)
  const own = { status: 'pending', model: 'sora-2', remixed_from_video_id: made.id, error: null }
  expect(reply.json).toMatchObject({ ...own, seconds: '1', size: '1280x720' })
  await clock.advance(jobMs)
  const again = await afterwards(remix(sandbox, reply.json.id, { prompt: 'a red dusk' }), clock)
  const films = []
  for (const id of [made.id, reply.json.id, again.id]) {
    films.push((await fetchBytes(`${sandbox.url}/v1/videos/${id}/content`)).headers.get('etag'))
  }
  expect(new Set(films).size).toBe(3)
  expect([sandbox.created('video-create'), sandbox.created('video-remix')]).toEqual([1, 2])
})

test('a remix of an operation, whose size becomes that of a video', async () => {
  const { sandbox, clock } = await place()
  const wishes = { aspectRatio: '9:16', resolution: '1080p', durationSeconds: 2 }
  const { name } = await afterwards(operate(sandbox, wishes), clock)
  const id = name.split('/').at(-1)
  const { json } = await remix(sandbox, id)
  expect(json).toMatchObject({ remixed_from_video_id: id, size: '720x1280', seconds: '2' })
  await clock.advance(jobMs)
  const { bytes } = await fetchBytes(`${sandbox.url}/v1/videos/${json.id}/content`)
  expect(mp4Facts(bytes)).toMatchObject({ width: 720, height: 1280, seconds: [2, 2] })
})

test('only completed videos are remixed: the message has the state', async () => {
  const { sandbox, clock } = await place()
  const refusal = async (id: string) => {
    const { status, json } = await remix(sandbox, id)
    return `${status} ${json.error.message}`
  }
  const running = (await makeVideo(sandbox)).json.id
  expect(await refusal(running)).toMatch(/^400 .*pending/)
  await clock.advance(200)
  expect(await refusal(running)).toMatch(/^400 .*in_progress/)
  const failed = await afterwards(makeVideo(sandbox, { prompt: 'sandbox:failure' }), clock)
  expect(await refusal(failed.id)).toMatch(/^400 .*failed/)
  const filtered = { instances: [{ prompt: 'sandbox:filtered' }] }
  const { name } = await afterwards(operate(sandbox, {}, filtered), clock)
  expect(await refusal(name.split('/').at(-1))).toMatch(/^400 .*no video/)
  expect(await refusal('video_unknown')).toMatch(/^404 .*video_unknown/)
  expect(sandbox.created('video-remix')).toBe(0)
})

test.each<[string, Json]>([
  ['prompt', { prompt: undefined }],
  ['seconds', { seconds: '0' }],
  ['seconds', { seconds: 61 }],
  ['seconds', { seconds: '4.5' }],
  ['size', { size: '1x1' }],
  ['model', { model: 'dall-e-3' }],
  ['input_reference', { input_reference: 'https://example.com/a.png' }],
  ['colour', { colour: 'red' }],
])('a video is refused for its %s: %j', async (param, body) => {
  const { sandbox } = await place()
  const { status, json } = await makeVideo(sandbox, body)
  expect([status, json.error.param, sandbox.created()]).toEqual([400, param, 0])
})

test('forms are taken as well', async () => {
  const { sandbox } = await place()
  const { png } = await testImages(32)
  const send = async (path: string, fields: Json, file?: string) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, String(value))
    if (file !== undefined) form.append(file, new File([Buffer.from(png)], 'first', { type: 'image/png' }))
    const headers = { authorization: 'Bearer test-key' }
    const response = await fetch(sandbox.url + path, { method: 'POST', headers, body: form })
    return (await response.json()) as Json
  }
  const fields = { prompt: 'a boat', seconds: '4', size: '1280x720' }
  const made = await send('/v1/videos', fields, 'input_reference')
  expect(made).toMatchObject({ seconds: '4', model: 'sandbox-video' })
  const remixed = await send(`/v1/videos/${source}/remix`, { prompt: 'night', model: 'sora-2' })
  expect(remixed).toMatchObject({ remixed_from_video_id: source })
  expect((await send('/v1/videos', fields, 'picture')).error.param).toBe('picture')
})

test('the list has pages, newest first or oldest first', async () => {
  const { sandbox, clock } = await place()
  const ids: string[] = [source]
  for (let count = 0; count < 3; count++) {
    ids.push((await makeVideo(sandbox)).json.id)
    await clock.advance(1)
  }
  await operate(sandbox)
  const page = async (query: string) => {
    const { json } = await call(sandbox, `/v1/videos?${query}`)
    return [json.data.map(({ id }: Json) => id), json.has_more, json.first_id, json.last_id]
  }
  expect(await page('')).toEqual([ids.toReversed(), false, ids[3], source])
  expect(await page('limit=2&order=asc')).toEqual([ids.slice(0, 2), true, source, ids[1]])
  expect(await page(`limit=2&order=asc&after=${ids[1]}`)).toEqual([ids.slice(2), false, ids[2], ids[3]])
  expect(await page('limit=0')).toEqual([[], true, null, null])
  for (const query of ['limit=101', 'limit=-1', 'order=up', 'after=nobody']) {
    const { status, json } = await call(sandbox, `/v1/videos?${query}`)
    expect([status, json.error.param]).toEqual([400, query.split('=')[0]])
  }
})

test('only what is over can be deleted, and then it is gone', async () => {
  const { json, sandbox, clock } = await begun()
  const remove = () => call(sandbox, `/v1/videos/${json.id}`, undefined, { method: 'DELETE' })
  expect((await remove()).status).toBe(400)
  await clock.advance(jobMs)
  expect((await remove()).json).toEqual({ id: json.id, object: 'video.deleted', deleted: true })
  expect((await remove()).status).toBe(404)
  expect((await call(sandbox, `/v1/videos/${json.id}/content`)).status).toBe(404)
})
