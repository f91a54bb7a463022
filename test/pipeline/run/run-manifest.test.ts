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

const two = manifestOf(
  'hero: { image create: { model: image-model-a, prompt: A harbour }, out: assets/hero.png }',
  'note: { respond: { model: sandbox-text, input: What is this?, attach: "@hero" }, out: copy/note.txt }',
)

test('a run makes what is new, each behind what it needs, and the next one has nothing to do', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  const first = await bench.run()
  expect(first.error).toBeUndefined()
  expect(first.told).toEqual(['hero: fresh (generated)', 'note: fresh (generated)'])
  expect(bench.exists('assets/hero.png') && bench.exists('copy/note.txt')).toBe(true)
  expect(Object.keys(bench.lock())).toEqual(['$about', 'hero', 'note', '$version'])
  expect(bench.sandbox.created()).toBe(2)
  const second = await bench.run()
  expect(second.told).toEqual(['hero: fresh', 'note: fresh'])
  expect(second.exit).toBe('ok')
  expect(bench.sandbox.created()).toBe(2)
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  rmSync(bench.path('assets/hero.png'))
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  expect((await bench.run({ mode: 'frozen' })).told).toEqual(['hero: fresh (restored)', 'note: fresh'])
  expect(bench.sandbox.created()).toBe(2)
})

test('what is not what was asked for is rejected, until the job accepts it; what is locked is not judged', async () => {
  const opaque = Buffer.from(await encodePng(testPicture(64, 64, () => 255)))
  const gateway = await localServer([images(opaque)])
  const manifest = (own: string) => `version: 1
jobs:
  hero:
    image create: { model: m, prompt: A kite, background: transparent, output_format: webp, size: 64x64 }
    out: hero.webp
${own}`
  const bench = await runBench({ 'modelgate.yaml': manifest('') }, { through: async () => gateway.url })
  const { told, exit, document } = await bench.run()
  expect([told, exit]).toEqual([['hero: rejected (rejected)'], 'partial'])
  expect(document?.instances[0]?.reasons).toEqual([
    'The image came with output_format png instead of webp.',
    'The image came with background opaque instead of transparent.',
  ])
  expect([bench.exists('hero.webp'), bench.exists('modelgate.lock')]).toEqual([false, false])
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  expect((await bench.run()).told).toEqual(['hero: rejected'])
  bench.write('modelgate.yaml', manifest('    accept_mismatch: true\n'))
  expect((await bench.run()).told).toEqual(['hero: fresh (accepted)'])
  bench.write('modelgate.yaml', manifest(''))
  expect((await bench.run({ mode: 'check' })).exit).toBe('ok')
  rmSync(bench.path('hero.webp'))
  expect((await bench.run()).told).toEqual(['hero: fresh (restored)'])
  expect(gateway.requests.length).toBe(1)
})

test.each([
  ['a renamed job', two.replaceAll('hero', 'harbour'), 'harbour', 'harbour.png'],
  ['an output in other case', two.replace('hero.png', 'Hero.png'), 'hero', 'Hero.png'],
])('%s costs nothing', async (_, manifest, id, file) => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  bench.write('modelgate.yaml', manifest)
  const { told, exit } = await bench.run()
  expect([told, exit]).toEqual([[`${id}: fresh (moved)`, 'note: fresh'], 'ok'])
  expect([bench.list('assets'), Object.keys(bench.lock())[1]]).toEqual([[file], id])
  expect(bench.sandbox.created()).toBe(2)
})

test('two outputs can change places', async () => {
  const manifest = (first: string, second: string) =>
    manifestOf(
      `a: { respond: { model: m, input: One }, out: ${first}.txt }`,
      `b: { respond: { model: m, input: Two }, out: ${second}.txt }`,
    )
  const bench = await runBench({ 'modelgate.yaml': manifest('one', 'two') })
  await bench.run()
  const [one, other] = [bench.read('one.txt'), bench.read('two.txt')]
  expect(one).not.toBe(other)
  bench.write('modelgate.yaml', manifest('two', 'one'))
  const { told, exit } = await bench.run()
  expect([told, exit]).toEqual([['a: fresh (moved)', 'b: fresh (moved)'], 'ok'])
  expect([bench.read('two.txt'), bench.read('one.txt')]).toEqual([one, other])
  expect(bench.sandbox.created()).toBe(2)
})

