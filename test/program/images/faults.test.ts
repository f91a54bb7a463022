import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runningSandbox } from '../../support/running-sandbox.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { advanceUntilSettled } from '../../gateway/test-gateway.ts'
import { startProgram } from '../start-program.ts'
import { quick, quickUrl, workspaceAt } from './image-run.ts'
import { canaryKey } from '../../support/canary-key.ts'

const stream = [...quick, '--stream', '--partial-images', '2']
const base64 = [...quickUrl, '--response-format', 'b64_json']
// What else a gateway may do wrong is tried at image calls, too, by the fault rows (test/faults).

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

test('a download that is cut by the sandbox begins again, and nothing is made twice', async () => {
  const faults = [{ action: 'reset', at: 1000, endpoint: 'image-files', times: 2 }] as const
  const sandbox = await runningSandbox({ faults })
  const workspace = workspaceAt(sandbox)
  const { code, waits } = await workspace.runThroughWaits(['create', ...quickUrl, '-o', 'x.png', 'A kite'])
  expect([code, waits.length, sandbox.created()]).toEqual([0, 2, 1])
  expect(sandbox.requests().map(({ method, status }) => `${method} ${status}`)).toEqual([
    'POST 200',
    'GET 200',
    'GET 200',
    'GET 200',
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
