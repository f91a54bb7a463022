import { join } from 'node:path'
import { expect, test } from 'vitest'
import { matchInstances, planRun, selectInstances } from '../../../src/pipeline/plan/plan-run.ts'
import { filesOf, upstreamOf } from '../../../src/pipeline/plan/result-files.ts'
import { filesField } from '../../support/pipeline-task.ts'
import { createSampleWorld, factsOf, tell, textFields, type SampleWorld, type Step } from './sample-world.ts'

const wide = {
  command: 'image edit',
  fields: { ...textFields({ prompt: 'Wide' }), image: filesField('@hero') },
} as const

/** `banner` is made from `hero`; both are locked, and their files are there. */
async function createChain(): Promise<SampleWorld> {
  const world = createSampleWorld({ hero: {}, banner: wide })
  await world.make('hero', 'one')
  await world.make('banner', 'wide')
  return world
}

async function statesOf(world: SampleWorld): Promise<Record<string, string>> {
  const { assessments } = await world.plan()
  return Object.fromEntries([...assessments].map(([id, { state }]) => [id, state]))
}

const paint: Step = (world) => world.write({ 'assets/hero.png': 'painted over' })
const rephrase: Step = (world) => world.define('hero', { fields: textFields({ prompt: 'Another picture' }) })
const shorten: Step = (world) => world.define('banner', { ...wide, fields: { image: filesField('@hero') } })
const choose: Step = (world) => world.define('hero', { variants: 2 })
const offer: Step = (world) => world.offer('hero', 'two', 2)
const remake: Step = (world) => world.make('hero', 'two')
const spoil: Step = (world) => world.make('hero', 'bad one')
const demand: Step = (world) => world.define('hero', { asserts: { width: 1 } })
const move: Step = (world) => world.define('hero', { output: 'new.png' })
const obstruct: Step = (world) => world.write({ 'new.png': 'mine' })

const needs = 'blocked: It needs @hero'

test.each<[what: string, steps: readonly Step[], hero: string, banner: string]>([
  ['is to be made first', [rephrase], 'stale', 'pending: It needs @hero, which is made first.'],
  // The field that refers to it is named.
  ['was made again', [remake], 'fresh', 'stale, to make 1: `image` changed (@hero).'],
  ['was changed by hand: the locked bytes count', [paint], 'changed', 'fresh'],
  ['was changed by hand, its bytes are gone', [paint, shorten], 'changed', `${needs}, whose bytes are gone.`],
  ['was changed, also by hand', [paint, rephrase], 'changed', `${needs}, which was changed by hand.`],
  ['does not hold its asserts', [spoil, demand], 'rejected', `${needs}, which was rejected.`],
  ['cannot be moved: the locked bytes count', [move, obstruct], 'in_the_way', 'fresh'],
  ['waits for a choice', [choose, offer], 'awaiting', `${needs}, of which no candidate is picked.`],
])('what another instance is made from %s', async (_, steps, hero, banner) => {
  const world = await createChain()
  for (const step of steps) await step(world)
  expect((await world.assess('hero')).state).toBe(hero)
  expect(tell(await world.assess('banner'))).toBe(banner)
})

test('something is to be made first, and something else stands still: it is not waited for', async () => {
  const banner = { variants: 3, fields: { image: filesField('@hero', '@logo') } }
  const world = createSampleWorld({ hero: {}, logo: {}, banner })
  expect((await world.plan()).creates).toBe(5)
  world.write({ 'assets/logo.png': 'mine' })
  expect(tell(await world.assess('banner'))).toBe(
    'blocked: It needs @logo, in whose place there is another file.',
  )
})

test('a candidate can be used, picked or not', async () => {
  const banner = { fields: { image: filesField('@hero#2') } }
  const world = createSampleWorld({ hero: { variants: 2 }, banner })
  expect(await statesOf(world)).toEqual({ hero: 'new', banner: 'pending' })
  await world.offer('hero', 'one', 1)
  const second = await world.offer('hero', 'two', 2)
  expect(await statesOf(world)).toEqual({ hero: 'awaiting', banner: 'new' })
  await world.make('banner', 'wide')
  await world.make('hero', 'two', { variant: 2, picked: 2 })
  await world.results.remove(second)
  expect(await statesOf(world)).toEqual({ hero: 'fresh', banner: 'fresh' })
  await world.make('hero', 'one', { variant: 1, picked: 1 })
  expect(tell(await world.assess('banner'))).toBe('blocked: It needs @hero#2, a candidate that is missing.')
})

test('the files of a reference are the locked bytes, wherever they are', async () => {
  const world = await createChain()
  const files = async () => {
    const { assessments } = await world.plan()
    const reference = { text: '@hero', instance: 'hero', candidate: null } as const
    const upstream = await upstreamOf(reference, assessments, world.world())
    return (await filesOf(upstream, world.world()))?.files
  }
  const { sha256 } = world.lock.get('hero')!.outputs[0]!
  expect(await files()).toEqual([join(world.folder, 'assets/hero.png')])
  await paint(world)
  expect(await files()).toBeUndefined()
  world.keep('one')
  expect(await files()).toEqual([join(world.folder, '.modelgate/replaced', sha256.slice(0, 2), sha256)])
})

test('two jobs exchange their names: nothing is generated, and no file moves', async () => {
  const hero = { fields: textFields({ prompt: 'Hero' }), output: 'hero.png' }
  const logo = { fields: textFields({ prompt: 'Logo' }), output: 'logo.png' }
  const world = createSampleWorld({ hero, logo })
  await world.make('hero', 'one')
  await world.make('logo', 'two')
  world.define('hero', logo)
  world.define('logo', hero)
  const { assessments, creates } = await world.plan()
  const outputs = [{ path: 'logo.png', sha256: factsOf('', 'two').sha256 }]
  expect([creates, assessments.get('hero'), assessments.get('logo')]).toMatchObject([
    0,
    { state: 'restorable', restore: { result: { outputs } }, moves: [] },
    { state: 'restorable', moves: [] },
  ])
})

