import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Interrupted, ModelgateError } from '../../../src/errors.ts'
import { until } from '../../support/until.ts'
import { queueBench } from './queue-bench.ts'
import { runBench } from './run-bench.ts'

const mixed = `version: 1
jobs:
  words:
    respond: { model: text-a, input: "Name a boat" }
    out: words.txt
  title:
    generate: { model: gemini-3-flash, prompt: "A title" }
    out: title.txt
  boat:
    image create: { model: image-a, prompt: "@words" }
    out: boat.png
  night:
    image edit: { model: image-a, prompt: "At night", image: "@boat" }
    out: night.png
  film:
    video generate: { model: veo-3.1, prompt: "It sails", image: "@boat" }
    out: film.mp4
  remix:
    video remix: { model: veo-3.1, prompt: "In winter", source: "@film" }
    out: remix.mp4
  choice:
    image create: { model: image-a, prompt: "A sail" }
    variants: 3
    pick: 2
    out: sail.png
`

/** What a lock says, without what differs from run to run. */
function stable(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) =>
    ['took_s', 'origin', 'request_id', 'job_id'].includes(name) ? undefined : value,
  )
}

test('a run through a queue makes the files and the lock that a run without one makes', async () => {
  const local = await runBench({ 'modelgate.yaml': mixed })
  expect((await local.run()).error).toBeUndefined()
  const bench = await runBench({ 'modelgate.yaml': mixed })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const connect = () => Promise.reject(new Error('A submitter needs no key.'))
  const { exit, error, document } = await bench.run({}, { queue: queue.call, connect })
  expect([exit, error]).toEqual(['ok', undefined])
  expect(document!.creates).toMatchObject({ planned: 7, made: 7 })
  expect(bench.sandbox.created()).toBe(local.sandbox.created())
  expect(stable(bench.read('modelgate.lock'))).toEqual(stable(local.read('modelgate.lock')))
  const files = ['words.txt', 'title.txt', 'boat.png', 'night.png', 'film.mp4', 'remix.mp4', 'sail.png']
  for (const name of files) {
    expect(readFileSync(bench.path(name)).equals(readFileSync(local.path(name)))).toBe(true)
  }
  expect(bench.list('.modelgate/work')).toEqual([])
  expect((await bench.run({}, { queue: queue.call })).told.every((told) => told.endsWith(': fresh'))).toBe(
    true,
  )
})

const three = `version: 1
jobs:
  boats:
    each:
    - { id: one }
    - { id: two }
    - { id: three }
    image create: { model: image-a, prompt: "A boat, \${id}" }
    out: \${id}.png
`
const all = [
  'boats[one]: fresh (generated)',
  'boats[two]: fresh (generated)',
  'boats[three]: fresh (generated)',
]

test('a run that left its requests to the workers is taken up by the next one', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const queue = await queueBench()
  const left = await bench.run({ detach: true }, { queue: queue.call })
  expect([left.exit, left.error?.code, left.error?.facts.next]).toEqual([
    'running',
    'left_to_workers',
    ['modelgate', 'run'],
  ])
  expect(left.told).toEqual([
    'boats[one]: new (skipped)',
    'boats[two]: new (skipped)',
    'boats[three]: new (skipped)',
  ])
  queue.work(bench.sandbox.url)
  await until(() => bench.sandbox.created() === 3)
  const { exit, told, document } = await bench.run({}, { queue: queue.call })
  expect([exit, told]).toEqual(['ok', all])
  expect([bench.sandbox.created(), document!.creates.made]).toEqual([3, 3])
})

test('two runs of one manifest on two machines have each request made once', async () => {
  const benches = await Promise.all([1, 2].map(() => runBench({ 'modelgate.yaml': three })))
  const queue = await queueBench()
  queue.work(benches[0]!.sandbox.url)
  const runs = await Promise.all(benches.map((bench) => bench.run({}, { queue: queue.call })))
  expect(runs.map(({ exit, told }) => [exit, told])).toEqual([
    ['ok', all],
    ['ok', all],
  ])
  expect(benches[0]!.sandbox.created()).toBe(3)
  // Each counts what it has had made.
  expect(runs.reduce((sum, { document }) => sum + document!.creates.made, 0)).toBe(3)
  const [one, other] = benches
  expect(stable(one!.read('modelgate.lock'))).toEqual(stable(other!.read('modelgate.lock')))
})