test('a changed prompt is made again, and what depends on it', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  bench.write('modelgate.yaml', two.replace('A harbour', 'A harbour at night'))
  const plan = await bench.run({ mode: 'plan' })
  expect(plan.exit).toBe('ok')
  expect(plan.told).toEqual(['hero: stale', 'note: pending'])
  expect(plan.document!.instances[0]!.reasons.join(' ')).toContain('prompt')
  expect(plan.document!.creates.planned).toBe(2)
  expect(plan.document!.instances.map(({ creates }) => creates)).toEqual([1, 1])
  expect((await bench.run()).told).toEqual(['hero: fresh (generated)', 'note: fresh (generated)'])
  expect(bench.sandbox.created()).toBe(4)
  // The words of before have a result already.
  bench.write('modelgate.yaml', two)
  expect((await bench.run()).told).toEqual(['hero: fresh (restored)', 'note: fresh (restored)'])
  expect(bench.sandbox.created()).toBe(4)
})

test('a file that was edited is kept, and only --force goes on, with the edited file in the store', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  bench.write('copy/note.txt', 'Mine.')
  const kept = await bench.run()
  expect(kept.told).toEqual(['hero: fresh', 'note: changed (kept)'])
  expect(kept.exit).toBe('outdated')
  expect(bench.read('copy/note.txt')).toBe('Mine.')
  const forced = await bench.run({ force: true })
  expect([forced.told, forced.exit]).toEqual([['hero: fresh', 'note: fresh (restored)'], 'ok'])
  expect(bench.read('copy/note.txt')).not.toBe('Mine.')
  expect(bench.sandbox.created()).toBe(2)
})

test('candidates wait for a choice, and the choice among new ones is another', async () => {
  const manifest = (own: string) =>
    manifestOf(`hero: { image create: { model: image-model-a, prompt: A harbour }, ${own}, out: hero.png }`)
  const bench = await runBench({ 'modelgate.yaml': manifest('variants: 3') })
  const made = await bench.run()
  expect([made.told, made.exit]).toEqual([['hero: awaiting (awaiting)'], 'outdated'])
  expect(bench.list('.modelgate/results')).toHaveLength(3)
  expect(bench.exists('hero.png')).toBe(false)
  expect((await bench.run()).told).toEqual(['hero: awaiting'])
  bench.write('modelgate.yaml', manifest('variants: 3, pick: 2'))
  const picked = await bench.run()
  expect([picked.told, picked.exit]).toEqual([['hero: fresh (restored)'], 'ok'])
  bench.write('modelgate.yaml', manifest('variants: 3'))
  expect((await bench.run()).told).toEqual(['hero: fresh'])
  expect(bench.sandbox.created()).toBe(3)
  const again = await bench.run({ regenerate: ['hero'] })
  expect([again.told, again.exit]).toEqual([['hero: awaiting (awaiting)'], 'outdated'])
  expect((await bench.run()).told).toEqual(['hero: awaiting'])
  expect(bench.sandbox.created()).toBe(6)
})

test('a candidate that the manifest picks is the output when it is regenerated', async () => {
  const hero =
    'image create: { model: image-model-a, prompt: A harbour }, variants: 3, pick: 2, out: hero.png'
  const bench = await runBench({ 'modelgate.yaml': manifestOf(`hero: { ${hero} }`) })
  expect((await bench.run()).told).toEqual(['hero: fresh (generated)'])
  const before = bench.read('hero.png')
  const again = await bench.run({ regenerate: ['hero'] })
  expect([again.told, again.exit, bench.sandbox.created()]).toEqual([['hero: fresh (generated)'], 'ok', 2])
  expect(bench.read('hero.png')).not.toBe(before)
  expect((await bench.run()).told).toEqual(['hero: fresh'])
})

test('a rejected result is kept and not made again; a loosened assert accepts it', async () => {
  const manifest = (width: number) => `version: 1
jobs:
  hero:
    image create: { model: image-model-a, prompt: A harbour, size: 1024x1024 }
    out: hero.png
    assert: { width: ${width} }
`
  const bench = await runBench({ 'modelgate.yaml': manifest(999) })
  const made = await bench.run()
  expect([made.told, made.exit]).toEqual([['hero: rejected (rejected)'], 'partial'])
  expect((await bench.run()).exit).toBe('partial')
  expect(bench.sandbox.created()).toBe(1)
  bench.write('modelgate.yaml', manifest(1024))
  const accepted = await bench.run()
  expect([accepted.told, accepted.exit]).toEqual([['hero: fresh (accepted)'], 'ok'])
  expect(bench.sandbox.created()).toBe(1)
})

