import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { testImages } from '../../support/test-images.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { advanceUntilSettled } from '../../gateway/test-gateway.ts'
import { startProgram } from '../start-program.ts'
import { quick, quickUrl, workspaceAt } from './image-run.ts'
import { canaryKey } from '../../support/canary-key.ts'
import { sample } from '../../support/sample.ts'

interface Case {
  readonly fault: FaultRule
  readonly words?: readonly string[]
  readonly exit: number
  /** Creations that the sandbox accepted; none unless told. */
  readonly created?: number
  /** Attempts at creating. */
  readonly attempts?: number
  /** Whether the image is there in the end. */
  readonly saved?: true
  /** What came of the image is kept as x.damaged.png. */
  readonly kept?: true
  /** What is different for an edit, whose body takes longer to send. */
  readonly edit?: { readonly exit: number; readonly attempts: number }
}

const stream = [...quick, '--stream', '--partial-images', '2']
const base64 = [...quickUrl, '--response-format', 'b64_json']
const rateLimit = { action: 'status', status: 429 } as const

const cases: readonly Case[] = [
  { fault: { ...rateLimit, times: 1 }, exit: 0, created: 1, attempts: 2, saved: true },
  {
    fault: { ...rateLimit, times: 1, headers: { 'retry-after': '7' } },
    exit: 0,
    created: 1,
    attempts: 2,
    saved: true,
  },
  { fault: rateLimit, exit: 5, attempts: 3 },
  { fault: { ...rateLimit, headers: { 'retry-after': '500' } }, exit: 5, attempts: 1 },
  { fault: { action: 'status', status: 503, times: 2 }, exit: 0, created: 1, attempts: 3, saved: true },
  { fault: { action: 'status', status: 500 }, exit: 7, attempts: 1 },
  { fault: { action: 'status', status: 502 }, exit: 7, attempts: 1 },
  { fault: { action: 'status', status: 401 }, exit: 3, attempts: 1 },
  { fault: { action: 'status', status: 404 }, exit: 4, attempts: 1 },
  { fault: { action: 'html' }, exit: 8, attempts: 1 },
  { fault: { action: 'error-200' }, exit: 9, attempts: 1 },
  { fault: { action: 'empty' }, exit: 8, created: 1, attempts: 1 },
  { fault: { action: 'not-http' }, exit: 8, attempts: 1 },
  { fault: { action: 'reset' }, exit: 7, created: 1, attempts: 1 },
  // Nobody can have accepted a request that has not gone out whole.
  {
    fault: { action: 'reset', at: 'before-body' },
    exit: 7,
    attempts: 1,
    edit: { exit: 6, attempts: 3 },
  },
  { fault: { action: 'reset', at: 'after-headers' }, exit: 7, created: 1, attempts: 1 },
  { fault: { action: 'reset', at: 2_000 }, exit: 7, created: 1, attempts: 1 },
  { fault: { action: 'close', at: 2_000 }, exit: 7, created: 1, attempts: 1, kept: true },
  { fault: { action: 'cut', at: 2_000 }, exit: 7, created: 1, attempts: 1, kept: true },
  { fault: { action: 'cut', at: 2_000 }, words: stream, exit: 7, created: 1, attempts: 1 },
  { fault: { action: 'reset' }, words: stream, exit: 7, created: 1, attempts: 1 },
  { fault: { action: 'reset', at: 'before-terminal' }, words: stream, exit: 7, created: 1, attempts: 1 },
  {
    fault: { action: 'close', at: 'after-terminal' },
    words: stream,
    exit: 0,
    created: 1,
    attempts: 1,
    saved: true,
  },
  { fault: { action: 'error-event' }, words: stream, exit: 9, created: 1, attempts: 1 },
  // The end of the event is missing, and not the image in it.
  { fault: { action: 'malformed', event: 3 }, words: stream, exit: 7, created: 1, attempts: 1, saved: true },
  { fault: { action: 'drop-terminal' }, words: stream, exit: 7, created: 1, attempts: 1 },
  { fault: { action: 'late-event' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'comments' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'done-marker' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  {
    fault: { action: 'line-endings', value: 'cr' },
    words: stream,
    exit: 0,
    created: 1,
    attempts: 1,
    saved: true,
  },
  {
    fault: { action: 'line-endings', value: 'crlf' },
    words: stream,
    exit: 0,
    created: 1,
    attempts: 1,
    saved: true,
  },
  { fault: { action: 'bom' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'no-blank-line' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'ignore-stream' }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  {
    fault: { action: 'content-type', value: 'text/plain' },
    words: stream,
    exit: 0,
    created: 1,
    attempts: 1,
    saved: true,
  },
  { fault: { action: 'content-type', value: 'text/html' }, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'split', size: 977 }, words: stream, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'split', size: 61 }, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'bad-chunk' }, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'short-length' }, exit: 0, created: 1, attempts: 1, saved: true },
  { fault: { action: 'huge-headers' }, exit: 8, created: 1, attempts: 1 },
]

const named = cases.map((one) => {
  const { action, ...more } = one.fault
  const endpoint = one.words === undefined ? 'a creation' : 'a stream'
  return [`${action} ${JSON.stringify(more)} of ${endpoint}: ${one.exit}`, one] as const
})

