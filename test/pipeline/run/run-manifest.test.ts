import { readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Interrupted } from '../../../src/errors.ts'
import { writeLine } from '../../../src/pipeline/journal/journal.ts'
import { encodePng } from '../../../src/files/codecs.ts'
import type { FaultRule } from '../../../src/sandbox/start-sandbox.ts'
import { images } from '../../program/images/replies.ts'
import { localServer } from '../../support/local-server.ts'
import { testPicture } from '../../support/test-images.ts'
import { until } from '../../support/until.ts'
import { runBench } from './run-bench.ts'

const manifestOf = (...jobs: readonly string[]) =>
  `version: 1\njobs:\n${jobs.map((job) => `  ${job}\n`).join('')}`
const textJob = (id: string, input: string, out = `${id}.txt`) =>
  `${id}: { respond: { model: m, input: ${input} }, out: ${out} }`

const two = manifestOf(
  'hero: { image create: { model: image-model-a, prompt: A harbour }, out: assets/hero.png }',
  'note: { respond: { model: sandbox-text, input: What is this?, attach: "@hero" }, out: copy/note.txt }',
)
const both = ['hero: fresh (generated)', 'note: fresh (generated)']

/** Two jobs that have been run. */
async function finishedBench(manifest = two) {
  const bench = await runBench({ 'modelgate.yaml': manifest })
  expect((await bench.run()).exit).toBe('ok')
  return bench
}

test('a run makes what is new, each behind what it needs, and the next one has nothing to do', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  expect(await bench.run()).toMatchObject({ told: both, exit: 'ok', created: 2 })
  expect(bench.exists('assets/hero.png') && bench.exists('copy/note.txt')).toBe(true)
  expect(Object.keys(bench.lock())).toEqual(['$about', 'hero', 'note', '$version'])
  expect(await bench.run()).toMatchObject({ told: ['hero: fresh', 'note: fresh'], exit: 'ok', created: 2 })
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  rmSync(bench.path('assets/hero.png'))
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  const frozen = await bench.run({ mode: 'frozen' })
  expect(frozen).toMatchObject({ told: ['hero: fresh (restored)', 'note: fresh'], created: 2 })
})

test('a result of a gateway that gives no id gets its place, too', async () => {
  const job = 'note: { generate: { model: m, prompt: Hi }, out: "copy/{id}.txt" }'
  const bench = await finishedBench(manifestOf(job))
  expect(bench.list('copy')).toEqual(['no-id.txt'])
  expect(await bench.run()).toMatchObject({ told: ['note: fresh'], exit: 'ok', created: 1 })
})

test.each([
  [
    'what is not what was asked for',
    ', background: transparent, output_format: webp',
    // What is locked is not compared again.
    ['', 'accept_mismatch: true, ', ''],
    [
      'The image came with output_format png instead of webp.',
      'The image came with background opaque instead of transparent.',
    ],
  ],
  [
    'what does not hold its asserts',
    '',
    ['assert: { width: 999 }, ', 'assert: { width: 64 }, ', ''],
    ['The image is 64 pixels wide, not 999.'],
  ],
] as const)('%s is rejected until the job accepts it', async (_, fields, own, reasons) => {
  const [rejecting, accepting, locked] = own
  const opaque = Buffer.from(await encodePng(testPicture(64, 64, () => 255)))
  const gateway = await localServer([images(opaque)])
  const manifest = (own: string) =>
    manifestOf(
      `hero: { image create: { model: m, prompt: A kite, size: 64x64${fields} }, ${own}out: hero.img }`,
    )
  const through = async () => gateway.url
  const bench = await runBench({ 'modelgate.yaml': manifest(rejecting) }, { through })
  const made = await bench.run()
  expect(made).toMatchObject({ told: ['hero: rejected (rejected)'], exit: 'partial' })
  expect(made.document!.instances[0]!.reasons).toEqual(reasons)
  expect([bench.exists('hero.img'), bench.exists('modelgate.lock')]).toEqual([false, false])
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  expect(await bench.run()).toMatchObject({ told: ['hero: rejected'], exit: 'partial' })
  bench.write('modelgate.yaml', manifest(accepting))
  expect(await bench.run()).toMatchObject({ told: ['hero: fresh (accepted)'], exit: 'ok' })
  bench.write('modelgate.yaml', manifest(locked))
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  rmSync(bench.path('hero.img'))
  expect((await bench.run()).told).toEqual(['hero: fresh (restored)'])
  expect(gateway.requests).toHaveLength(1)
})

