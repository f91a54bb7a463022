import { expect, test } from 'vitest'
import type { FaultRule } from '../../src/sandbox/start-sandbox.ts'
import { startRelay } from '../support/relay.ts'
import { runningSandbox } from '../support/running-sandbox.ts'
import { crashProject } from './crash-project.ts'

const jobs = 200
const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => `    - { id: n${at} }`).join('\n')
/** @param concurrency of each lane */
const filesWith = (concurrency: number) => ({
  'modelgate.yaml': `
version: 1
lanes: { text: ${concurrency}, image: ${concurrency}, video: ${concurrency} }
jobs:
  captions:
    each:
${rowsOf(120)}
    respond: { model: some-text-model, input: "A caption of \${id}" }
    out: captions/\${id}.txt
  photos:
    each:
${rowsOf(72)}
    image create: { model: gpt-image-2, prompt: "\${id}" }
    out: photos/\${id}.png
  films:
    each:
${rowsOf(8)}
    video generate: { model: veo-3.1, prompt: "\${id}" }
    out: films/\${id}.mp4
`,
})

const waitMs = 200
const endpoints = ['responses', 'image-generations', 'video-operations'] as const

const refusals = endpoints.map((endpoint): FaultRule => ({
  id: endpoint,
  endpoint,
  action: 'status',
  status: 429,
  probability: 0.3,
  headers: { 'retry-after': String(waitMs / 1000) },
}))

test('a gateway that refuses three of ten requests is asked at most 1.6 times for each job', async () => {
  const sandbox = await runningSandbox({ faults: refusals })
  const project = crashProject(sandbox, filesWith(8))
  await project.finish()
  const posts = sandbox.requests().filter(({ method }) => method === 'POST').length
  const refused = sandbox.firedFaults().length
  expect(refused).toBeGreaterThan(40)
  expect([sandbox.created(), posts]).toEqual([jobs, jobs + refused])
  expect(posts).toBeLessThanOrEqual(1.6 * jobs)
  // Killed while it waits, the run must not be in doubt about what was refused.
  expect(project.events('release')).toHaveLength(refused)
  expect(Object.values(project.outputs()).filter(Boolean)).toHaveLength(jobs)
}, 300_000)

test('and never before the time that it asks for has passed', async () => {
  const sandbox = await runningSandbox({ faults: refusals })
  const relay = await startRelay(sandbox.url)
  // One at a time, so that nothing was under way when the refusal came.
  const project = crashProject(relay, filesWith(1))
  await project.finish()
  expect(sandbox.created()).toBe(jobs)
  const posts = relay.requests.filter(({ method }) => method === 'POST')
  const lanes = [...Map.groupBy(posts, ({ path }) => path).values()]
  const pauses = lanes.flatMap((requests) =>
    requests.slice(1).flatMap(({ at }, before) => {
      const { refusedAt } = requests[before]!
      return refusedAt === undefined ? [] : [at - refusedAt]
    }),
  )
  expect([lanes.length, pauses.length]).toEqual([3, sandbox.firedFaults().length])
  // A timer may be early by a part of a millisecond.
  expect(pauses.filter((pause) => pause < waitMs - 1)).toEqual([])
}, 300_000)
