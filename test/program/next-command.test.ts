import { expect, test } from 'vitest'
import { runMain } from '../support/run-main.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { localServer } from '../support/local-server.ts'
import { json } from '../support/server-replies.ts'
import { canaryKey } from '../support/canary-key.ts'

interface Failure {
  readonly code: number
  readonly hint: string | null
  readonly next: readonly string[] | null
}

async function failureOf(
  argv: readonly string[],
  overrides: Parameters<typeof runMain>[1] = {},
): Promise<Failure> {
  const { code, err } = await runMain([...argv, '--json'], overrides)
  const line = err.trimEnd().split('\n').at(-1)!
  const { error } = JSON.parse(line) as { error: Omit<Failure, 'code'> }
  return { code, hint: error.hint, next: error.next }
}

test.each([
  [
    ['vidoe', 'status'],
    ['modelgate', 'video', 'status', '--json'],
  ],
  [['job'], ['modelgate', 'jobs', '--json']],
  [['history'], ['modelgate', 'log', '--json']],
  [
    ['image', 'generate', 'x'],
    ['modelgate', 'image', 'create', 'x', '--json'],
  ],
  [
    ['respond', '--max-tokens', '5', 'x'],
    ['modelgate', 'respond', '--max-output-tokens', '5', 'x', '--json'],
  ],
  [
    ['video', 'generate', '--seconds=4', 'x'],
    ['modelgate', 'video', 'generate', '--duration-seconds=4', 'x', '--json'],
  ],
  [
    ['generate', '--modle', 'a b', 'x'],
    ['modelgate', 'generate', '--model', 'a b', 'x', '--json'],
  ],
  [
    ['help', 'video', 'stauts'],
    ['modelgate', 'help', 'video', 'status'],
  ],
])('a near miss leads to what was meant: %j', async (argv, next) => {
  expect(await failureOf(argv)).toMatchObject({ code: 2, next })
})

test.each([
  [['generate', '--api-key', 'sk-1', 'x']],
  [['generate', '--api-key-fiel', 'sk-1', 'x']],
  [['zzzzzz']],
  [['generate', '--nonsense', 'x']],
  [['generate', '--timeout', 'soon', 'x']],
])('nothing is suggested for %j', async (argv) => {
  expect(await failureOf(argv)).toMatchObject({ code: 2, next: null })
})

test('where nothing is set up, init is next', async () => {
  const home = temporaryFolder()
  const overrides = { home, cwd: home, env: { HOME: home } }
  expect(await failureOf(['generate', '-m', 'a', 'x'], overrides)).toMatchObject({
    code: 2,
    next: ['modelgate', 'init'],
  })
})

test('a job that runs leads to the command that waits for it, and the hint names the same', async () => {
  const running = { id: 'video_1', object: 'video', status: 'in_progress' }
  const server = await localServer([json(running)])
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const argv = ['video', 'remix', '-m', 'm', 'video_1', 'Make it night']
  const { code, hint, next } = await failureOf(argv, { env, cwd: temporaryFolder() })
  expect(code).toBe(2)
  expect(next).toEqual(['modelgate', 'wait', 'video_1'])
  expect(hint).toBe(`Wait for it first: ${next!.join(' ')} (--no-check sends it anyway.)`)
})

test('what the gateway did not accept leads to the same call', async () => {
  const busy = json({}, { status: 503, headers: { 'retry-after': '300' } })
  const server = await localServer([busy, busy])
  const argv = ['image', 'create', '-m', 'm', 'A boat']
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const cwd = temporaryFolder()
  const next = ['modelgate', ...argv, '--json']
  expect(await failureOf(argv, { env, cwd })).toMatchObject({ code: 5, next })
  // What was piped in is gone.
  const piped = ['image', 'create', '-m', 'm', '-']
  expect(await failureOf(piped, { env, cwd, stdin: 'A boat' })).toMatchObject({ code: 5, next: null })
})

test('an outcome that is not known leads nowhere: the call may have been billed', async () => {
  const server = await localServer([json({}, { status: 502 })])
  const env = { MODELGATE_BASE_URL: server.url, MODELGATE_API_KEY: canaryKey() }
  const call = ['image', 'create', '-m', 'm', 'A boat']
  expect(await failureOf(call, { env, cwd: temporaryFolder() })).toMatchObject({ code: 7, next: null })
})
