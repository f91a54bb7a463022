import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Interrupted, ModelgateError } from '../../../src/errors.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { runBench, type Bench } from '../run/run-bench.ts'
import { digestOf } from '../store/store-samples.ts'
import { locks, queueBench } from './queue-bench.ts'

const mixed = `version: 1
jobs:
  words: { respond: { model: text-a, input: "Name a boat" }, out: words.txt }
  title: { generate: { model: gemini-3-flash, prompt: "A title" }, out: title.txt }
  boat: { image create: { model: image-a, prompt: "@words" }, out: boat.png }
  night: { image edit: { model: image-a, prompt: "At night", image: "@boat" }, out: night.png }
  film: { video generate: { model: veo-3.1, prompt: "It sails", image: "@boat" }, out: film.mp4 }
  remix: { video remix: { model: veo-3.1, prompt: "In winter", source: "@film" }, out: remix.mp4 }
  choice: { image create: { model: image-a, prompt: "A sail" }, variants: 3, pick: 2, out: sail.png }
  scenes: { generate: { model: gemini-3-flash, prompt: "A board", schema: scenes.json }, out: scenes.txt }
  frames:
    each: "@scenes"
    image create: { model: image-a, prompt: "\${title}" }
    out: frame-\${id}.png
`
/** The one answer that matches it has two elements. */
const scenes = '{ "const": [{ "id": "dawn", "title": "At dawn" }, { "id": "noon", "title": "At noon" }] }'
const boats = (request: string, out: string) => `version: 1
jobs:
  boats:
    each: [{ id: one }, { id: two }, { id: three }]
    ${request}: "A boat, \${id}" }
    out: \${id}.${out}
`
const pictures = boats('image create: { model: image-a, prompt', 'png')
const texts = boats('respond: { model: text-a, input', 'txt')
const all = ['one', 'two', 'three'].map((id) => `boats[${id}]: fresh (generated)`)
const oneJob = (job: string) => `version: 1\njobs:\n  ${job}\n`
const film = oneJob('film: { video generate: { model: veo-3.1, prompt: A harbour }, out: film.mp4 }')
const single = oneJob('hero: { image create: { model: image-a, prompt: A boat }, out: hero.png }')
const two = `${single}  note: { respond: { model: a, input: What is it, attach: "@hero" }, out: note.txt }\n`
const heroAndNote = ['hero: fresh (generated)', 'note: fresh (generated)']

/** What a lock says, without what differs from run to run. */
function stable(content: string): unknown {
  return JSON.parse(content, (name, value: unknown) =>
    ['took_s', 'origin', 'request_id', 'job_id'].includes(name) ? undefined : value,
  )
}

type BenchOptions = Parameters<typeof runBench>[1]

async function benchesOn(server: QueueServer, manifest: string, options: BenchOptions = {}) {
  const bench = await runBench({ 'modelgate.yaml': manifest, 'scenes.json': scenes }, options)
  const queue = await queueBench(server.url, bench.sandbox.url)
  /** Through the queue. */
  const run: typeof bench.run = (words, changes) => bench.run(words, { queue: queue.call, ...changes })
  return { bench, queue, run }
}

/** What a run leaves. */
const leftBy = (bench: Bench) => ({
  lock: stable(bench.read('modelgate.lock')),
  files: bench
    .list('.')
    .filter((name) => /\.(?:txt|png|mp4)$/.test(name))
    .toSorted()
    .map((name) => [name, digestOf(readFileSync(bench.path(name)))]),
  created: bench.sandbox.created(),
})

