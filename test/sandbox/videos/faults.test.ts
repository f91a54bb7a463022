import { expect, test } from 'vitest'
import type { EndpointName } from '../../../src/sandbox/faults/fault-rule.ts'
import type { FaultRule, Sandbox } from '../../../src/sandbox/start-sandbox.ts'
import { call, runningSandbox, type Answer } from '../../support/running-sandbox.ts'
import { fetchBytes, makeVideo, operate, remix } from '../../support/video-calls.ts'

const source = 'video_sandbox_source'

const creations: readonly (readonly [EndpointName, (sandbox: Sandbox) => Promise<Answer>])[] = [
  ['video-operations', (sandbox) => operate(sandbox)],
  ['video-create', (sandbox) => makeVideo(sandbox)],
  ['video-remix', (sandbox) => remix(sandbox, source)],
]

async function withFault(
  endpoint: EndpointName,
  ask: (sandbox: Sandbox) => Promise<unknown>,
  fault: FaultRule,
) {
  const sandbox = await runningSandbox({ faults: [{ endpoint, ...fault }] })
  const answer = await ask(sandbox).catch((error: Error) => error)
  expect(sandbox.firedFaults()).toHaveLength(1)
  return { sandbox, answer }
}

test.each(creations)('%s: a status is no creation, a lost reply is one', async (endpoint, ask) => {
  const refused = await withFault(endpoint, ask, { action: 'status', status: 429 })
  expect(refused.answer).toMatchObject({ status: 429 })
  expect(refused.sandbox.created()).toBe(0)
  for (const [at, created] of [
    ['before-body', 0],
    ['before-headers', 1],
  ] as const) {
    const { sandbox, answer } = await withFault(endpoint, ask, { action: 'reset', at })
    expect(answer).toBeInstanceOf(Error)
    expect(sandbox.created(endpoint)).toBe(created)
  }
})

test('a remix whose reply was lost has begun all the same', async () => {
  const fault: FaultRule = { action: 'reset', at: 'before-headers' }
  const { sandbox } = await withFault('video-remix', (one) => remix(one, source), fault)
  const { json } = await call(sandbox, '/v1/videos')
  expect(json.data[0]).toMatchObject({ remixed_from_video_id: source })
})

test.each<[EndpointName, string]>([
  ['video-lookup', `/v1/videos/${source}`],
  ['video-lookup', '/v1/videos'],
  ['operation-lookup', '/v1beta/models/any/operations/abc'],
  ['video-content', `/v1/videos/${source}/content`],
  ['video-files', '/v1beta/files/abc:download'],
  ['video-files', '/download/v1beta/files/abc:download'],
])('%s answers as the fault says: %s', async (endpoint, path) => {
  const fault: FaultRule = { action: 'status', status: 403, body: 'expired' }
  const { answer } = await withFault(endpoint, (sandbox) => call(sandbox, path), fault)
  expect(answer).toMatchObject({ status: 403, text: 'expired' })
})

async function download(fault: FaultRule) {
  const fetchIt = (sandbox: Sandbox) => fetchBytes(`${sandbox.url}/v1/videos/${source}/content`)
  return (await withFault('video-content', fetchIt, fault)).answer as Awaited<ReturnType<typeof fetchBytes>>
}

test('a download is cut, broken off, and made slow', async () => {
  const whole = await download({ action: 'headers', headers: { 'x-nothing': '1' } })
  expect((await download({ action: 'cut', at: 1000 })).bytes).toHaveLength(1000)
  expect(await download({ action: 'close', at: 5000 })).toBeInstanceOf(Error)
  expect(await download({ action: 'short-length' })).toBeInstanceOf(Error)
  const slow = await download({ action: 'drip', size: 20_000, ms: 1 })
  expect(slow.bytes.equals(whole.bytes)).toBe(true)
})
