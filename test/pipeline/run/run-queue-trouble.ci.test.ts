import { expect, test } from 'vitest'
import { ModelgateError } from '../../../src/errors.ts'
import type { FaultRule } from '../../../src/sandbox/faults/fault-rule.ts'
import type { DocumentStore } from '../../../src/pipeline/queue/document-store.ts'
import type { OutputEvent } from '../../../src/events/documents.ts'
import { newLanes } from '../../../src/pipeline/queue/queue-lanes.ts'
import { withdraw } from '../../../src/pipeline/queue/submissions.ts'
import { until } from '../../support/until.ts'
import { queueBench } from './queue-bench.ts'
import { runBench } from './run-bench.ts'

const hero = '{ image create: { model: image-a, prompt: A boat }, out: hero.png }'
const two = `version: 1
jobs:
  hero: ${hero}
  note: { respond: { model: text-a, input: What is it, attach: "@hero" }, out: note.txt }
`
const single = `version: 1\njobs:\n  hero: ${hero}\n`
const image = { endpoint: 'image-generations', times: 1 } as const
const text = { endpoint: 'responses', times: 1 } as const

interface Scenario {
  readonly manifest: string
  readonly faults?: readonly FaultRule[]
  readonly idempotencyHonoured?: boolean
  readonly told: readonly string[]
  readonly created: number
}

const heroAndNote = ['hero: fresh (generated)', 'note: fresh (generated)']

test.each<[string, Scenario]>([
  [
    'a request of unknown outcome',
    {
      manifest: two,
      faults: [{ ...image, action: 'reset' }],
      told: ['hero: unknown (unknown)', 'note: blocked (skipped)'],
      created: 1,
    },
  ],
  [
    'one that is sent again under its key',
    {
      manifest: two,
      faults: [{ ...image, times: 2, action: 'reset', at: 'after-headers' }],
      idempotencyHonoured: true,
      told: heroAndNote,
      created: 2,
    },
  ],
  [
    'a text that is asked for again',
    {
      manifest: two,
      faults: [{ ...text, action: 'reset', at: 'after-headers' }],
      told: heroAndNote,
      // A worker asks again under the same key, which the sandbox honours.
      created: 2,
    },
  ],
  [
    'a request that is refused',
    {
      manifest: two,
      faults: [{ ...text, action: 'status', status: 400 }],
      told: ['hero: fresh (generated)', 'note: new (failed)'],
      created: 1,
    },
  ],
  [
    'a result that does not hold its asserts',
    {
      manifest: two.replace('prompt: A boat }', 'prompt: A boat }, assert: { width: 1 }'),
      told: ['hero: rejected (rejected)', 'note: blocked (skipped)'],
      created: 1,
    },
  ],
  [
    'candidates to pick from',
    {
      manifest: single.replace('prompt: A boat }', 'prompt: A boat }, variants: 2'),
      told: ['hero: awaiting (awaiting)'],
      created: 2,
    },
  ],
])(
  '%s ends as in a run without a queue',
  async (_, { manifest, faults = [], idempotencyHonoured = false, told, created }) => {
    const run = async (isQueued: boolean) => {
      const bench = await runBench(
        { 'modelgate.yaml': manifest },
        { sandbox: { faults }, idempotencyHonoured },
      )
      const queue = await queueBench()
      queue.work(bench.sandbox.url, { isSentAgain: idempotencyHonoured })
      const call = { queue: isQueued ? queue.call : undefined }
      const first = await bench.run({}, call)
      const { creates, instances } = first.document!
      const errors = instances.map(
        ({ error }) => error && { ...error, message: error.message.replace(/:\d+ /, ' ') },
      )
      const created = bench.sandbox.created()
      const second = await bench.run({}, call)
      const facts = {
        exit: first.exit,
        told: first.told,
        made: creates.made,
        errors,
        second: [second.told, second.exit],
      }
      return { facts, created, later: bench.sandbox.created() - created }
    }
    const [local, queued] = [await run(false), await run(true)]
    expect(queued.facts).toEqual(local.facts)
    expect(queued).toMatchObject({ facts: { told }, created, later: local.later })
  },
)

test('a remote job is in the journal as soon as it is known, and its progress is told', async () => {
  const film =
    'version: 1\njobs:\n  film: { video generate: { model: veo-3.1, prompt: A harbour }, out: film.mp4 }\n'
  const bench = await runBench({ 'modelgate.yaml': film })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const { exit, events, document } = await bench.run({}, { queue: queue.call })
  expect(exit).toBe('ok')
  const journal = bench.read(`.modelgate/runs/${document!.run}.jsonl`)
  const types = journal
    .split('\n')
    .flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { type: string }).type))
  expect(types).toEqual(['begin', 'intent', 'job', 'result', 'end'])
  expect(journal).toContain(`"queue":"${queue.documents.identity}"`)
  expect(events.filter(({ type }) => type === 'instance-start')).toEqual([
    { type: 'instance-start', instance: 'film', lane: 'video', variant: 1, attempt: 1, resumed: false },
  ])
})

