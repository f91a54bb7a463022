import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/context.ts'
import { startRelay, type Relay } from '../../support/relay.ts'
import { until } from '../../support/until.ts'
import { runBench } from './run-bench.ts'

/** A clock on which time passes so many times as fast; only waits are shorter, what is done takes its time. */
const speed = 100
const fastClock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() * speed,
  timer: (ms, callback, label) => systemClock.timer(ms / speed, callback, label),
}

const jobs = 40
const rows = Array.from({ length: jobs }, (_, at) => `    - { id: n${at} }`).join('\n')
const manifest = `version: 1
jobs:
  photos:
    each:
${rows}
    image create: { model: image-model-a, prompt: "A boat, \${id}" }
    out: photos/\${id}.png
`

test('a minute without the gateway costs some retries and probes, and nothing is created twice', async () => {
  let relay: Relay | undefined
  const bench = await runBench(
    { 'modelgate.yaml': manifest },
    {
      idempotencyHonoured: true,
      sandbox: { latency: 5 },
      through: async (url) => (relay = await startRelay(url)).url,
    },
  )
  const hidden = (text: string) => text.replaceAll(/127\.0\.0\.1:\d+/g, '[hidden]')
  const redactor = { text: hidden, document: hidden }
  const running = bench.run({}, { context: { ...bench.context, clock: fastClock }, redactor })
  await until(() => bench.sandbox.created() >= 10)
  await relay!.cut()
  await setTimeout(60_000 / speed)
  await relay!.restore()
  const { exit, document, events } = await running
  const changes = events.flatMap((event) => (event.type === 'circuit-change' ? [event] : []))
  expect([exit, changes.map(({ open }) => open)]).toEqual(['ok', [true, false]])
  // Why is told, without what a gateway or a system quotes of secrets.
  expect(changes[0]!.reason).toContain('[hidden] ')
  expect(document!.instances.filter(({ state }) => state === 'fresh')).toHaveLength(jobs)
  expect(bench.sandbox.created()).toBe(jobs)
  // What was under way may be asked for again, and a fifth of the jobs, and ten.
  expect(relay!.requests.length).toBeLessThanOrEqual(jobs + jobs / 5 + 10)
})