test('what is made anew is made once more, by one of two runs that ask at different times', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  await bench.run({}, { queue: queue.call })
  const before = bench.lock()['boats[two]']
  const again = await bench.run({ regenerate: ['boats[two]'] }, { queue: queue.call })
  expect([again.exit, bench.sandbox.created()]).toEqual(['ok', 4])
  expect(again.told).toEqual(['boats[one]: fresh', 'boats[two]: fresh (generated)', 'boats[three]: fresh'])
  expect(bench.lock()['boats[two]']!.key).toBe(before!.key)
})

test('the budget holds over all workers and over all processes of a run', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const first = await bench.run({ maxCreates: 2 }, { queue: queue.call })
  expect([first.exit, first.error?.code, bench.sandbox.created()]).toEqual(['limit', 'creations_limit', 2])
  expect(first.document!.creates).toEqual({ planned: 3, made: 2, limit: 2 })
  const second = await bench.run({ maxCreates: 2 }, { queue: queue.call })
  expect([second.exit, bench.sandbox.created()]).toEqual(['limit', 2])
  const raised = await bench.run({ maxCreates: 3 }, { queue: queue.call })
  expect([raised.exit, bench.sandbox.created(), raised.document!.creates.made]).toEqual(['ok', 3, 3])
})

test('a stopped run takes back what no worker has begun, and the next one makes it', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const queue = await queueBench()
  const stop = new AbortController()
  const context = { ...bench.context, signal: stop.signal }
  const running = bench.run({ graceS: 0 }, { queue: queue.call, context })
  await until(() => queue.sent.length === 3)
  stop.abort(new Interrupted('interrupt'))
  const { exit, told } = await running
  expect([exit, told[0]]).toEqual(['interrupt', 'boats[one]: new (skipped)'])
  expect(Object.values(queue.tasks()).map(({ state }) => state)).toEqual([
    'withdrawn',
    'withdrawn',
    'withdrawn',
  ])
  queue.work(bench.sandbox.url)
  const next = await bench.run({}, { queue: queue.call })
  expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', all, 3])
  expect(next.document!.creates.made).toBe(3)
})

test('a stopped run leaves a lost request unknown, and the next one repeats it under its key', async () => {
  const bench = await runBench(
    { 'modelgate.yaml': 'version: 1\njobs:\n  a: { respond: { model: m, input: One }, out: one.txt }\n' },
    {
      sandbox: { faults: [{ endpoint: 'responses', times: 1, action: 'reset', at: 'after-headers' }] },
      idempotencyHonoured: true,
    },
  )
  const queue = await queueBench()
  const stopWork = queue.work(bench.sandbox.url, { isSentAgain: true })
  const stop = new AbortController()
  const context = { ...bench.context, signal: stop.signal }
  const running = bench.run({ graceS: 0 }, { queue: queue.call, context })
  const task = () => Object.values(queue.tasks())[0]
  await until(() => task()?.state === 'waiting' && task()!.mayBeThere)
  stopWork()
  stop.abort(new Interrupted('interrupt'))
  const { exit, document } = await running
  expect([exit, task()?.state]).toEqual(['interrupt', 'unknown'])
  expect(document!.instances[0]!.error).toMatchObject({ billed: 'maybe' })
  queue.work(bench.sandbox.url, { isSentAgain: true })
  const next = await bench.run({}, { queue: queue.call })
  expect([next.exit, next.document!.creates.made, bench.sandbox.created()]).toEqual(['ok', 1, 1])
})

test('what a worker is at when the run is stopped is taken up by the next run', async () => {
  const bench = await runBench({ 'modelgate.yaml': three }, { sandbox: { latency: 300 } })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  const stop = new AbortController()
  const context = { ...bench.context, signal: stop.signal }
  const running = bench.run({ graceS: 0 }, { queue: queue.call, context })
  await until(() => Object.values(queue.tasks()).filter(({ state }) => state === 'sent').length === 3)
  stop.abort(new Interrupted('interrupt'))
  const { exit, document } = await running
  expect([exit, document!.states.unknown]).toEqual(['interrupt', 0])
  expect(document!.warnings[0]).toContain('3 requests are with workers')
  const next = await bench.run({}, { queue: queue.call })
  expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', all, 3])
})