test('a job that a run without a queue has started is looked up by the workers, and not started again', async () => {
  const film =
    'version: 1\njobs:\n  film: { video generate: { model: veo-3.1, prompt: A harbour }, out: film.mp4 }\n'
  const faults: FaultRule[] = [{ endpoint: 'operation-lookup', times: 1, action: 'status', status: 401 }]
  const bench = await runBench({ 'modelgate.yaml': film }, { sandbox: { faults } })
  expect((await bench.run()).exit).toBe('key')
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const { exit, document } = await bench.run({ maxCreates: 1 }, { queue: queue.call })
  expect([exit, bench.sandbox.created(), document!.creates.made]).toEqual(['ok', 1, 1])
  expect(queue.sent.map((sent) => sent.queue)).toEqual(['poll'])
})

test('what another run has taken back is given to the queue again', async () => {
  const benches = await Promise.all([1, 2].map(() => runBench({ 'modelgate.yaml': single })))
  const queue = await queueBench()
  const left = await benches[0]!.run({ detach: true }, { queue: queue.call })
  const running = benches[1]!.run({}, { queue: queue.call })
  await until(() => queue.sent.length === 2)
  await withdraw(queue.documents, left.document!.run!, [queue.sent[0]!.key])
  queue.work(benches[1]!.sandbox.url)
  const { exit, document } = await running
  expect([exit, document!.creates.made, benches[1]!.sandbox.created()]).toEqual(['ok', 1, 1])
})

test('a request that was never submitted is submitted, and one that is a week old is in doubt', async () => {
  const bench = await runBench({ 'modelgate.yaml': single })
  const queue = await queueBench()
  // Killed between the intent and the queue, as far as anybody can see.
  const refused = new ModelgateError('usage', 'queue_refused', 'The queue cannot be written.')
  const documents: DocumentStore = {
    ...queue.documents,
    transact: (names, change) =>
      names.some((name) => name.startsWith('task:'))
        ? Promise.reject(refused)
        : queue.documents.transact(names, change),
  }
  const open = async () => ({ ...(await queue.call.open()), documents })
  expect((await bench.run({}, { queue: { ...queue.call, open } })).exit).toBe('usage')
  const clock = { ...bench.context.clock, now: () => bench.context.clock.now() + 8 * 24 * 3600 * 1000 }
  const late = await bench.run({}, { queue: queue.call, context: { ...bench.context, clock } })
  expect([late.exit, late.told]).toEqual(['unknown', ['hero: unknown']])
  queue.work(bench.sandbox.url)
  const next = await bench.run({}, { queue: queue.call })
  expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', ['hero: fresh (generated)'], 1])
})

test('after ten seconds without a worker the command that starts one is told', async () => {
  const bench = await runBench({ 'modelgate.yaml': single })
  const queue = await queueBench()
  const { clock } = bench.context
  let afterTen = () => {}
  const timer = (ms: number, callback: () => void) => {
    if (ms === 10_000) afterTen = callback
    return clock.timer(ms, callback, 'background')
  }
  const context = { ...bench.context, clock: { ...clock, timer } }
  const running = bench.run({}, { queue: queue.call, context })
  await until(() => queue.sent.length === 1)
  await new Promise((resolve) => setImmediate(resolve))
  afterTen()
  queue.work(bench.sandbox.url)
  const { document } = await running
  expect(document!.warnings).toEqual([
    'No worker has started it yet. Start one: modelgate run worker --queue redis://queue --store store',
  ])
})

test('it is told when the workers hold requests back, and when they go on', async () => {
  const bench = await runBench({ 'modelgate.yaml': single })
  const queue = await queueBench()
  const { clock } = bench.context
  const due: (() => void)[] = []
  const timer = (ms: number, callback: () => void) => {
    if (ms === 15_000) due.push(callback)
    return clock.timer(ms, callback, 'background')
  }
  const context = { ...bench.context, clock: { ...clock, timer } }
  const setCircuit = (isOpen: boolean) =>
    queue.documents.transact(['lanes'], () => {
      const document = newLanes()
      return {
        documents: new Map([['lanes', { ...document, circuit: { ...document.circuit, isOpen } }]]),
        result: null,
      }
    })
  const events: OutputEvent[] = []
  const listener = { event: (event: OutputEvent) => void events.push(event), async flush() {} }
  const changes = () => events.flatMap((event) => (event.type === 'circuit-change' ? event.open : []))
  const running = bench.run({}, { queue: queue.call, context, listener })
  await until(() => queue.sent.length === 1)
  for (const isOpen of [true, false]) {
    await setCircuit(isOpen)
    const before = changes().length
    for (const callback of due.splice(0)) callback()
    await until(() => changes().length > before && due.length >= 2)
  }
  queue.work(bench.sandbox.url)
  expect([(await running).exit, changes()]).toEqual(['ok', [true, false]])
})

test('a queue that cannot be reached ends the run before anything is written', async () => {
  const bench = await runBench({ 'modelgate.yaml': single })
  const queue = await queueBench()
  const gone = new ModelgateError('notSent', 'queue_unreachable', 'The queue cannot be reached.')
  const { exit } = await bench.run({}, { queue: { ...queue.call, open: () => Promise.reject(gone) } })
  expect([exit, bench.list('.modelgate/runs'), bench.exists('modelgate.lock')]).toEqual([
    'notSent',
    [],
    false,
  ])
})