const harbour = two.replaceAll('hero', 'harbour')
const capital = two.replace('hero.png', 'Hero.png')
const placed = manifestOf(textJob('a', 'One', 'assets/one'), textJob('b', 'Two', 'assets/two'))
const changed = manifestOf(textJob('a', 'One', 'assets/two'), textJob('b', 'Two', 'assets/one'))

test.each([
  ['a renamed job', two, harbour, 'harbour: fresh (moved), note: fresh', { 'harbour.png': 'hero.png' }],
  ['an output in other case', two, capital, 'hero: fresh (moved), note: fresh', { 'Hero.png': 'hero.png' }],
  [
    'two that change places',
    placed,
    changed,
    'a: fresh (moved), b: fresh (moved)',
    { one: 'two', two: 'one' },
  ],
])('of %s nothing is made again', async (_, before, after, told, moves) => {
  const bench = await finishedBench(before)
  const former = Object.entries(moves).map(([to, from]) => [to, bench.read(`assets/${from}`)])
  expect(new Set(former.map(([, content]) => content)).size).toBe(former.length)
  bench.write('modelgate.yaml', after)
  expect(await bench.run()).toMatchObject({ told: told.split(', '), exit: 'ok', created: 2 })
  const files = bench.list('assets').map((name) => [name, bench.read(`assets/${name}`)])
  expect(Object.fromEntries(files)).toEqual(Object.fromEntries(former))
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
})

test('a changed prompt is made again, and what depends on it', async () => {
  const bench = await finishedBench()
  bench.write('modelgate.yaml', two.replace('A harbour', 'A harbour at night'))
  const { document, ...plan } = await bench.run({ mode: 'plan' })
  expect(plan).toMatchObject({ told: ['hero: stale', 'note: pending'], exit: 'ok' })
  expect(document).toMatchObject({ creates: { planned: 2 }, instances: [{ creates: 1 }, { creates: 1 }] })
  expect(document!.instances[0]!.reasons.join(' ')).toContain('prompt')
  expect(await bench.run()).toMatchObject({ told: both, created: 4 })
  // The words of before have a result already.
  bench.write('modelgate.yaml', two)
  const told = ['hero: fresh (restored)', 'note: fresh (restored)']
  expect(await bench.run()).toMatchObject({ told, created: 4 })
})

test('a file that was edited is kept, and only --force goes on', async () => {
  const bench = await finishedBench()
  bench.write('copy/note.txt', 'Mine.')
  expect(await bench.run()).toMatchObject({ told: ['hero: fresh', 'note: changed (kept)'], exit: 'outdated' })
  expect(bench.read('copy/note.txt')).toBe('Mine.')
  const forced = await bench.run({ force: true })
  expect(forced).toMatchObject({ told: ['hero: fresh', 'note: fresh (restored)'], exit: 'ok', created: 2 })
  expect(bench.read('copy/note.txt')).not.toBe('Mine.')
})

const choice = (own: string) =>
  manifestOf(`hero: { image create: { model: image-model-a, prompt: A harbour }, ${own}, out: hero.png }`)