test('equal requests are sent once, and that is told', async () => {
  const bench = await runBench({
    'modelgate.yaml': manifestOf(
      'a: { respond: { model: m, input: One }, out: one.txt }',
      'b: { respond: { model: m, input: One }, out: two.txt }',
    ),
  })
  const { told, exit, document } = await bench.run()
  expect([told, exit]).toEqual([['a: fresh (generated)', 'b: fresh (generated)'], 'ok'])
  expect(document!.warnings).toEqual([
    'b shares a request with a and gets its result. `distinct: true` in a job makes each of its instances its own.',
  ])
  expect(bench.read('one.txt')).toBe(bench.read('two.txt'))
  expect(bench.sandbox.created()).toBe(1)
})

test('the budget ends a run in good order, and counts over its processes', async () => {
  const jobs = ['one', 'two', 'three'].map(
    (id) => `${id}: { respond: { model: m, input: ${id} }, out: ${id}.txt }`,
  )
  const bench = await runBench({ 'modelgate.yaml': `${manifestOf(...jobs)}budget: { creates: 2 }\n` })
  const first = await bench.run()
  expect(first.exit).toBe('limit')
  expect(first.document!.creates).toEqual({ planned: 3, made: 2, limit: 2 })
  expect(bench.sandbox.created()).toBe(2)
  expect((await bench.run()).exit).toBe('limit')
  expect(bench.sandbox.created()).toBe(2)
  expect((await bench.run({ newRun: true })).exit).toBe('ok')
  expect(bench.sandbox.created()).toBe(3)
})

test('what a damaged line of the journal may have been is not sent again by itself', async () => {
  const bench = await faultyBench(
    manifestOf('hero: { image create: { model: m, prompt: A boat }, out: a.png }'),
  )
  const run = '20261122T120000000-00000001'
  const begin = { type: 'begin', run, manifest: 'modelgate.yaml', version: '1' } as const
  bench.write(`.modelgate/runs/${run}.jsonl`, `${writeLine(begin, 0)}${'x'.repeat(200)}\n`)
  for (const _ of [1, 2]) {
    const { exit, told } = await bench.run()
    expect([exit, told, bench.sandbox.created()]).toEqual(['unknown', ['hero: unknown'], 0])
  }
  expect((await bench.run({ regenerate: ['hero'] })).exit).toBe('ok')
  expect((await bench.run()).exit).toBe('ok')
  expect(bench.sandbox.created()).toBe(1)
})

const faultyBench = (manifest: string, faults: readonly FaultRule[] = [], idempotencyHonoured = false) =>
  runBench({ 'modelgate.yaml': manifest }, { sandbox: { faults }, idempotencyHonoured })

const both = ['hero: fresh (generated)', 'note: fresh (generated)']
/** A picture or a text that is made, and whose reply is lost. */
const lost = { times: 1, action: 'reset', at: 'after-headers' } as const
const lostImage: FaultRule = { endpoint: 'image-generations', ...lost }
const lostText: FaultRule = { endpoint: 'responses', ...lost }
const refusedText: FaultRule = { endpoint: 'responses', times: 1, action: 'status', status: 400 }
const oneText = (own = '') => manifestOf(`a: { respond: { model: m, input: One }, ${own}out: one.txt }`)

test('a request of unknown outcome stops its job until it is regenerated', async () => {
  const bench = await faultyBench(two, [{ endpoint: 'image-generations', times: 1, action: 'reset' }])
  const first = await bench.run()
  expect([first.told, first.exit]).toEqual([
    ['hero: unknown (unknown)', 'note: blocked (skipped)'],
    'unknown',
  ])
  expect((await bench.run({ mode: 'check' })).exit).toBe('outdated')
  const second = await bench.run()
  expect([second.told, second.exit]).toEqual([['hero: unknown', 'note: blocked (skipped)'], 'unknown'])
  const third = await bench.run({ regenerate: ['hero'] })
  expect([third.told, third.exit]).toEqual([both, 'ok'])
})

