import { once } from 'node:events'
import { expect, test } from 'vitest'
import { respond, runningSandbox, until } from '../support/running-sandbox.ts'
import { crowdOf, desertersOf, openResources, serverOf } from './crowds.ts'

test('1,000 clients that stop in the middle of a request hold nobody up, and are let go after a while', async () => {
  const sandbox = await runningSandbox()
  const sockets = await crowdOf(sandbox, 1_000)
  const server = await serverOf(() => respond(sandbox, 'hi'))
  for (let count = 1; count < 20; count++) expect((await respond(sandbox, 'hi')).status).toBe(200)
  // What takes minutes. The server looks at its connections every half minute.
  Object.assign(server, { headersTimeout: 1, requestTimeout: 1 })
  await Promise.all(sockets.map((socket) => socket.resume().closed || once(socket, 'close')))
  expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect(sandbox.created()).toBe(21)
})

test('1,000 clients that leave in the middle of a stream or an upload leave nothing open', async () => {
  const sandbox = await runningSandbox({ latency: 20 })
  const before = openResources()
  await desertersOf(sandbox, 1_000)
  const { TCPSocketWrap = 0, Timeout = 0 } = before
  await until(() => (openResources()['TCPSocketWrap'] ?? 0) <= TCPSocketWrap)
  expect(openResources()['Timeout'] ?? 0).toBeLessThanOrEqual(Timeout + 1)
  expect(sandbox.requests()).toHaveLength(1_000)
})