test('candidates wait for a choice, and the choice among new ones is another', async () => {
  const bench = await runBench({ 'modelgate.yaml': choice('variants: 3') })
  const awaiting = { told: ['hero: awaiting (awaiting)'], exit: 'outdated' }
  expect(await bench.run()).toMatchObject(awaiting)
  expect([bench.list('.modelgate/results').length, bench.exists('hero.png')]).toEqual([3, false])
  expect((await bench.run()).told).toEqual(['hero: awaiting'])
  bench.write('modelgate.yaml', choice('variants: 3, pick: 2'))
  expect(await bench.run()).toMatchObject({ told: ['hero: fresh (restored)'], exit: 'ok' })
  bench.write('modelgate.yaml', choice('variants: 3'))
  expect(await bench.run()).toMatchObject({ told: ['hero: fresh'], created: 3 })
  expect(await bench.run({ regenerate: ['hero'] })).toMatchObject(awaiting)
  expect(await bench.run()).toMatchObject({ told: ['hero: awaiting'], created: 6 })
})

test('a candidate that the manifest picks is the output when it is regenerated', async () => {
  const bench = await finishedBench(choice('variants: 3, pick: 2'))
  const before = bench.read('hero.png')
  const again = await bench.run({ regenerate: ['hero'] })
  expect(again).toMatchObject({ told: ['hero: fresh (generated)'], exit: 'ok', created: 2 })
  expect(bench.read('hero.png')).not.toBe(before)
  expect((await bench.run()).told).toEqual(['hero: fresh'])
})

test('equal requests are sent once, and that is told', async () => {
  const bench = await runBench({ 'modelgate.yaml': manifestOf(textJob('a', 'One'), textJob('b', 'One')) })
  const { document, ...run } = await bench.run()
  const told = ['a: fresh (generated)', 'b: fresh (generated)']
  expect(run).toMatchObject({ told, exit: 'ok', created: 1 })
  expect(document!.warnings).toEqual([
    'b shares a request with a and gets its result. `distinct: true` in a job makes each of its instances its own.',
  ])
  expect(bench.read('a.txt')).toBe(bench.read('b.txt'))
})

test('the budget ends a run in good order, and counts over its processes', async () => {
  const jobs = ['one', 'two', 'three'].map((id) => textJob(id, id))
  const bench = await runBench({ 'modelgate.yaml': `${manifestOf(...jobs)}budget: { creates: 2 }\n` })
  const creates = { planned: 3, made: 2, limit: 2 }
  expect(await bench.run()).toMatchObject({ exit: 'limit', created: 2, document: { creates } })
  expect(await bench.run()).toMatchObject({ exit: 'limit', created: 2 })
  expect(await bench.run({ newRun: true })).toMatchObject({ exit: 'ok', created: 3 })
})

test('what a damaged line of the journal may have been is not sent again by itself', async () => {
  const boat = 'hero: { image create: { model: m, prompt: A boat }, out: a.png }'
  const bench = await runBench({ 'modelgate.yaml': manifestOf(boat) })
  const run = '20261122T120000000-00000001'
  const begin = { type: 'begin', run, manifest: 'modelgate.yaml', version: '1' } as const
  bench.write(`.modelgate/runs/${run}.jsonl`, `${writeLine(begin, 0)}${'x'.repeat(200)}\n`)
  for (const _ of [1, 2]) {
    expect(await bench.run()).toMatchObject({ exit: 'unknown', told: ['hero: unknown'], created: 0 })
  }
  expect((await bench.run({ regenerate: ['hero'] })).exit).toBe('ok')
  expect(await bench.run()).toMatchObject({ exit: 'ok', created: 1 })
})

const faultyBench = (manifest: string, faults: readonly FaultRule[], idempotencyHonoured = false) =>
  runBench({ 'modelgate.yaml': manifest }, { sandbox: { faults }, idempotencyHonoured })

/** A picture or a text that is made, and whose reply is lost. */
const lost = { times: 1, action: 'reset', at: 'after-headers' } as const
const lostImage: FaultRule = { endpoint: 'image-generations', ...lost }
const lostText: FaultRule = { endpoint: 'responses', ...lost }
const refusedText: FaultRule = { endpoint: 'responses', times: 1, action: 'status', status: 400 }
const busyImage = (times: number, retryAfter: string): FaultRule => {
  const headers = { 'retry-after': retryAfter }
  return { endpoint: 'image-generations', times, action: 'status', status: 429, headers }
}
const oneText = (own = '') => manifestOf(`a: { respond: { model: m, input: One }, ${own}out: one.txt }`)
const retried = oneText('on_unknown: retry, ')