test('with a gateway that honours idempotency keys the same request is sent again, and creates nothing twice', async () => {
  const bench = await faultyBench(two, [{ ...lostImage, times: 2 }], true)
  const { told, exit, document } = await bench.run()
  expect([told, exit]).toEqual([both, 'ok'])
  expect([bench.sandbox.created(), document!.creates.made]).toEqual([2, 2])
})

test('a request that was lost is not taken for one that was never sent when it is refused the next time', async () => {
  const headers = { 'retry-after': '0' }
  const refused: FaultRule = { ...lostImage, action: 'status', status: 429, headers }
  const bench = await faultyBench(two, [lostImage, refused], true)
  const { exit, document } = await bench.run({ jobs: ['hero'] })
  const keys = bench.sandbox.requests().map(({ idempotencyKey }) => idempotencyKey)
  expect([exit, keys.length, new Set(keys).size]).toEqual(['ok', 3, 1])
  expect([bench.sandbox.created(), document!.creates.made]).toEqual([1, 1])
})

test('a job that cannot be looked up for want of a key is gone on with when there is one', async () => {
  const manifest = manifestOf('a: { video generate: { model: veo-3.1, prompt: A harbour }, out: a.mp4 }')
  const faults = [{ endpoint: 'operation-lookup', times: 1, action: 'status', status: 401 }] as const
  const bench = await faultyBench(manifest, faults)
  expect((await bench.run()).exit).toBe('key')
  expect((await bench.run()).told).toEqual(['a: fresh (generated)'])
  expect(bench.sandbox.created()).toBe(1)
})

test('a text of unknown outcome is asked for again, and counted again', async () => {
  const bench = await faultyBench(oneText(), [lostText])
  const { told, exit, document } = await bench.run()
  expect([told, exit, document!.creates.made]).toEqual([['a: fresh (generated)'], 'ok', 2])
})

test('a text that a former run has lost counts again when it is asked for again', async () => {
  const bench = await faultyBench(oneText('on_unknown: stop, '), [lostText])
  expect((await bench.run()).told).toEqual(['a: unknown (unknown)'])
  bench.write('modelgate.yaml', oneText('on_unknown: retry, '))
  const { told, document } = await bench.run()
  expect([told, document!.creates.made]).toEqual([['a: fresh (generated)'], 2])
})

test.each([
  ['reaches the limit', [], { maxCreates: 1 }, 'limit'],
  ['is refused', [refusedText], {}, 'partial'],
] as const)('a lost text whose repetition %s may have been billed', async (_, faults, options, exit) => {
  const bench = await faultyBench(oneText('on_unknown: retry, '), [lostText, ...faults])
  const { error, document } = await bench.run(options)
  expect([error?.exit, error?.facts.billed]).toEqual([exit, 'maybe'])
  expect(document!.instances[0]!.error).toMatchObject({ billed: 'maybe' })
  expect(document!.creates).toMatchObject({ made: 1 })
})

test('requests that the gateway refuses for a while are sent again, and those that failed are not', async () => {
  const headers = { 'retry-after': '1' }
  const busy: FaultRule = { ...lostImage, times: 3, action: 'status', status: 429, headers }
  const bench = await faultyBench(two, [busy, refusedText])
  const { told, exit, events } = await bench.run()
  expect([told, exit]).toEqual([['hero: fresh (generated)', 'note: new (failed)'], 'partial'])
  expect(events.filter(({ type }) => type === 'lane-change').length).toBeGreaterThan(0)
  expect(bench.sandbox.created()).toBe(1)
  // Killed while it waits, the run must not be in doubt about what was refused, of the text as well.
  const [journal] = bench.list('.modelgate/runs')
  expect(bench.read(`.modelgate/runs/${journal}`).match(/"type":"release"/g)).toHaveLength(4)
  expect((await bench.run()).exit).toBe('ok')
})

/** Takes the last line off the newest journal, as if the process had been killed before it. */
function forgetEnd(bench: Awaited<ReturnType<typeof runBench>>) {
  const path = bench.path(`.modelgate/runs/${bench.list('.modelgate/runs').toSorted().at(-1)}`)
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  expect(lines.at(-1)).toContain('"type":"end"')
  writeFileSync(path, `${lines.slice(0, -1).join('\n')}\n`)
}

