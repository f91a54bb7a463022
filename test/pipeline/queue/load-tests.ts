import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import type { QueueServer } from '../../support/queue-servers.ts'
import {
  creationsOf,
  expectAllDone,
  expectNothingLeft,
  loadScene,
  runWithKill,
  tasksOf,
} from './load-scene.ts'
import { contentsOf } from './server-contents.ts'
import { amount, depth } from '../../support/sample.ts'

const jobs = amount({ quick: 0, ci: 20, full: 200 })
const workers = 4
const killEveryS = amount({ quick: 0, ci: 1, full: 4 })
/** In CI one, with few jobs at once: else all would be done before. */
const most = amount({ quick: 0, ci: 1, full: Infinity })
const concurrency = amount({ quick: 0, ci: 3, full: 256 })
/** Between two events of a stream: a text takes about seventy of them. */
const latency = 100
/** `--rate`, in requests a second: fewer than the workers could send. */
const rate = 10
const ratedJobs = amount({ quick: 0, ci: 20, full: 100 })
const hour = 3_600_000

const endpoints = [
  'generate-content',
  'responses',
  'image-generations',
  'image-edits',
  'video-operations',
] as const
const retryAfterMs = 200
const refusals = endpoints.map((endpoint): FaultRule => ({
  id: endpoint,
  endpoint,
  action: 'status',
  status: 429,
  probability: 0.3,
  headers: { 'retry-after': String(retryAfterMs / 1000) },
}))

/** What holds of a queue with many workers on a server of one kind. */
export function loadTests(isThere: boolean, start: () => Promise<QueueServer>): void {
  describe.skipIf(!isThere)('a queue', () => {
    test(
      `creates each of ${jobs} results once, though workers, the run and the server are killed`,
      async () => {
        const scene = await loadScene({ start, jobs, workers, concurrency, sandbox: { latency } })
        const { sandbox, fleet, server } = scene
        let hasEnded = false
        const ended = runWithKill(scene, Math.ceil(jobs / 5)).finally(() => (hasEnded = true))
        let [kills, restarts] = [0, 0]
        for (;;) {
          await Promise.race([setTimeout(killEveryS * 1000), ended])
          const created = await sandbox.created()
          const isEnough = kills > 0 && restarts > 0 && created >= jobs * 0.85
          // What is left is for the others to take over.
          if (hasEnded || isEnough) break
          if (kills > 0 && restarts === 0 && created >= jobs / 2) {
            restarts++
            await server.kill()
            await server.start()
          } else if (kills < most) {
            await fleet.kill()
            kills++
          }
        }
        await ended
        expect([kills > 0, restarts]).toEqual([true, 1])
        await fleet.stop()
        await expectAllDone(scene)
      },
      hour,
    )

    test(
      `sends no more than ${rate} requests a second to a gateway that refuses three of ten`,
      async () => {
        const words = ['--rate', `${rate}/s`]
        const scene = await loadScene({
          start,
          jobs: ratedJobs,
          workers,
          words,
          sandbox: { faults: refusals },
        })
        const { sandbox, fleet, project } = scene
        await project.finish(scene.words)
        await fleet.stop()
        await expectAllDone(scene)
        const requests = await sandbox.requests()
        const refused = requests.filter(({ status }) => status === 429).length
        const posts = requests.filter(({ method }) => method === 'POST').length
        expect(refused).toBeGreaterThan(ratedJobs / 5)
        expect(posts).toBe(ratedJobs + refused)
        expect(posts).toBeLessThanOrEqual(1.6 * ratedJobs)
        // As many as in eleven seconds: on a busy machine some arrive late. The exact rule is in request-rate.test.ts.
        expect(mostInTenSeconds(requests.map(({ cameAt }) => cameAt))).toBeLessThanOrEqual(11 * rate)
      },
      hour,
    )

    test(
      'sends nothing before the time that a gateway asks for',
      async () => {
        const few = Math.min(jobs, 100)
        // One at a time, so that nothing is under way when the refusal comes.
        const scene = await loadScene({
          start,
          jobs: few,
          workers,
          concurrency: 1,
          sandbox: { faults: refusals },
        })
        const { sandbox, fleet, project } = scene
        await project.finish(scene.words)
        await fleet.stop()
        await expectAllDone(scene)
        const lanes = Map.groupBy(
          (await sandbox.requests()).filter(({ method }) => method === 'POST'),
          ({ endpoint }) => laneOf(endpoint),
        )
        const pauses = [...lanes.values()].flatMap((posts) =>
          posts
            .slice(1)
            .flatMap(({ cameAt }, at) => (posts[at]!.status === 429 ? [cameAt - posts[at]!.cameAt] : [])),
        )
        expect(pauses.length).toBeGreaterThan(few / 5)
        // A timer may be early by a part of a millisecond.
        expect(pauses.filter((pause) => pause < retryAfterMs - 1)).toEqual([])
      },
      hour,
    )

    // It takes a minute to know that a worker is dead.
    test.runIf(depth === 'full')(
      'knows of each request of a killed worker that it may have been billed, where no key is honoured',
      async () => {
        const scene = await loadScene({
          start,
          jobs,
          workers,
          isWithoutReferences: true,
          onUnknown: 'stop',
          idempotencyHonoured: false,
          sandbox: { latency },
        })
        const { sandbox, fleet, project, server } = scene
        const run = project.start(scene.words)
        let lost = 0
        for (const share of [0.3, 0.5]) {
          while ((await sandbox.created()) < jobs * share) await setTimeout(100)
          const { pid } = (await fleet.kill()).process
          const tasks = tasksOf(await contentsOf(server))
          lost += tasks.filter(
            ({ state, worker }) => state === 'sent' && `${worker}`.includes(`-${pid}-`),
          ).length
        }
        expect((await run.ended).exit).toBe(7)
        await fleet.stop()
        const contents = await contentsOf(server)
        const states = Map.groupBy(tasksOf(contents), ({ state }) => state)
        expect(lost).toBeGreaterThan(0)
        expect([states.get('done')!.length, states.get('unknown')?.length]).toEqual([jobs - lost, lost])
        expectNothingLeft(contents, jobs)
        const creations = await creationsOf(sandbox)
        expect(new Set(creations.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(creations.length)
        expect(creations.length).toBeGreaterThanOrEqual(jobs - lost)
      },
      hour,
    )
  })
}

function laneOf(endpoint: string | undefined): string {
  if (endpoint === 'generate-content' || endpoint === 'responses') return 'text'
  return endpoint === 'video-operations' ? 'video' : 'image'
}

/** The most that came in any ten seconds, their end not included. */
function mostInTenSeconds(times: readonly number[]): number {
  const sorted = times.toSorted((one, other) => one - other)
  let from = 0
  let most = 0
  for (const [at, time] of sorted.entries()) {
    while (sorted[from]! <= time - 10_000) from++
    most = Math.max(most, at - from + 1)
  }
  return most
}