test('a request of unknown outcome stops its job until it is regenerated', async () => {
  const bench = await faultyBench(two, [{ endpoint: 'image-generations', times: 1, action: 'reset' }])
  const first = ['hero: unknown (unknown)', 'note: blocked (skipped)']
  expect(await bench.run()).toMatchObject({ told: first, exit: 'unknown' })
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  const second = ['hero: unknown', 'note: blocked (skipped)']
  expect(await bench.run()).toMatchObject({ told: second, exit: 'unknown' })
  expect(await bench.run({ regenerate: ['hero'] })).toMatchObject({ told: both, exit: 'ok' })
})

test.each([
  ['with a gateway that honours its key it creates nothing twice', [{ ...lostImage, times: 2 }], 3],
  ['it is not taken for one that was never sent when it is refused next', [lostImage, busyImage(1, '0')], 3],
])('a request whose reply is lost is sent again: %s', async (_, faults, sent) => {
  const bench = await faultyBench(two, faults, true)
  expect(await bench.run({ jobs: ['hero'] })).toMatchObject({ exit: 'ok', created: 1, made: 1 })
  const keys = bench.sandbox.requests().map(({ idempotencyKey }) => idempotencyKey)
  expect([keys.length, new Set(keys).size]).toEqual([sent, 1])
})

test('a job that cannot be looked up for want of a key is gone on with when there is one', async () => {
  const manifest = manifestOf('a: { video generate: { model: veo-3.1, prompt: A harbour }, out: a.mp4 }')
  const faults = [{ endpoint: 'operation-lookup', times: 1, action: 'status', status: 401 }] as const
  const bench = await faultyBench(manifest, faults)
  expect((await bench.run()).exit).toBe('key')
  expect(await bench.run()).toMatchObject({ told: ['a: fresh (generated)'], created: 1 })
})

test('a text of unknown outcome is asked for again, and counted again, also by a later run', async () => {
  const madeAgain = { told: ['a: fresh (generated)'], exit: 'ok', made: 2 }
  expect(await (await faultyBench(oneText(), [lostText])).run()).toMatchObject(madeAgain)
  const bench = await faultyBench(oneText('on_unknown: stop, '), [lostText])
  expect((await bench.run()).told).toEqual(['a: unknown (unknown)'])
  bench.write('modelgate.yaml', retried)
  expect(await bench.run()).toMatchObject(madeAgain)
})

test.each([
  ['reaches the limit', [], { maxCreates: 1 }, 'limit'],
  ['is refused', [refusedText], {}, 'partial'],
] as const)('a lost text whose repetition %s may have been billed', async (_, faults, options, exit) => {
  const bench = await faultyBench(retried, [lostText, ...faults])
  const { error, document, made } = await bench.run(options)
  expect([error?.exit, error?.facts.billed, made]).toEqual([exit, 'maybe', 1])
  expect(document!.instances[0]!.error).toMatchObject({ billed: 'maybe' })
})

test('requests that the gateway refuses for a while are sent again, and those that failed are not', async () => {
  const bench = await faultyBench(two, [busyImage(3, '1'), refusedText])
  const { events, ...run } = await bench.run()
  const told = ['hero: fresh (generated)', 'note: new (failed)']
  expect(run).toMatchObject({ told, exit: 'partial', created: 1 })
  expect(events.map(({ type }) => type)).toContain('lane-change')
  // Killed while it waits, the run must not be in doubt about what was refused, of the text as well.
  const [journal] = bench.list('.modelgate/runs')
  expect(bench.read(`.modelgate/runs/${journal}`).match(/"type":"release"/g)).toHaveLength(4)
  expect((await bench.run()).exit).toBe('ok')
})

