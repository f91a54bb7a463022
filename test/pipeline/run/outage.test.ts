import { expect, test } from 'vitest'
import { systemClock, type Clock } from '../../../src/context.ts'
import type { OutputEvent } from '../../../src/events/documents.ts'
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
const rows = Array.from({ length: jobs }, (_, at) => `{ id: n${at} }`).join(', ')
const manifest = `version: 1
jobs:
  notes:
    each: [${rows}]
    respond: { model: m, input: "A note, \${id}" }
    out: notes/\${id}.txt
`

test('an outage costs some retries and probes, and nothing is created twice', async () => {
  let relay: Relay | undefined
  const through = async (url: string) => (relay = await startRelay(url)).url
  const options = { idempotencyHonoured: true, sandbox: { latency: 1 }, through }
  const bench = await runBench({ 'modelgate.yaml': manifest }, options)
  const hidden = (text: string) => text.replaceAll(/127\.0\.0\.1:\d+/g, '[hidden]')
  const redactor = { text: hidden, document: hidden }
  const events: OutputEvent[] = []
  const listener = { event: (event: OutputEvent) => void events.push(event), async flush() {} }
  const changes = () => events.flatMap((event) => (event.type === 'circuit-change' ? [event] : []))
  const running = bench.run({}, { context: { ...bench.context, clock: fastClock }, redactor, listener })
  await until(() => bench.sandbox.created() >= 10)
  await relay!.cut()
  await until(() => changes().length > 0)
  await relay!.restore()
  const { exit, document } = await running
  expect([exit, changes().map(({ open }) => open)]).toEqual(['ok', [true, false]])
  // Why is told, without what a gateway or a system quotes of secrets.
  expect(changes()[0]!.reason).toContain('[hidden] ')
  expect(document!.instances.filter(({ state }) => state === 'fresh')).toHaveLength(jobs)
  expect(bench.sandbox.created()).toBe(jobs)
  // What was under way may be asked for again, and a fifth of the jobs, and ten.
  expect(bench.sandbox.requests().length).toBeLessThanOrEqual(jobs + jobs / 5 + 10)
})
