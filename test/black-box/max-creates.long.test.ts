import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { runningSandbox, until } from '../support/running-sandbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { spawnProgram } from './spawn-program.ts'

const words = ['respond', '-m', 'sandbox-text', '-q', '--max-retries', '0', 'Hi']

/** A loop over single calls, as an agent or a script has it; prints the exit code of each. */
const loop = (calls: number) =>
  `for i in $(seq ${calls}); do modelgate "$@" > answer 2> trouble; echo $?; done`

async function machine(limit: number) {
  const sandbox = await runningSandbox()
  const state = temporaryFolder()
  const env = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_STATE_DIR: state,
    MODELGATE_MAX_CREATES: String(limit),
  }
  const created = () => sandbox.requests().filter((request) => request.created).length
  const lines = () =>
    readdirSync(join(state, 'calls'))
      .filter((name) => name.endsWith('.jsonl'))
      .flatMap((name) => readFileSync(join(state, 'calls', name), 'utf8').match(/.+(?=\n)/g) ?? [])
  return { sandbox, env, created, lines }
}

test('sixteen loops at once create exactly as much as they may', async () => {
  const { env, created, lines } = await machine(100)
  const loops = Array.from({ length: 16 }, () => spawnProgram(words, { shell: loop(8), env }))
  const ended = await Promise.all(loops.map((loop) => loop.ended))
  const codes = ended.flatMap(({ stdout }) => stdout.toString().trim().split('\n'))
  const count = (wanted: string) => codes.filter((code) => code === wanted).length
  expect([codes.length, count('0'), count('15'), created()]).toEqual([128, 100, 28, 100])
  expect(lines().every((line) => JSON.parse(line) !== undefined)).toBe(true)
})

test('whoever is killed, whenever, has been counted before anything was sent', async () => {
  const { env, created, lines, sandbox } = await machine(12)
  const random = seededRandom(7)
  for (let round = 0; round < 16; round++) {
    const before = sandbox.requests().length
    const { process, ended } = spawnProgram(words, { env })
    // From the first moment of the process to the middle of its answer.
    const target = Math.floor(random() * 400)
    const started = performance.now()
    await until(() => performance.now() - started > target || process.exitCode !== null)
    process.kill('SIGKILL')
    await ended
    expect(sandbox.requests().length - before).toBeLessThanOrEqual(1)
  }
  const counted = lines().filter((line) => line.includes('"type":"begin"')).length
  expect(created()).toBeLessThanOrEqual(counted)
  expect(created()).toBeLessThanOrEqual(12)
})