test('a run that was killed before it wrote the lock is completed without a request', async () => {
  const bench = await finishedBench()
  const lock = bench.read('modelgate.lock')
  rmSync(bench.path('modelgate.lock'))
  const journal = bench.path(`.modelgate/runs/${bench.list('.modelgate/runs')[0]}`)
  const lines = readFileSync(journal, 'utf8')
  writeFileSync(journal, lines.replace(/\{"type":"end".*\n$/, ''))
  const told = ['hero: fresh (restored)', 'note: fresh (restored)']
  expect(await bench.run()).toMatchObject({ told, exit: 'ok', created: 2 })
  expect(bench.read('modelgate.lock')).toBe(lock)
})

test('what is cut after the time of grace is skipped or unknown, and the next run goes on', async () => {
  const image = 'a: { image create: { model: image-model-a, prompt: One }, out: a.png }'
  const manifest = manifestOf(image, textJob('b', 'Two'), textJob('c', 'Three'))
  const bench = await faultyBench(`${manifest}lanes: { text: 1, image: 1 }\n`, [
    { endpoint: 'image-generations', times: 1, action: 'stall', at: 'before-body' },
    { endpoint: 'responses', times: 1, action: 'stall', at: 'before-headers' },
  ])
  const stopping = new AbortController()
  const running = bench.run({ graceS: 0.01 }, { context: { ...bench.context, signal: stopping.signal } })
  await until(() => bench.sandbox.requests().length === 2)
  stopping.abort(new Interrupted('interrupt'))
  const { document, ...stopped } = await running
  const cut = ['a: unknown (unknown)', 'b: new (skipped)', 'c: new (skipped)']
  expect(stopped).toMatchObject({ told: cut, exit: 'interrupt' })
  expect(document!.warnings).toEqual([
    'Stopping: 2 requests are under way and may continue for 0.01 s. Another Ctrl-C ends the run at once.',
  ])
  const made = ['a: fresh (generated)', 'b: fresh (generated)', 'c: fresh (generated)']
  expect((await bench.run({ regenerate: ['a'] })).told).toEqual(made)
})

test('what a killed run has left stays while another manifest of the folder is being run', async () => {
  const bench = await finishedBench()
  const part = '0123456789abcdef.mgpart'
  const result = `.modelgate/results/${'0'.repeat(64)}`
  for (const path of [`copy/.note.txt.${part}`, `${result}/1.png`, `${result}/.1.png.${part}`]) {
    bench.write(path, '')
  }
  const owner = '.modelgate/runs/modelgate.yaml.0123456789abcdef.owner'
  bench.write(owner, JSON.stringify({ process: 1, host: 'elsewhere' }))
  utimesSync(bench.path(owner), 1, 1)
  bench.write('.modelgate/runs/canon.yaml.0123456789abcdef.owner', '{}')
  expect((await bench.run()).exit).toBe('ok')
  expect(bench.list('copy')).toContain(`.note.txt.${part}`)
  expect(bench.list(result)).toHaveLength(2)
})

test('a run that was killed between the place of an earlier result and the lock is completed', async () => {
  const bench = await finishedBench()
  const note = bench.read('copy/note.txt')
  bench.write('modelgate.yaml', two.replace('What is this?', 'And this?'))
  await bench.run()
  expect(bench.read('copy/note.txt')).not.toBe(note)
  // Back again: the former result is in its place, but not locked.
  bench.write('modelgate.yaml', two)
  bench.write('copy/note.txt', note)
  const told = ['hero: fresh', 'note: fresh (restored)']
  expect(await bench.run()).toMatchObject({ told, exit: 'ok', created: 3 })
  expect(bench.read('copy/note.txt')).toBe(note)
})

test('a video that is not done in time is no failure, and the next run goes on with it', async () => {
  const clip = manifestOf('clip: { video generate: { model: veo-3.1, prompt: A boat }, out: clip.mp4 }')
  const bench = await runBench({ 'modelgate.yaml': clip }, { sandbox: { latency: 'natural' } })
  expect(await bench.run({ timeoutS: 0.2 })).toMatchObject({ told: ['clip: new (skipped)'], exit: 'running' })
  expect(await bench.run()).toMatchObject({ told: ['clip: fresh (generated)'], exit: 'ok', created: 1 })
})