describe.each(queueServers)('a run through a queue on $name', ({ isThere, needs, start }) => {
  let server: QueueServer
  beforeAll(async () => {
    if (isThere) server = await start()
  })
  afterAll(() => server?.remove())
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  const benches = (manifest: string, options?: BenchOptions) => benchesOn(server, manifest, options)

  /** A run that goes on, and is stopped without grace. */
  const stoppable = async (options?: BenchOptions) => {
    const { bench, queue, run } = await benches(pictures, options)
    const stop = new AbortController()
    const context = { ...bench.context, signal: stop.signal }
    return { bench, queue, run, stop, running: run({ graceS: 0 }, { context }) }
  }

  test('makes the files and the lock that a run without one makes', async () => {
    const local = await runBench({ 'modelgate.yaml': mixed, 'scenes.json': scenes })
    expect(await local.run()).toMatchObject({ exit: 'ok', created: 10 })
    const { bench, queue, run } = await benches(mixed)
    queue.work()
    const connect = () => Promise.reject(new Error('A submitter needs no key.'))
    const creates = { planned: 10, made: 10 }
    expect(await run({}, { connect })).toMatchObject({ error: undefined, document: { creates } })
    expect(leftBy(bench)).toEqual(leftBy(local))
    expect(leftBy(bench).files).toHaveLength(10)
    expect(await queue.jobs()).toEqual([])
    expect((await run()).told.filter((line) => !line.endsWith(': fresh'))).toEqual([])
  })

  test('keeps its budget over all workers and processes', async () => {
    const { queue, run } = await benches(pictures)
    queue.work()
    expect(await run({ maxCreates: 2 })).toMatchObject({
      exit: 'limit',
      error: { code: 'creations_limit' },
      document: { creates: { planned: 3, made: 2, limit: 2 } },
      created: 2,
    })
    expect(await run({ maxCreates: 2 })).toMatchObject({ exit: 'limit', created: 2 })
    expect(await run({ maxCreates: 3 })).toMatchObject({ exit: 'ok', created: 3, made: 3 })
  })

  test('takes back what no worker has begun when it is stopped, and the next one makes it', async () => {
    const { queue, run, stop, running } = await stoppable()
    await expect.poll(queue.open).toBe(3)
    stop.abort(new Interrupted('interrupt'))
    const { exit, told } = await running
    expect([exit, told[0]]).toEqual(['interrupt', 'boats[one]: new (skipped)'])
    expect(await queue.jobs()).toEqual([])
    queue.work()
    expect(await run()).toMatchObject({ exit: 'ok', told: all, created: 3, made: 3 })
  })

  test('leaves what a worker is at to the next run when it is stopped', async () => {
    const { bench, queue, run, stop, running } = await stoppable({ sandbox: { latency: 300 } })
    queue.work()
    await expect.poll(() => bench.sandbox.requests().length).toBe(3)
    stop.abort(new Interrupted('interrupt'))
    const { exit, document } = await running
    expect([exit, document!.states.unknown]).toEqual(['interrupt', 0])
    expect(document!.warnings[0]).toContain('3 requests are with the queue')
    expect(await run()).toMatchObject({ exit: 'ok', told: all, created: 3 })
  })

  test('a rest begins no window of the rate before the one that runs is over', async () => {
    const { queue } = await benches(single)
    const lane = queue.server.lane('text')
    await lane.add('task', { message: '', state: '' })
    const stop = queue.server.receive('text', {
      concurrency: 1,
      rate: { requests: 1, perMs: 600_000 },
      locks,
      handle: async () => ({ kind: 'rest', ms: 1 }),
      onError() {},
    })
    // It ends with the lane's rest.
    onTestFinished(() => void stop())
    // So long only after the rest: before it there is no window.
    await expect.poll(async () => (await lane.getJob('1'))?.attemptsStarted).toBe(1)
    await expect.poll(() => lane.getJobCountByTypes('active')).toBe(0)
    expect(await lane.getRateLimitTtl()).toBeGreaterThan(300_000)
  })
})

// What is the same whatever the server is, on the one that is there.
const someServer = queueServers.find(({ isThere }) => isThere)

