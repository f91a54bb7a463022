import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import type { Sandbox } from '../../src/sandbox/start-sandbox.ts'
import { recorder } from '../support/recorder.ts'
import { respond, runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const ids = [
  '../secret',
  '..%2fsecret',
  '%2e%2e/secret',
  '%252e%252e%252fsecret',
  '..%5csecret',
  '.%00./secret',
  '/etc/passwd',
  '%c0%ae%c0%ae%2fsecret',
  '%0d%0aX-Injected:%20yes',
  '%zz',
  '__proto__',
  '../'.repeat(20_000),
]

const places: readonly (readonly [method: string, path: (id: string) => string])[] = [
  ['GET', (id) => `/v1/responses/${id}`],
  ['POST', (id) => `/v1/responses/${id}/cancel`],
  ['GET', (id) => `/v1/videos/${id}`],
  ['GET', (id) => `/v1/videos/${id}/content`],
  ['DELETE', (id) => `/v1/videos/${id}`],
  ['POST', (id) => `/v1/videos/${id}/remix`],
  ['GET', (id) => `/v1beta/models/sandbox-video/operations/${id}`],
  ['GET', (id) => `/v1beta/models/${id}/operations/secret`],
  ['GET', (id) => `/v1beta/files/${id}:download?alt=media`],
  ['GET', (id) => `/v1/files/http://127.0.0.1/files/${id}:download`],
  ['GET', (id) => `/download/v1beta/files/${id}:download`],
  ['GET', (id) => `/sandbox/images/${id}`],
  ['GET', (id) => `/v1/models/${id}`],
]

/** Sends a path as it is: `fetch` would resolve the dots. */
async function ask(sandbox: Sandbox, method: string, path: string) {
  const headers = { authorization: 'Bearer x', 'content-type': 'application/json' }
  const sent = request(sandbox.url, { path, method, headers, agent: false })
  sent.end(method === 'POST' ? '{"prompt":"hi"}' : undefined)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode!, headers: response.headers, text: await textOf(response) }
}

test(`${ids.length * places.length} names that lead elsewhere find nothing, and remove nothing`, async () => {
  const around = temporaryFolder()
  const folder = join(around, 'jobs')
  const canary = randomBytes(16).toString('hex')
  mkdirSync(folder)
  for (const at of [around, folder]) {
    for (const name of ['secret', 'secret.json'])
      writeFileSync(join(at, name), JSON.stringify({ id: 'secret', kind: 'video', canary }))
  }
  const sandbox = await runningSandbox({ folder, keepsAllResponses: true })
  await respond(sandbox, 'hi')
  const wrong: unknown[] = []
  for (const [method, path] of places) {
    for (const id of ids) {
      const { status, headers, text } = await ask(sandbox, method, path(id))
      const isRefused = status >= 400 && status < 500 && !text.includes(canary)
      if (!isRefused || headers['x-injected'] !== undefined || headers['set-cookie'] !== undefined)
        wrong.push([method, path(id).slice(0, 100), status])
    }
  }
  expect(wrong).toEqual([])
  expect(readdirSync(around).toSorted()).toEqual(['jobs', 'secret', 'secret.json'])
  expect(readdirSync(folder).toSorted()).toEqual(['responses', 'secret', 'secret.json'])
  expect((await respond(sandbox, 'hi')).status).toBe(200)
})

test('recordings of such paths stay in their folder', async () => {
  const recording = await recorder((await runningSandbox()).url)
  for (const id of ids) await ask(recording, 'GET', `/v1/responses/${id}`)
  const names = readdirSync(recording.folder)
  expect(names.length).toBeGreaterThan(5)
  expect(names.filter((name) => !/^\d{4}-[a-z\d-]+\.json$/.test(name))).toEqual([])
})
