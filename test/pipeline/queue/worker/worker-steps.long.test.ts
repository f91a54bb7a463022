import { expect, test } from 'vitest'
import { seededRandom } from '../../../../src/sandbox/seeded-random.ts'
import { spawnProgram } from '../../../black-box/spawn-program.ts'
import { forTest, hasRedis, startRedis } from '../../../support/queue-servers.ts'
import { namedPoints, runToPoint } from '../../../support/run-to-point.ts'
import { runningSandbox } from '../../../support/running-sandbox.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { crashProject } from '../../crash-project.ts'
import { atEach } from '../../kill-points.ts'
import { fastClock } from '../../../support/fast-clock.ts'
import { amount, sample } from '../../../support/sample.ts'

/** How many kills at random there are, besides those at every named step. */
const kills = amount({ quick: 0, ci: 2, full: 20 })

/** Jobs of each kind. A killed worker had three at most, and nobody takes those up at once. */
const manifestOf = (count: number, videos: number) => {
  const rowsOf = (length: number) => `[${Array.from({ length }, (_, at) => `{ id: n${at} }`).join(', ')}]`
  const rows = rowsOf(count)
  return `
version: 1
jobs:
  note: { each: ${rows}, respond: { model: some-text-model, input: "A note, \${id}" }, out: "note/\${id}.txt" }
  hero: { each: ${rows}, image create: { model: gpt-image-2, prompt: "A boat, \${id}" }, out: "hero/\${id}.png" }
  film: { each: ${rowsOf(videos)}, video generate: { model: veo-3.1, prompt: "Waves, \${id}" }, out: "film/\${id}.mp4" }
`
}

/** A run that has been handed over to workers. */
async function handedOver(queue: string, count: number, videos: number) {
  const sandbox = await runningSandbox({ clock: fastClock })
  const project = crashProject(sandbox, { 'modelgate.yaml': manifestOf(count, videos) })
  const places = ['--queue', queue, '--store', temporaryFolder()]
  const env = {
    MODELGATE_BASE_URL: sandbox.url,
    MODELGATE_IDEMPOTENCY_HONOURED: 'true',
    MODELGATE_POLL_INTERVAL: '0.1',
    MODELGATE_STATE_DIR: temporaryFolder(),
  }
  await project.finish(['--yes', '--detach', ...places], 11)
  const worker = (words: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    spawnProgram(['run', 'worker', '--until-empty', ...places, ...words], {
      cwd: project.folder,
      env: { ...env, ...more },
    })
  return { sandbox, project, places, worker }
}

const oneOfEach = ['--lanes', 'text=1,image=1,video=1']

test.skipIf(!hasRedis)(
  'workers that are killed at every step, and at random, leave a run with as many creations as jobs (needs redis-server)',
  async () => {
    const server = await forTest(startRedis())
    const rehearsal = await handedOver(server.url, 1, 1)
    const points = await runToPoint((env) => rehearsal.worker(oneOfEach, env), 0)
    await rehearsal.project.finish(['--yes', ...rehearsal.places])
    await server.wipe()

    const random = seededRandom(20_261_122)
    const chosen = [
      ...sample(namedPoints(points).first, { quick: 0, ci: 8 }).map((point) => ({ point, turns: 0 })),
      ...Array.from({ length: kills }, () => ({
        point: 1 + Math.floor(random() * points.length),
        turns: Math.floor(random() * 12),
      })),
    ]
    const [each, videos] = [chosen.length, 12]
    const jobs = 2 * each + videos
    const { sandbox, project, places, worker } = await handedOver(server.url, each, videos)
    await atEach(chosen, async ({ point, turns }) => {
      await runToPoint((env) => worker(oneOfEach, env), point, turns)
    })
    const last = await worker(['--lanes', 'text=40,image=40,video=40']).ended
    expect([last.exit, last.exit === 0 ? '' : last.stderr]).toEqual([0, ''])
    await project.finish(['--yes', ...places])
    expect(sandbox.created()).toBe(jobs)
    expect(Object.values(project.outputs())).toEqual(Array.from({ length: jobs }, () => true))
    expect(project.leftovers()).toEqual([])
  },
  600_000,
)