test('a file that the store has lost, or has wrong, is told, and fetched by the next run', async () => {
  const texts = three.replace('image create: { model: image-a, prompt:', 'respond: { model: text-a, input:')
  const bench = await runBench({ 'modelgate.yaml': texts.replace('.png', '.txt') })
  const queue = await queueBench()
  queue.work(bench.sandbox.url)
  await bench.run({ detach: true }, { queue: queue.call })
  await until(() => Object.values(queue.tasks()).every(({ state }) => state === 'done'))
  const blobs = readdirSync(queue.storeFolder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /[0-9a-f]{64}/.test(name),
  )
  const [lost, wrong] = blobs.map((name) => join(queue.storeFolder, name))
  const bytes = [lost!, wrong!].map((path) => readFileSync(path))
  rmSync(lost!)
  chmodSync(wrong!, 0o600)
  writeFileSync(wrong!, 'something else')
  const { exit, told, document } = await bench.run({}, { queue: queue.call })
  expect([exit, told.filter((line) => line.endsWith(': new (failed)')).length]).toEqual(['io', 2])
  const errors = document!.instances.flatMap(({ error }) => error ?? [])
  expect(errors.map(({ code, billed }) => [code, billed])).toEqual([
    ['shared_file_lost', 'yes'],
    ['shared_file_lost', 'yes'],
  ])
  for (const [at, path] of [lost!, wrong!].entries()) writeFileSync(path, bytes[at]!)
  const next = await bench.run({}, { queue: queue.call })
  expect([next.exit, bench.sandbox.created()]).toEqual(['ok', 3])
})

test('requests of a queue whose data was lost are of unknown outcome, and not made again', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const before = await queueBench()
  await bench.run({ detach: true }, { queue: before.call })
  const after = await queueBench()
  after.work(bench.sandbox.url)
  const { exit, told, document } = await bench.run({}, { queue: after.call })
  expect([exit, told[0], bench.sandbox.created()]).toEqual(['unknown', 'boats[one]: unknown', 0])
  expect(document!.instances[0]!.reasons).toEqual([
    'A request was sent to the queue at redis://queue: run it with that --queue to learn its outcome.',
  ])
  expect(document!.left).toMatchObject([{ state: 'unknown', commands: [] }])
  // The same without a queue; and the right one still makes them.
  expect((await bench.run()).exit).toBe('unknown')
  before.work(bench.sandbox.url)
  expect((await bench.run({}, { queue: before.call })).told).toEqual(all)
  expect(bench.sandbox.created()).toBe(3)
})

test('texts that workers are at are not asked for once more without the queue', async () => {
  const texts = `version: 1
jobs:
  one:
    respond: { model: text-a, input: "Name a boat" }
    out: one.txt
`
  const bench = await runBench({ 'modelgate.yaml': texts })
  const queue = await queueBench()
  await bench.run({ detach: true }, { queue: queue.call })
  const { exit, document } = await bench.run()
  expect([exit, bench.sandbox.created()]).toEqual(['unknown', 0])
  expect(document!.instances[0]!.reasons).toEqual([
    'A request was sent to the queue at redis://queue: run it with that --queue to learn its outcome.',
  ])
  expect((await bench.run({ regenerate: ['one'] })).exit).toBe('ok')
})

test('a look at how things stand opens no queue', async () => {
  const bench = await runBench({ 'modelgate.yaml': three })
  const queue = await queueBench()
  await bench.run({ detach: true }, { queue: queue.call })
  for (const mode of ['plan', 'check', 'frozen'] as const) {
    const { document } = await bench.run({ mode }, { queue: queue.call })
    expect([mode, document!.states.unknown, document!.states.new]).toEqual([mode, 0, 3])
  }
  expect(queue.opened()).toBe(1)
})

test('a run whose standard output is full gives nothing to the queue, and waits for no worker', async () => {
  const bench = await runBench({ 'modelgate.yaml': mixed })
  const queue = await queueBench()
  const full = new ModelgateError('io', 'output_full', 'Standard output cannot be written: no space left.')
  const listener = { event() {}, flush: () => Promise.reject(full) }
  const { exit } = await bench.run({}, { queue: queue.call, listener })
  expect([exit, queue.sent]).toEqual(['io', []])
})
