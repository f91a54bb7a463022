import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { forTest, hasRedis, startRedis } from '../support/queue-servers.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { spawnProgram } from './spawn-program.ts'

const manifest = `version: 1
jobs:
  one: { generate: { model: sandbox-text, prompt: One }, out: one.txt }
  two: { generate: { model: sandbox-text, prompt: Two }, out: two.txt }
`

/** A queue with a project beside it, and a gateway for its workers. */
async function scene() {
  const [{ url: queue }, { url, created }] = [await forTest(startRedis()), await runningSandbox()]
  const folder = temporaryFolder()
  writeFiles(folder, { 'modelgate.yaml': manifest })
  const env = {
    MODELGATE_BASE_URL: url,
    MODELGATE_QUEUE: queue,
    MODELGATE_STORE: temporaryFolder(),
    MODELGATE_STATE_DIR: temporaryFolder(),
  }
  const start = (words: string, shell?: string) =>
    spawnProgram(words.split(' '), { env, cwd: folder, ...(shell !== undefined && { shell }) })
  return { created, start }
}

test.skipIf(!hasRedis || !existsSync('/dev/full'))(
  'a worker with a full standard output does its work, and ends with 10',
  async () => {
    const { created, start } = await scene()
    expect((await start('run --detach').ended).exit).toBe(11)
    const { exit, stderr } = await start('run worker --until-empty --jsonl', 'modelgate "$@" >/dev/full')
      .ended
    expect([exit, stderr]).toEqual([10, expect.stringContaining('Standard output cannot be written')])
    expect(created()).toBe(2)
  },
)

test.skipIf(!hasRedis)('a worker that is stopped prints its document, with --jsonl as its end', async () => {
  const { start, created } = await scene()
  const lines = start('run worker --jsonl')
  await until(() => lines.stdout.includes('worker-start'))
  lines.process.kill('SIGTERM')
  const { exit, stdout } = await lines.ended
  expect([exit, JSON.parse(stdout.toString().trimEnd().split('\n').at(-1)!)]).toMatchObject([
    'SIGTERM',
    { type: 'end', command: 'run worker', done: 0 },
  ])
  await start('run --detach').ended
  const worker = start('run worker --json')
  await until(() => created() === 2)
  worker.process.kill('SIGTERM')
  const ended = await worker.ended
  expect([ended.exit, JSON.parse(ended.stdout.toString())]).toMatchObject([
    'SIGTERM',
    { command: 'run worker', created: 2 },
  ])
})