describe.each(['create', 'edit'] as const)('%s', (command) => {
  const endpoint = command === 'create' ? 'image-generations' : 'image-edits'

  test.each(sample(named, { quick: 0.25, ci: Infinity }, ([name]) => `${command} ${name}`))(
    '%s',
    async (_, one) => {
      const { fault, words = base64, created = 0, saved, kept } = one
      const { exit, attempts } = command === 'edit' ? { ...one, ...one.edit } : one
      const sandbox = await runningSandbox({ faults: [{ ...fault, endpoint }] })
      const workspace = workspaceAt(sandbox)
      const source = command === 'create' ? [] : ['--image', 'in.png']
      writeFiles(workspace.cwd, { 'in.png': (await testImages(64)).png })
      const { code, out, err } = await workspace.runThroughWaits([
        command,
        ...words,
        ...source,
        '-o',
        'x.png',
        'A kite',
      ])
      const counts = { created: sandbox.created(), attempts: sandbox.requests().length }
      expect({ code, ...counts, err }).toMatchObject({ code: exit, created, attempts })
      const names = ['in.png', ...(kept ? ['x.damaged.png'] : []), ...(saved ? ['x.png'] : [])]
      // What comes before a reset may be lost on its way, or not.
      const found =
        fault.action === 'reset'
          ? workspace.files().filter((name) => name !== 'x.damaged.png')
          : workspace.files()
      expect(found).toEqual(names)
      expect(out).toBe(saved ? 'x.png\n' : '')
      const problems = err.split('\n').filter((line) => line.startsWith('modelgate: '))
      expect(problems.length).toBe(exit === 0 ? 0 : 1)
      // One key for all attempts, so that a gateway can tell them from new orders.
      expect(new Set(sandbox.requests().map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1)
    },
  )
})

test('an image that is sent twice is saved twice, with a word', async () => {
  const sandbox = await runningSandbox({ faults: [{ action: 'duplicate-terminal' }] })
  const workspace = workspaceAt(sandbox)
  const { code, err } = await workspace.run(['create', ...stream, '-o', 'x.png', 'A kite'])
  expect([code, workspace.files(), sandbox.created()]).toEqual([0, ['x-2.png', 'x.png'], 1])
  expect(err).toContain('2 images received, 1 requested.')
})

test.each([
  ['before its head', { action: 'stall', at: 'after-headers' }, base64, 60_000],
  ['in the image', { action: 'stall', at: 2_000 }, base64, 60_000],
  ['in a stream', { action: 'stall', at: 2_000 }, stream, 60_000],
  ['with nothing but comments', { action: 'comments-only', ms: 1 }, stream, 300_000],
] as const)('a reply that falls silent %s: 7, after the limit', async (_, fault, words, limit) => {
  const sandbox = await runningSandbox({ faults: [{ ...fault, endpoint: 'image-generations' }] })
  const cwd = temporaryFolder()
  const env = { MODELGATE_BASE_URL: sandbox.url, MODELGATE_API_KEY: canaryKey() }
  const run = startProgram(['image', 'create', ...words, '-o', 'x.png', 'A kite'], { env, cwd })
  // Until the limit is set, the whole head may not have come.
  await run.until(() => sandbox.created() === 1 && run.clock.asked.includes(limit))
  await advanceUntilSettled(run.clock, limit / 10, run.exitCode, () => true)
  expect(await run.exitCode).toBe(7)
  expect([sandbox.created(), sandbox.requests().length]).toEqual([1, 1])
  expect(readdirSync(cwd).filter((name) => name !== 'x.damaged.png')).toEqual([])
})

test('a download that is cut by the sandbox is resumed, and nothing is made twice', async () => {
  const faults = [{ action: 'reset', at: 1000, endpoint: 'image-files', times: 2 }] as const
  const sandbox = await runningSandbox({ faults })
  const workspace = workspaceAt(sandbox)
  const { code, waits } = await workspace.runThroughWaits(['create', ...quickUrl, '-o', 'x.png', 'A kite'])
  expect([code, waits.length, sandbox.created()]).toEqual([0, 2, 1])
  expect(sandbox.requests().map(({ method, status }) => `${method} ${status}`)).toEqual([
    'POST 200',
    'GET 200',
    'GET 206',
    'GET 206',
  ])
  expect((await workspace.pixels('x.png')).width).toBe(256)
})

test.each([
  ['refusal', 9, 0],
  ['failure', 7, 0],
  ['empty', 9, 1],
  ['fewer', 12, 1],
] as const)('the scenario %s: %i', async (scenario, exit, created) => {
  const sandbox = await runningSandbox()
  const workspace = workspaceAt(sandbox)
  const words = ['create', ...quickUrl, '-n', '2', '-o', 'x.png', `[sandbox:${scenario}] A kite`]
  const { code } = await workspace.run(words)
  expect([code, sandbox.created()]).toEqual([exit, created])
  expect(workspace.files()).toEqual(scenario === 'fewer' ? ['x-1.png'] : [])
})
