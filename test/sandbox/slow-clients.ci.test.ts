import { expect, test } from 'vitest'
import { respond, runningSandbox, until } from '../support/running-sandbox.ts'
import { crowdOf, desertersOf, serverOf } from './crowds.ts'
import { openResources } from './open-resources.ts'

test('a request has five minutes to arrive and its headers one, unless a fault leaves bodies unread', async () => {
  const sandbox = await runningSandbox()
  const { headersTimeout, requestTimeout } = await serverOf(() => respond(sandbox, 'hi'))
  expect([headersTimeout, requestTimeout]).toEqual([60_000, 300_000])
  const stalling = await runningSandbox({ faults: [{ id: 'a', action: 'stall', at: 'before-body', ms: 1 }] })
  const patient = await serverOf(() => respond(stalling, 'hi'))
  expect([patient.headersTimeout, patient.requestTimeout]).toEqual([60_000, 0])
})

test('200 clients that stop in the middle of a request hold nobody up', async () => {
  const sandbox = await runningSandbox()
  await crowdOf(sandbox, 200)
  for (let count = 0; count < 10; count++) expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect(sandbox.created()).toBe(10)
})

test('200 clients that leave in the middle of a stream or an upload leave nothing open', async () => {
  const sandbox = await runningSandbox({ latency: 20 })
  const before = openResources()
  await desertersOf(sandbox, 200)
  const { TCPSocketWrap = 0, Timeout = 0 } = before
  await until(() => (openResources()['TCPSocketWrap'] ?? 0) <= TCPSocketWrap)
  expect(openResources()['Timeout'] ?? 0).toBeLessThanOrEqual(Timeout + 1)
  expect(sandbox.requests()).toHaveLength(200)
})
