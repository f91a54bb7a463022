import { hash } from 'node:crypto'
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { Interrupted, ModelgateError } from '../../../src/errors.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { queueServers, type QueueServer } from '../../support/queue-servers.ts'
import { runBench } from '../run/run-bench.ts'
import { locks, queueBench } from './queue-bench.ts'

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
  scenes:
    generate: { model: gemini-3-flash, prompt: "A storyboard", schema: scenes.json }
    out: scenes.txt
  frames:
    each: "@scenes"
    image create: { model: image-a, prompt: "\${title}" }
    out: frame-\${id}.png
`
/** The one answer that matches it has two elements. */
const scenes = '{ "const": [{ "id": "dawn", "title": "At dawn" }, { "id": "noon", "title": "At noon" }] }'
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
const film =
  'version: 1\njobs:\n  film: { video generate: { model: veo-3.1, prompt: A harbour }, out: film.mp4 }\n'
const hero = '{ image create: { model: image-a, prompt: A boat }, out: hero.png }'
const two = `version: 1
jobs:
  hero: ${hero}
  note: { respond: { model: text-a, input: What is it, attach: "@hero" }, out: note.txt }
`
const single = `version: 1\njobs:\n  hero: ${hero}\n`
const image = { endpoint: 'image-generations', times: 1 } as const
const text = { endpoint: 'responses', times: 1 } as const
const keptKey = 'a request that is sent again under its key'
const heroAndNote = ['hero: fresh (generated)', 'note: fresh (generated)']

/** What a lock says, without what differs from run to run. */
function stable(content: string): unknown {
  return JSON.parse(content, (name, value: unknown) =>
    ['took_s', 'origin', 'request_id', 'job_id'].includes(name) ? undefined : value,
  )
}

type Scenario = readonly [
  what: string,
  faults: readonly FaultRule[],
  told: readonly string[],
  created: number,
]

const busy = { action: 'status', headers: { 'retry-after': '0.1' } } as const
const scenarios: readonly Scenario[] = [
  [
    'a request of unknown outcome',
    [{ ...image, action: 'reset' }],
    ['hero: unknown (unknown)', 'note: blocked (skipped)'],
    1,
  ],
  // Each time another request, which may be paid for.
  ['a text that is asked for again', [{ ...text, action: 'reset', at: 'after-headers' }], heroAndNote, 3],
  [
    'a request that is refused',
    [{ ...text, action: 'status', status: 400 }],
    ['hero: fresh (generated)', 'note: new (failed)'],
    1,
  ],
  ['a request that is refused for a while', [{ ...text, ...busy, times: 2, status: 429 }], heroAndNote, 2],
  ['a gateway that fails for a while', [{ ...text, ...busy, times: 2, status: 503 }], heroAndNote, 2],
  [keptKey, [{ ...image, times: 2, action: 'reset', at: 'after-headers' }], heroAndNote, 2],
]

type BenchOptions = Parameters<typeof runBench>[1]

async function benchesOn(server: QueueServer, manifest: string, options: BenchOptions = {}) {
  const bench = await runBench({ 'modelgate.yaml': manifest, 'scenes.json': scenes }, options)
  return { bench, queue: await queueBench(server.url, bench.sandbox.url) }
}

const mixedFiles = [
  'words.txt',
  'title.txt',
  'boat.png',
  'night.png',
  'film.mp4',
  'remix.mp4',
  'sail.png',
  'frame-noon.png',
] as const

/** What a run without a queue leaves. */
async function makeLocally() {
  const bench = await runBench({ 'modelgate.yaml': mixed, 'scenes.json': scenes })
  expect((await bench.run()).error).toBeUndefined()
  return leftBy(bench)
}

const leftBy = (bench: Awaited<ReturnType<typeof runBench>>) => ({
  lock: stable(bench.read('modelgate.lock')),
  files: mixedFiles.map((name) => hash('sha256', readFileSync(bench.path(name)))),
  created: bench.sandbox.created(),
})

let local: ReturnType<typeof makeLocally> | undefined

describe.each(queueServers)('a run through a queue on $name', ({ isThere, needs, start }) => {
  let server: QueueServer
  beforeAll(async () => {
    if (isThere) server = await start()
  })
  afterAll(() => server?.remove())
  beforeEach(({ skip }) => skip(!isThere, `needs ${needs}`))

  const benches = (manifest: string, options?: BenchOptions) => benchesOn(server, manifest, options)

  test('makes the files and the lock that a run without one makes', async () => {
    local ??= makeLocally()
    const { bench, queue } = await benches(mixed)
    queue.work()
    const connect = () => Promise.reject(new Error('A submitter needs no key.'))
    const { exit, error, document } = await bench.run({}, { queue: queue.call, connect })
    expect([exit, error]).toEqual(['ok', undefined])
    expect(document!.creates).toMatchObject({ planned: 10, made: 10 })
    expect(leftBy(bench)).toEqual(await local)
    expect(await queue.jobs()).toEqual([])
    const { told } = await bench.run({}, { queue: queue.call })
    expect(told.filter((line) => !line.endsWith(': fresh'))).toEqual([])
  })

  test('keeps its budget over all workers and processes', async () => {
    const { bench, queue } = await benches(three)
    queue.work()
    const first = await bench.run({ maxCreates: 2 }, { queue: queue.call })
    expect([first.exit, first.error?.code, bench.sandbox.created()]).toEqual(['limit', 'creations_limit', 2])
    expect(first.document!.creates).toEqual({ planned: 3, made: 2, limit: 2 })
    const second = await bench.run({ maxCreates: 2 }, { queue: queue.call })
    expect([second.exit, bench.sandbox.created()]).toEqual(['limit', 2])
    const raised = await bench.run({ maxCreates: 3 }, { queue: queue.call })
    expect([raised.exit, bench.sandbox.created(), raised.document!.creates.made]).toEqual(['ok', 3, 3])
  })

  test('takes back what no worker has begun when it is stopped, and the next one makes it', async () => {
    const { bench, queue } = await benches(three)
    const stop = new AbortController()
    const context = { ...bench.context, signal: stop.signal }
    const running = bench.run({ graceS: 0 }, { queue: queue.call, context })
    await expect.poll(queue.open).toBe(3)
    stop.abort(new Interrupted('interrupt'))
    const { exit, told } = await running
    expect([exit, told[0]]).toEqual(['interrupt', 'boats[one]: new (skipped)'])
    expect(await queue.jobs()).toEqual([])
    queue.work()
    const next = await bench.run({}, { queue: queue.call })
    expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', all, 3])
    expect(next.document!.creates.made).toBe(3)
  })

  test('leaves what a worker is at to the next run when it is stopped', async () => {
    const { bench, queue } = await benches(three, { sandbox: { latency: 300 } })
    queue.work()
    const stop = new AbortController()
    const context = { ...bench.context, signal: stop.signal }
    const running = bench.run({ graceS: 0 }, { queue: queue.call, context })
    await expect.poll(() => bench.sandbox.requests().length).toBe(3)
    stop.abort(new Interrupted('interrupt'))
    const { exit, document } = await running
    expect([exit, document!.states.unknown]).toEqual(['interrupt', 0])
    expect(document!.warnings[0]).toContain('3 requests are with the queue')
    const next = await bench.run({}, { queue: queue.call })
    expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', all, 3])
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

  test.each(scenarios)('ends as one without, for %s', async (what, faults, told, created) => {
    const run = async (isQueued: boolean) => {
      const options = { sandbox: { faults }, idempotencyHonoured: what === keptKey }
      const { bench, queue } = await benches(two, options)
      queue.work()
      const call = { queue: isQueued ? queue.call : undefined }
      const first = await bench.run({}, call)
      const { creates, instances } = first.document!
      const errors = instances.map(
        ({ error }) => error && { ...error, message: error.message.replace(/:\d+ /, ' ') },
      )
      const before = bench.sandbox.created()
      const second = await bench.run({}, call)
      return {
        exit: first.exit,
        told: first.told,
        made: creates.made,
        errors,
        second: [second.told, second.exit],
        created: before,
        later: bench.sandbox.created() - before,
      }
    }
    const [local, queued] = [await run(false), await run(true)]
    expect(queued).toEqual(local)
    expect(queued).toMatchObject({ told, created })
  })

  test('that left its requests to the workers is taken up by the next one', async () => {
    const { bench, queue } = await benches(three)
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
    for (const mode of ['plan', 'check', 'frozen'] as const) {
      const { document } = await bench.run({ mode }, { queue: queue.call })
      expect([mode, document!.states.unknown, document!.states.new]).toEqual([mode, 0, 3])
    }
    // A look at how things stand opens no queue.
    expect(queue.opened()).toBe(1)
    queue.work()
    await expect.poll(queue.told).toBe(3)
    const { exit, told, document } = await bench.run({}, { queue: queue.call })
    expect([exit, told]).toEqual(['ok', all])
    expect([bench.sandbox.created(), document!.creates.made]).toEqual([3, 3])
    expect(await queue.jobs()).toEqual([])
  })

  test('tells a file that the store has lost, or has wrong, and fetches it later', async () => {
    const texts = three.replace('image create: { model: image-a, prompt:', 'respond: { model: text-a, input:')
    const { bench, queue } = await benches(texts.replace('.png', '.txt'))
    queue.work()
    await bench.run({ detach: true }, { queue: queue.call })
    await expect.poll(queue.told).toBe(3)
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
      ['result_lost', 'yes'],
      ['result_lost', 'yes'],
    ])
    for (const [at, path] of [lost!, wrong!].entries()) writeFileSync(path, bytes[at]!)
    const next = await bench.run({}, { queue: queue.call })
    expect([next.exit, bench.sandbox.created()]).toEqual(['ok', 3])
  })

  test('has a job that a run without a queue has started looked up, and not started again', async () => {
    const faults: FaultRule[] = [{ endpoint: 'operation-lookup', times: 1, action: 'status', status: 401 }]
    const { bench, queue } = await benches(film, { sandbox: { faults } })
    expect((await bench.run()).exit).toBe('key')
    queue.work()
    const { exit, document } = await bench.run({ maxCreates: 1 }, { queue: queue.call })
    expect([exit, bench.sandbox.created(), document!.creates.made]).toEqual(['ok', 1, 1])
  })

  test('submits what was never submitted, and is in doubt of what is a week old', async () => {
    const { bench, queue } = await benches(single)
    const note =
      '{ respond: { model: text-a, input: What is it, attach: in.txt }, on_unknown: stop, out: note.txt }'
    bench.write('modelgate.yaml', `version: 1\njobs:\n  note: ${note}\n`)
    bench.write('in.txt', 'a boat '.repeat(100))
    // Killed between the intent and the queue, as far as anybody can see.
    const refused = new ModelgateError('usage', 'config_invalid', 'It is full.', { billed: 'maybe' })
    const open = async () => {
      const opened = await queue.call.open()
      return { ...opened, store: { ...opened.store, put: () => Promise.reject(refused) } }
    }
    expect((await bench.run({}, { queue: { ...queue.call, open } })).exit).toBe('usage')
    const clock = { ...bench.context.clock, now: () => bench.context.clock.now() + 8 * 24 * 3600 * 1000 }
    const context = { ...bench.context, clock }
    const late = await bench.run({}, { queue: queue.call, context })
    expect([late.exit, late.told]).toEqual(['unknown', ['note: unknown']])
    queue.work()
    const next = await bench.run({}, { queue: queue.call })
    expect([next.exit, next.told, bench.sandbox.created()]).toEqual(['ok', ['note: fresh (generated)'], 1])
  })

  test('tells the command that starts a worker when there has been none for ten seconds', async () => {
    const { bench, queue } = await benches(single)
    const { clock } = bench.context
    let afterTen = () => {}
    const timer = (ms: number, callback: () => void, label?: 'sleep' | 'background') => {
      if (ms === 10_000 && label === 'background') afterTen = callback
      return clock.timer(ms, callback, label)
    }
    const context = { ...bench.context, clock: { ...clock, timer } }
    const running = bench.run({}, { queue: queue.call, context })
    await expect.poll(queue.open).toBe(1)
    afterTen()
    queue.work()
    const { document } = await running
    expect(document!.warnings).toEqual([
      'No worker has started it yet. Start one: modelgate run worker --queue redis://queue --store store',
    ])
  })

  test('gives nothing to the queue when standard output is full', async () => {
    const { bench, queue } = await benches(mixed)
    const full = new ModelgateError('io', 'no_space', 'Standard output cannot be written: no space left.')
    const listener = { event() {}, flush: () => Promise.reject(full) }
    const { exit } = await bench.run({}, { queue: queue.call, listener })
    expect([exit, await queue.jobs()]).toEqual(['io', []])
  })

  test('does not make requests again that were given to a queue which is not asked', async () => {
    const texts = three.replace('image create: { model: image-a, prompt:', 'respond: { model: text-a, input:')
    const { bench, queue } = await benches(texts.replace('.png', '.txt'))
    await bench.run({ detach: true }, { queue: queue.call })
    const { exit, told, document } = await bench.run()
    expect([exit, told[0], bench.sandbox.created()]).toEqual(['unknown', 'boats[one]: unknown', 0])
    expect(document!.instances[0]!.reasons).toEqual([
      `A request was sent to the queue at ${queue.server.url.shown}: run it with that --queue to learn its outcome.`,
    ])
    expect(document!.left).toMatchObject([{ state: 'unknown', commands: [] }])
    queue.work()
    expect((await bench.run({}, { queue: queue.call })).told).toEqual(all)
    expect(bench.sandbox.created()).toBe(3)
  })

  test('ends before anything is written when the queue cannot be reached', async () => {
    const { bench, queue } = await benches(single)
    const gone = new ModelgateError('notSent', 'queue_unreachable', 'The queue cannot be reached.')
    const { exit } = await bench.run({}, { queue: { ...queue.call, open: () => Promise.reject(gone) } })
    expect([exit, bench.list('.modelgate/runs'), bench.exists('modelgate.lock')]).toEqual([
      'notSent',
      [],
      false,
    ])
  })
})
