import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { respond, runningSandbox } from '../support/running-sandbox.ts'
import { changedRequests, halfRequests, refusedRequests, type RawRequest } from './raw-requests.ts'

/** Sends the bytes. @returns the statuses of all replies until the connection closed */
function statusesOf(sandbox: Sandbox, { bytes, ending }: RawRequest): Promise<number[]> {
  const { hostname, port } = new URL(sandbox.url)
  const socket = connect(Number(port), hostname)
  let received = ''
  const { promise, resolve } = Promise.withResolvers<number[]>()
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
    // One that is kept open has answered all that it will.
    if (ending === 'wait') socket.end()
  })
  socket.on('error', () => {})
  socket.on('close', () => {
    resolve(Array.from(received.matchAll(/^HTTP\/1\.1 (\d{3}) /gm), ([, status]) => Number(status)))
  })
  if (ending === 'end') socket.end(bytes, 'latin1')
  else socket.write(bytes, 'latin1', () => ending === 'reset' && socket.resetAndDestroy())
  return promise
}

test(`${refusedRequests.length} malformed requests are refused with 4xx or closed`, async () => {
  const sandbox = await runningSandbox()
  const answered: (readonly [string, readonly number[]])[] = []
  for (const request of refusedRequests) {
    const statuses = await statusesOf(sandbox, request)
    if (statuses.some((status) => status < 400 || status > 499)) answered.push([request.name, statuses])
    if (sandbox.created() > 0) throw new Error(`Obeyed: ${request.name}`)
  }
  expect(answered).toEqual([])
  expect(refusedRequests.length).toBeGreaterThanOrEqual(180)
  expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect(sandbox.created()).toBe(1)
})

test(`${halfRequests.length} requests that stop short create nothing`, async () => {
  const sandbox = await runningSandbox()
  const statuses = await Promise.all(halfRequests.map((request) => statusesOf(sandbox, request)))
  expect(statuses.flat().filter((status) => status !== 400)).toEqual([])
  expect((await respond(sandbox, 'hi')).status).toBe(200)
  expect(sandbox.created()).toBe(1)
})

test(`${changedRequests.length} requests with changed bytes never make the sandbox fail`, async () => {
  const sandbox = await runningSandbox()
  const statuses = await Promise.all(changedRequests.map((request) => statusesOf(sandbox, request)))
  expect(statuses.flat().filter((status) => status >= 500)).toEqual([])
  expect(statuses.flat().filter((status) => status === 400).length).toBeGreaterThan(50)
  expect((await respond(sandbox, 'hi')).status).toBe(200)
})