test('two jobs exchange their places, and the run was killed after the first', async () => {
  const world = createSampleWorld({ hero: { output: 'one.png' }, logo: { output: 'two.png' } })
  await world.make('hero', 'one')
  await world.make('logo', 'two')
  world.define('hero', { output: 'two.png' })
  world.define('logo', { output: 'one.png' })
  world.keep('two')
  world.write({ 'two.png': 'one' })
  expect(await statesOf(world)).toEqual({ hero: 'restorable', logo: 'restorable' })
})

test('a day and an id in the name are those of the result', async () => {
  const world = createSampleWorld({ hero: { output: 'out/{date}-{id}.{ext}' } })
  const outputs = [factsOf('out/2025-03-04-video_7.png', 'one')]
  await world.make('hero', 'one', { outputs, job_id: 'video_7' })
  world.remove('out')
  world.write({ 'out/2025-03-04-video_7.png': 'one' })
  expect(await world.assess('hero')).toMatchObject({ state: 'fresh' })
  world.define('hero', { output: 'out/{id}.{ext}' })
  expect(await world.assess('hero')).toMatchObject({
    state: 'restorable',
    moves: [{ from: 'out/2025-03-04-video_7.png', to: 'out/video_7.png' }],
  })
})

test('a file of a result without an id may have any in its name, and nothing else', async () => {
  const world = createSampleWorld({ hero: { output: 'out/{id}-x.{ext}' } })
  const make = async (path: string) => {
    await world.make('hero', 'one', { outputs: [factsOf(path, 'one')], job_id: null, request_id: null })
    world.write({ [path]: 'one' })
  }
  await make('out/mine-x.png')
  expect(await world.assess('hero')).toMatchObject({ state: 'fresh' })
  await make('out/mine-y.png')
  const moves = [{ from: 'out/mine-y.png', to: 'out/no-id-x.png' }]
  expect(await world.assess('hero')).toMatchObject({ state: 'restorable', moves })
})

test('a plan counts identical requests once, what was started before not at all', async () => {
  const same = { fields: textFields({ prompt: 'Dawn' }), count: 3 }
  const world = createSampleWorld({ one: same, two: same, three: {} })
  const key = await world.keyOf('three')
  const intent = { idempotency_key: '1', creates: 1, cost: null, variant: 1 }
  world.history.note({ type: 'intent', instance: 'three', key, ...intent })
  world.history.note({ type: 'job', key, id: 'video_1', kind: 'video' })
  expect(await world.plan()).toMatchObject({
    creates: 3,
    states: { new: 3, fresh: 0 },
    shared: new Map([['two', 'one']]),
  })
})

test('a plan sums what is known of the costs', async () => {
  const world = createSampleWorld({ one: {}, two: {}, three: {} })
  const unknown = { amount: null, reason: 'no price for it' } as const
  const { cost } = await planRun(world.world(), new Set(['one', 'two', 'three']), {
    signal: world.context.signal,
    costs: ({ id }) => (id === 'two' ? unknown : { amount: 5n, currency: 'USD' }),
  })
  expect(cost).toEqual({ amount: 10n, currency: 'USD', without: 'no price for it' })
})

test('a plan names what the lock has and the manifest does not, unless it has only another name', async () => {
  const world = createSampleWorld({ old: {}, former: {} })
  await world.make('old', 'one')
  await world.make('former', 'two')
  for (const id of ['old', 'former']) world.undefine(id)
  world.define('hero', { fields: textFields({ prompt: 'A picture of former' }) })
  expect((await world.plan()).orphans).toEqual(['old'])
})

const sampleManifest = () =>
  createSampleWorld({
    hero: {},
    banner: { fields: { image: filesField('@hero') } },
    'photos[shoe]': {},
    'photos[boot]': {},
    'captions[shoe-de]': { fields: { attach: filesField('@photos[shoe]', '@banner') } },
  }).world().manifest

test.each([
  ['', 'hero banner photos[shoe] photos[boot] captions[shoe-de]'],
  ['hero', 'hero'],
  ['banner', 'hero banner'],
  ['photos', 'photos[shoe] photos[boot]'],
  ['captions[shoe-de]', 'hero banner photos[shoe] captions[shoe-de]'],
  ['p*', 'photos[shoe] photos[boot]'],
  ['photos[s*]', 'photos[shoe]'],
  ['photos[?oot]', 'photos[boot]'],
  ['hero photos[boot]', 'hero photos[boot]'],
])('of what is named, %j, and of what that needs, there is %s', (patterns, ids) => {
  expect([...selectInstances(sampleManifest(), patterns.split(' ').filter(Boolean))]).toEqual(ids.split(' '))
})

test('what was named, without what it needs', () => {
  expect([...matchInstances(sampleManifest(), ['captions', 'banner'])]).toEqual([
    'captions[shoe-de]',
    'banner',
  ])
})

test('all names that mean nothing are told at once, with what was probably meant', () => {
  expect(() => selectInstances(sampleManifest(), ['hreo', 'photos[boots]', 'x*', 'hero', '[shoe]'])).toThrow(
    [
      'There is no job "hreo". Did you mean hero?',
      'The job photos has no instance "photos[boots]". Did you mean photos[boot]?',
      'No job matches "x*".',
      'There is no job "[shoe]".',
    ].join('\n'),
  )
})
