import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { main } from '../../../src/main.ts'
import { recordingsIn, textIn } from '../../support/recorder.ts'
import { runMain } from '../../support/run-main.ts'
import { closedPort, localServer } from '../../support/local-server.ts'
import { json } from '../../support/server-replies.ts'
import { runningSandbox, until, type Json } from '../../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const ownKey = 'configured-key-9d1c'

/** `modelgate sandbox` with these flags, until it is ended. */
async function serving(cwd: string, flags: readonly string[], env: Record<string, string> = {}) {
  const context = testContext({ cwd, env: { MODELGATE_STATE_DIR: join(cwd, 'state'), ...env } })
  const ended = main(['sandbox', ...flags], context)
  await Promise.race([until(() => context.stdout.text !== ''), ended])
  const url = context.stdout.text.trim()
  return {
    url,
    async ask(path: string, body: Json, key = 'caller') {
      const headers = { authorization: `Bearer ${key}` }
      const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: reply.status, text: await reply.text() }
    },
    async end() {
      context.abort(new Interrupted('terminate'))
      return { code: await ended, err: context.stderr.text }
    },
    get err() {
      return context.stderr.text
    },
  }
}

test('records a gateway with the configured key, and answers from the recording without it', async () => {
  const cwd = temporaryFolder()
  const gateway = await localServer([json({ n: 1 })])
  const env = { MODELGATE_API_KEY: ownKey }
  const recording = await serving(cwd, ['--record', 'calls', '--upstream', `${gateway.url}/v1`], env)
  expect(await recording.ask('/v1/responses', { input: 'x' })).toEqual({ status: 200, text: '{"n":1}' })
  const { code, err } = await recording.end()
  expect(code).toBe(143)
  expect(err).toContain(`Calls go to ${gateway.url}/ with the configured key`)
  expect(err).toContain('Recorded 1 call.')
  expect(gateway.requests[0]!.line).toBe('POST /v1/responses HTTP/1.1')
  expect(gateway.requests[0]!.headers['authorization']).toBe(`Bearer ${ownKey}`)
  expect(textIn(cwd) + err).not.toContain(ownKey)

  const replaying = await serving(cwd, ['--replay', 'calls', '--strict'])
  expect(await replaying.ask('/v1/responses', { input: 'x' })).toEqual({ status: 200, text: '{"n":1}' })
  const end = await replaying.end()
  expect(end.code).toBe(143)
  expect(end.err).toContain('Answered from 1 of 1 recording.')
})

test('takes the gateway from the configuration, and the key of the caller where none is configured', async () => {
  const cwd = temporaryFolder()
  const gateway = await localServer([json({})])
  const recording = await serving(cwd, ['--record', 'calls'], { MODELGATE_BASE_URL: gateway.url })
  await recording.ask('/v1/responses', {}, 'callers-key-1')
  expect(recording.err).toContain('with the key that each caller sends')
  expect(gateway.requests[0]!.headers['authorization']).toBe('Bearer callers-key-1')
  await recording.end()
})

test('ends with 12 when a call could not be recorded; says which even when quiet', async () => {
  const cwd = temporaryFolder()
  const gateway = await localServer([json({ n: 1 })])
  const env = { MODELGATE_API_KEY: ownKey }
  const recording = await serving(cwd, ['-q', '--record', 'calls', '--upstream', gateway.url], env)
  expect((await recording.ask('/v1/responses', { input: ownKey })).text).toBe('{"n":1}')
  expect(recording.err).toBe('Not recorded: POST /v1/responses: the request holds the key in use.\n')
  const { code, err } = await recording.end()
  expect(code).toBe(12)
  expect(err).toContain('1 call could not be recorded.')
  expect(err).not.toContain(ownKey)
  expect(recordingsIn(join(cwd, 'calls'))).toEqual([])
})

const old = JSON.stringify({
  format: 'modelgate-recording-1',
  recorded: '1969-11-20T00:00:00.000Z',
  request: { method: 'POST', path: '/v1/responses', body: { json: { input: 'x' } } },
  reply: { status: 200, body: { text: 'old' } },
})

test.for([
  ['with --strict a recording that was not used', ['--strict'], 'x', 12, '1 recording not used: b.json.'],
  ['with --strict a request that had none', ['--strict'], 'y', 12, '1 request had no recording.'],
  ['without --strict neither', [], 'y', 143, 'no recording. 2 recordings not used: a.json, b.json.'],
] as const)('%s fails the run', async ([, flags, input, expected, message]) => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'calls/a.json': old, 'calls/b.json': old.replace('responses', 'other') })
  const replaying = await serving(cwd, ['--replay', 'calls', ...flags])
  await replaying.ask('/v1/responses', { input })
  const { code, err } = await replaying.end()
  expect(code).toBe(expected)
  expect(err.split(message)).toHaveLength(2)
})

test.for([
  [['--record', 'a', '--replay', 'b'], /--record and --replay cannot be used together/],
  [['--record', 'a'], /--record needs the gateway to record/],
  [['--record', 'a', '--upstream', 'http://gateway.example'], /--upstream.*clear text/],
  [['--record', 'a', '--upstream', 'https://user:pw@gateway.example'], /--upstream.*user name or password/],
  [['--upstream', 'https://gateway.example'], /--upstream only means something with --record/],
  [['--pace', 'fast'], /--pace only means something with --replay/],
  [['--strict'], /--strict only means something with --replay/],
  [['--replay', 'calls', '--pace', 'slow'], /--pace must be one of fast, real/],
  [['--replay', 'calls', '--pace', 'real', '--latency', '5'], /cannot be used together/],
  [['--replay', 'calls', '--api-key-file', 'k'], /--api-key-file only means something with --record/],
  [['--json'], /unknown option '--json'/],
] as const)('%j is refused', async ([flags, message]) => {
  const { code, err, out } = await runMain(['sandbox', ...flags], { cwd: temporaryFolder() })
  expect([code, out]).toEqual([2, ''])
  expect(err).toMatch(message)
})

test('a folder of recordings that is missing is told before anything is served', async () => {
  const { code, err, out } = await runMain(['sandbox', '--replay', 'gone'], { cwd: temporaryFolder() })
  expect([code, out]).toEqual([10, ''])
  expect(err).toMatch(/does not exist/)
})

test('a recorder does not record itself', async () => {
  const port = await closedPort()
  const flags = ['--port', `${port}`, '--record', 'calls', '--upstream', `http://localhost:${port}`]
  const { code, err } = await runMain(['sandbox', ...flags], { cwd: temporaryFolder() })
  expect([code, err]).toEqual([2, 'modelgate: --upstream is the address of this sandbox itself.\n'])
})

test('a command with the base URL of the replay works offline', async () => {
  const cwd = temporaryFolder()
  const gateway = await runningSandbox()
  const recording = await serving(cwd, ['--record', 'calls', '--upstream', gateway.url])
  const env = (url: string) => ({ MODELGATE_BASE_URL: url, MODELGATE_API_KEY: 'any-key' })
  const live = await runMain(['respond', 'Name a river'], { cwd, env: env(recording.url) })
  await recording.end()
  await gateway.close()
  const replaying = await serving(cwd, ['--replay', 'calls'])
  const replay = await runMain(['respond', 'Name a river'], { cwd, env: env(replaying.url) })
  expect(replay).toMatchObject({ code: 0, out: live.out })
  const missed = await runMain(['respond', 'Name a lake'], { cwd, env: env(replaying.url) })
  expect(missed.code).toBe(4)
  expect(missed.err).toContain('differs in: input')
  await replaying.end()
})