describe.skipIf(someServer === undefined)('a run through a queue (needs redis-server or postgresql)', () => {
  let server: QueueServer
  beforeAll(async () => {
    server = await someServer!.start()
  })
  afterAll(() => server.remove())

  const benches = (manifest: string, options?: BenchOptions) => benchesOn(server, manifest, options)

  const image = { endpoint: 'image-generations', times: 1 } as const
  const text = { endpoint: 'responses', times: 1 } as const
  const busy = { action: 'status', headers: { 'retry-after': '0.1' }, times: 2 } as const
  const lost = { action: 'reset', at: 'after-headers' } as const

  const unknown = ['hero: unknown (unknown)', 'note: blocked (skipped)']
  const refused = { ...text, action: 'status', status: 400 } as const
  const heroAlone = ['hero: fresh (generated)', 'note: new (failed)']

  test.each<
    [string, fault: FaultRule | FaultRule[], told: string[], created: number, idempotencyHonoured?: boolean]
  >([
    ['a request of unknown outcome', { ...image, action: 'reset' }, unknown, 1],
    // Each time another request, which may be paid for.
    ['a text that is asked for again', { ...text, ...lost }, heroAndNote, 3],
    ['a request that is refused', refused, heroAlone, 1],
    ['a request that is refused for a while', { ...text, ...busy, status: 429 }, heroAndNote, 2],
    ['a gateway that fails for a while', { ...text, ...busy, status: 503 }, heroAndNote, 2],
    ['a request that is sent again under its key', { ...image, ...lost, times: 2 }, heroAndNote, 2, true],
    [
      'one that is sent again, and refused meanwhile',
      [
        { ...image, ...lost },
        { ...image, ...busy, status: 503 },
      ],
      heroAndNote,
      2,
      true,
    ],
  ])('ends as one without, for %s', async (_, fault, told, created, idempotencyHonoured = false) => {
    const run = async (isQueued: boolean) => {
      const { queue, ...benched } = await benches(two, {
        sandbox: { faults: [fault].flat() },
        idempotencyHonoured,
      })
      queue.work()
      const call = { queue: isQueued ? queue.call : undefined }
      const { document, exit, told, made, created } = await benched.run({}, call)
      const errors = document!.instances.map(
        ({ error }) => error && { ...error, message: error.message.replace(/:\d+ /, ' ') },
      )
      const second = await benched.run({}, call)
      const later = [second.told, second.exit, second.created - created]
      return { exit, told, made, errors, created, later }
    }
    const queued = await run(true)
    expect(queued).toEqual(await run(false))
    expect(queued).toMatchObject({ told, created })
  })

  test('that left its requests to the workers is taken up by the next one', async () => {
    const { queue, run } = await benches(pictures)
    expect(await run({ detach: true })).toMatchObject({
      exit: 'running',
      error: { code: 'left_to_workers', facts: { next: ['modelgate', 'run'] } },
      told: ['boats[one]: new (skipped)', 'boats[two]: new (skipped)', 'boats[three]: new (skipped)'],
    })
    for (const mode of ['plan', 'check', 'frozen'] as const) {
      expect(await run({ mode })).toMatchObject({ document: { states: { unknown: 0, new: 3 } } })
    }
    // A look at how things stand opens no queue.
    expect(queue.opened()).toBe(1)
    queue.work()
    await expect.poll(queue.told).toBe(3)
    expect(await run()).toMatchObject({ exit: 'ok', told: all, created: 3, made: 3 })
    expect(await queue.jobs()).toEqual([])
  })

  test('tells a file that the store has lost, or has wrong, and fetches it later', async () => {
    const { queue, run } = await benches(texts)
    queue.work()
    await run({ detach: true })
    await expect.poll(queue.told).toBe(3)
    const names = readdirSync(queue.storeFolder, { recursive: true, encoding: 'utf8' })
    const blobs = names.filter((name) => /[0-9a-f]{64}/.test(name))
    const [lost, wrong] = blobs.map((name) => join(queue.storeFolder, name)) as [string, string]
    const bytes = [lost, wrong].map((path) => [path, readFileSync(path)] as const)
    rmSync(lost)
    chmodSync(wrong, 0o600)
    writeFileSync(wrong, 'something else')
    const { exit, told, document } = await run()
    expect([exit, told.filter((line) => line.endsWith(': new (failed)')).length]).toEqual(['io', 2])
    const error = { code: 'result_lost', billed: 'yes' }
    expect(document!.instances.flatMap((one) => one.error ?? [])).toMatchObject([error, error])
    for (const [path, content] of bytes) writeFileSync(path, content)
    expect(await run()).toMatchObject({ exit: 'ok', created: 3 })
  })

  test('has a job that a run without a queue has started looked up, and not started again', async () => {
    const faults: FaultRule[] = [{ endpoint: 'operation-lookup', times: 1, action: 'status', status: 401 }]
    const { bench, queue, run } = await benches(film, { sandbox: { faults } })
    expect((await bench.run()).exit).toBe('key')
    queue.work()
    expect(await run({ maxCreates: 1 })).toMatchObject({ exit: 'ok', created: 1, made: 1 })
  })

  test('submits what was never submitted, and is in doubt of what is a week old', async () => {
    const note = 'respond: { model: text-a, input: What is it, attach: in.txt }, on_unknown: stop'
    const { bench, queue, run } = await benches(oneJob(`note: { ${note}, out: note.txt }`))
    bench.write('in.txt', 'a boat '.repeat(100))
    // Killed between the intent and the queue, as far as anybody can see.
    const refused = new ModelgateError('usage', 'config_invalid', 'It is full.', { billed: 'maybe' })
    const open = async () => {
      const opened = await queue.call.open()
      return { ...opened, store: { ...opened.store, put: () => Promise.reject(refused) } }
    }
    expect((await run({}, { queue: { ...queue.call, open } })).exit).toBe('usage')
    const clock = { ...bench.context.clock, now: () => bench.context.clock.now() + 8 * 24 * 3600 * 1000 }
    const context = { ...bench.context, clock }
    expect(await run({}, { context })).toMatchObject({ exit: 'unknown', told: ['note: unknown'] })
    queue.work()
    expect(await run()).toMatchObject({ exit: 'ok', told: ['note: fresh (generated)'], created: 1 })
  })

  test('tells the command that starts a worker when there has been none for ten seconds', async () => {
    const { bench, queue, run } = await benches(single)
    const { clock } = bench.context
    let afterTen = () => {}
    const timer = (ms: number, callback: () => void, label?: 'sleep' | 'background') => {
      if (ms === 10_000 && label === 'background') afterTen = callback
      return clock.timer(ms, callback, label)
    }
    const context = { ...bench.context, clock: { ...clock, timer } }
    const running = run({}, { context })
    await expect.poll(queue.open).toBe(1)
    afterTen()
    queue.work()
    expect((await running).document!.warnings).toEqual([
      'No worker has started it yet. Start one: modelgate run worker --queue redis://queue --store store',
    ])
  })

  test('gives nothing to the queue when standard output is full', async () => {
    const { queue, run } = await benches(mixed)
    const full = new ModelgateError('io', 'no_space', 'Standard output cannot be written: no space left.')
    const listener = { event() {}, flush: () => Promise.reject(full) }
    const { exit } = await run({}, { listener })
    expect([exit, await queue.jobs()]).toEqual(['io', []])
  })

  test('does not make requests again that were given to a queue which is not asked', async () => {
    const { bench, queue, run } = await benches(texts)
    await run({ detach: true })
    const { exit, told, document, created } = await bench.run()
    expect([exit, told[0], created]).toEqual(['unknown', 'boats[one]: unknown', 0])
    expect(document!.instances[0]!.reasons).toEqual([
      `A request was sent to the queue at ${queue.server.url.shown}: run it with that --queue to learn its outcome.`,
    ])
    expect(document!.left).toMatchObject([{ state: 'unknown', commands: [] }])
    queue.work()
    expect(await run()).toMatchObject({ told: all, created: 3 })
  })

  test('ends before anything is written when the queue cannot be reached', async () => {
    const { bench, queue, run } = await benches(single)
    const gone = new ModelgateError('notSent', 'queue_unreachable', 'The queue cannot be reached.')
    const { exit } = await run({}, { queue: { ...queue.call, open: () => Promise.reject(gone) } })
    const left = [bench.list('.modelgate/runs'), bench.exists('modelgate.lock')]
    expect([exit, ...left]).toEqual(['notSent', [], false])
  })
})