test('a run that was killed before it wrote the lock is completed without a request', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  const lock = bench.read('modelgate.lock')
  rmSync(bench.path('modelgate.lock'))
  forgetEnd(bench)
  const { told, exit } = await bench.run()
  expect([told, exit]).toEqual([['hero: fresh (restored)', 'note: fresh (restored)'], 'ok'])
  expect(bench.read('modelgate.lock')).toBe(lock)
  expect(bench.sandbox.created()).toBe(2)
})

test('what is cut after the time of grace is skipped or unknown, and the next run goes on', async () => {
  const bench = await faultyBench(
    `${manifestOf(
      'a: { image create: { model: image-model-a, prompt: One }, out: a.png }',
      'b: { respond: { model: m, input: Two }, out: b.txt }',
      'c: { respond: { model: m, input: Three }, out: c.txt }',
    )}lanes: { text: 1, image: 1 }\n`,
    [
      { endpoint: 'image-generations', times: 1, action: 'stall', at: 'before-body' },
      { endpoint: 'responses', times: 1, action: 'stall', at: 'before-headers' },
    ],
  )
  const stopping = new AbortController()
  const running = bench.run({ graceS: 0.01 }, { context: { ...bench.context, signal: stopping.signal } })
  await until(() => bench.sandbox.requests().length === 2)
  stopping.abort(new Interrupted('interrupt'))
  const stopped = await running
  expect(stopped.exit).toBe('interrupt')
  expect(stopped.document!.warnings).toEqual([
    'Stopping: 2 requests are under way and may continue for 0.01 s. Another Ctrl-C ends the run at once.',
  ])
  expect(stopped.told).toEqual(['a: unknown (unknown)', 'b: new (skipped)', 'c: new (skipped)'])
  expect((await bench.run({ regenerate: ['a'] })).told).toEqual([
    'a: fresh (generated)',
    'b: fresh (generated)',
    'c: fresh (generated)',
  ])
})

test('what a killed run has left stays while another manifest of the folder is being run', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  const part = '0123456789abcdef.mgpart'
  const result = `.modelgate/results/${'0'.repeat(64)}`
  for (const path of [`copy/.note.txt.${part}`, `${result}/1.png`, `${result}/.1.png.${part}`]) {
    bench.write(path, '')
  }
  const left = JSON.stringify({ process: 1, host: 'elsewhere' })
  bench.write('.modelgate/runs/modelgate.yaml.0123456789abcdef.owner', left)
  utimesSync(bench.path('.modelgate/runs/modelgate.yaml.0123456789abcdef.owner'), 1, 1)
  bench.write('.modelgate/runs/canon.yaml.0123456789abcdef.owner', '{}')
  expect((await bench.run()).exit).toBe('ok')
  expect(bench.list('copy')).toContain(`.note.txt.${part}`)
  expect(bench.list(result)).toHaveLength(2)
})

test('a run that was killed between the place of an earlier result and the lock is completed', async () => {
  const bench = await runBench({ 'modelgate.yaml': two })
  await bench.run()
  const note = bench.read('copy/note.txt')
  bench.write('modelgate.yaml', two.replace('What is this?', 'And this?'))
  await bench.run()
  const other = bench.read('copy/note.txt')
  expect(other).not.toBe(note)
  // Back again: the former result is in its place, but not locked.
  bench.write('modelgate.yaml', two)
  bench.write('copy/note.txt', note)
  const { told, exit } = await bench.run()
  expect([told, exit]).toEqual([['hero: fresh', 'note: fresh (restored)'], 'ok'])
  expect(bench.read('copy/note.txt')).toBe(note)
  expect(bench.sandbox.created()).toBe(3)
})

test('a video that is not done in time is no failure, and the next run goes on with it', async () => {
  const bench = await runBench(
    {
      'modelgate.yaml': manifestOf(
        'clip: { video generate: { model: veo-3.1, prompt: A boat }, out: clip.mp4 }',
      ),
    },
    { sandbox: { latency: 'natural' } },
  )
  const first = await bench.run({ timeoutS: 0.2 })
  expect([first.told, first.exit]).toEqual([['clip: new (skipped)'], 'running'])
  const second = await bench.run()
  expect([second.told, second.exit]).toEqual([['clip: fresh (generated)'], 'ok'])
  expect(bench.sandbox.created()).toBe(1)
})
