import { setTimeout } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { queueServers } from '../../support/queue-servers.ts'
import { amount } from '../../support/sample.ts'
import { expectAllDone, loadScene, runWithKill } from './load-scene.ts'

const jobs = amount(20, 2_000)
const workers = amount(3, 8)
const killEveryS = amount(1, 10)
/** In CI one, with few jobs at once: else all would be done before. */
const mostKills = amount(1, Infinity)
const concurrency = amount(3, 64)
/** Between two events of a stream, in milliseconds: a text takes about seventy of them. */
const latency = 100
/** `--rate` of each lane, in requests a second: fewer than the workers could send. */
const rate = 10
const ratedJobs = amount(20, 200)
const hour = 3_600_000

const textEndpoints = ['generate-content', 'responses'] as const
const retryAfterMs = 200
const refusals = textEndpoints.map((endpoint): FaultRule => ({
  id: endpoint,
  endpoint,
  action: 'status',
  status: 429,
  probability: 0.3,
  headers: { 'retry-after': String(retryAfterMs / 1000) },
}))

describe.each(queueServers)('a queue on $name', ({ isThere, needs, start }) => {
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  test(
    `creates each of ${jobs} results once, though workers, the run and the server are killed`,
    async () => {
      const scene = await loadScene({ start, jobs, workers, concurrency, sandbox: { latency } })
      const { sandbox, fleet, server } = scene
      const began = performance.now()
      let hasEnded = false
      const ended = runWithKill(scene, Math.ceil(jobs / 5)).finally(() => (hasEnded = true))
      let [kills, restarts] = [0, 0]
      while (!hasEnded) {
        await Promise.race([setTimeout(killEveryS * 1000), ended])
        const created = await sandbox.created()
        if (hasEnded) break
        if (kills > 0 && restarts === 0 && created >= jobs / 2) {
          restarts++
          await server.kill()
          await server.start()
        } else if (kills < mostKills) {
          await fleet.kill()
          kills++
        }
      }
      await ended
      if (process.env['SHOW'])
        console.log(jobs, kills, restarts, Math.round((performance.now() - began) / 1000))
      expect([kills > 0, restarts]).toEqual([true, 1])
      await fleet.stop()
      await expectAllDone(scene, kills)
    },
    hour,
  )

  test(
    `sends no more than ${rate} requests a second where three of ten are refused, and the other lanes go on`,
    async () => {
      const words = ['--rate', `${rate}/s`]
      const scene = await loadScene({ start, jobs: ratedJobs, workers, words, sandbox: { faults: refusals } })
      const { sandbox, fleet, project } = scene
      await project.finish(scene.words)
      await fleet.stop()
      await expectAllDone(scene)
      const posts = (await sandbox.requests()).filter(({ method }) => method === 'POST')
      const texts = posts.filter(({ endpoint }) => textEndpoints.some((name) => name === endpoint))
      const refused = texts.filter(({ status }) => status === 429)
      expect(refused.length).toBeGreaterThan(0)
      expect(posts.length).toBe(ratedJobs + refused.length)
      // A fixed window: at its edge twice as many may come within any second. On a busy machine some arrive late.
      expect(mostInASecond(texts.map(({ cameAt }) => cameAt))).toBeLessThanOrEqual(2 * rate + 2)
      const images = posts.filter((post) => !texts.includes(post))
      expect(images.map(({ status }) => status).filter((status) => status === 429)).toEqual([])
    },
    hour,
  )
})

function mostInASecond(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  let from = 0
  let most = 0
  for (const [at, time] of sorted.entries()) {
    while (sorted[from]! <= time - 1_000) from++
    most = Math.max(most, at - from + 1)
  }
  return most
}
