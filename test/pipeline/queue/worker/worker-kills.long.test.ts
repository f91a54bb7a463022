import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts'
import { spawnProgram, type Spawned } from '../../../black-box/spawn-program.ts'
import { forTest, queueServers } from '../../../support/queue-servers.ts'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { crashProject } from '../../crash-project.ts'
import { amount } from '../../../support/sample.ts'

const kills = amount({ quick: 0, ci: 2, full: 12 })
const rows = amount({ quick: 0, ci: 6, full: 20 })
const videos = amount({ quick: 0, ci: 2, full: 6 })
/** A picture, an edit of it and a text for each row, and some videos. */
const jobs = 3 * rows + videos
const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => `    - { id: n${at} }`).join('\n')
const manifest = `
version: 1
budget: { creates: ${jobs} }
jobs:
  photos:
    each:
${rowsOf(rows)}
    image create: { model: gpt-image-2, prompt: "A boat, \${id}" }
    out: photos/\${id}.png
  scenes:
    each:
${rowsOf(rows)}
    image edit: { model: gpt-image-2, prompt: "At night, \${id}", image: "@photos[\${id}]" }
    out: scenes/\${id}.png
  names:
    each:
${rowsOf(rows)}
    generate: { model: gemini-3-flash, prompt: "A name, \${id}" }
    out: names/\${id}.txt
  films:
    each:
${rowsOf(videos)}
    video generate: { model: veo-3.1, prompt: "\${id}", image: "@photos[\${id}]" }
    out: films/\${id}.mp4
`

describe.each(queueServers)('$name (needs $needs)', ({ isThere, start }) => {
  test.skipIf(!isThere)(
    `${kills} kills of workers at any time leave a run with as many creations as jobs`,
    async () => {
      const random = seededRandom(20_261_122)
      const server = await forTest(start())
      const sandbox = await runningSandbox({ latency: 100 })
      const store = temporaryFolder()
      const state = temporaryFolder()
      const project = crashProject(sandbox, { 'modelgate.yaml': manifest })
      const places = ['--queue', server.url, '--store', store]
      const env = {
        MODELGATE_BASE_URL: sandbox.url,
        MODELGATE_IDEMPOTENCY_HONOURED: 'true',
        MODELGATE_POLL_INTERVAL: '0.1',
        MODELGATE_STATE_DIR: state,
      }
      const worker = (): Spawned =>
        spawnProgram(['run', 'worker', ...places, '--lanes', 'text=2,image=2,video=1'], {
          cwd: project.folder,
          env,
        })
      const workers = [worker(), worker(), worker()]
      const run = project.start(['--yes', ...places])
      let hasEnded = false
      void run.ended.then(() => (hasEnded = true))
      let killed = 0
      for (; killed < kills && !hasEnded; killed++) {
        await setTimeout(300 + random() * 1500)
        const at = Math.floor(random() * workers.length)
        workers[at]!.process.kill('SIGKILL')
        await workers[at]!.ended
        workers[at] = worker()
      }
      const ended = await run.ended
      expect(killed).toBe(kills)
      for (const one of workers) one.process.kill('SIGTERM')
      const exits = await Promise.all(workers.map(async (one) => (await one.ended).exit))
      expect([ended.exit, ended.exit === 0 ? '' : ended.stderr]).toEqual([0, ''])
      expect(sandbox.created()).toBe(jobs)
      expect(Object.values(project.outputs())).toEqual(Array.from({ length: jobs }, () => true))
      expect(exits).toEqual(['SIGTERM', 'SIGTERM', 'SIGTERM'])
    },
    600_000,
  )
})
