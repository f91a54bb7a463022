import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { planRun } from '../../../src/pipeline/plan/plan-run.ts'
import { upstreamFiles } from '../../../src/pipeline/plan/result-files.ts'
import { createSampleWorld, factsOf, fileField, textFields, type SampleWorld } from './sample-world.ts'

const prompt = textFields({ prompt: 'Wide' })

/** `banner` is made from `hero`; both are locked, and their files are there. */
async function createChain(): Promise<SampleWorld> {
  const world = createSampleWorld()
  world.define('hero')
  world.define('banner', { command: 'image edit', fields: { ...prompt, image: fileField('@hero') } })
  await world.make('hero', 'one')
  await world.make('banner', 'wide')
  return world
}

async function statesOf(world: SampleWorld): Promise<Record<string, string>> {
  const { assessments } = await world.plan()
  return Object.fromEntries([...assessments].map(([id, { state }]) => [id, state]))
}

describe('what another instance is made from', () => {
  test('is to be made first', async () => {
    const world = await createChain()
    world.define('hero', { fields: textFields({ prompt: 'Another picture' }) })
    const { assessments, creates } = await world.plan()
    expect(assessments.get('banner')).toMatchObject({
      state: 'pending',
      key: null,
      reasons: ['It needs @hero, which is made first.'],
    })
    expect(creates).toBe(2)
  })

  test('was made again: the field that refers to it is named', async () => {
    const world = await createChain()
    await world.make('hero', 'two')
    expect(await world.assess('banner')).toMatchObject({
      state: 'stale',
      reasons: ['`image` changed (@hero).'],
    })
  })

  test('was changed by hand: the locked bytes count', async () => {
    const world = await createChain()
    world.write({ 'assets/hero.png': 'painted over' })
    expect(await statesOf(world)).toEqual({ hero: 'changed', banner: 'fresh' })
  })

  test('was changed by hand, and the locked bytes are not at hand', async () => {
    const world = await createChain()
    world.write({ 'assets/hero.png': 'painted over' })
    world.define('banner', { command: 'image edit', fields: { image: fileField('@hero') } })
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      toMake: [],
      reasons: ['It needs @hero, whose bytes are gone.'],
    })
    world.keep('one')
    expect(await world.assess('banner')).toMatchObject({ state: 'stale', reasons: ['`prompt` was removed.'] })
  })

  test('was changed by hand and in the manifest', async () => {
    const world = await createChain()
    world.write({ 'assets/hero.png': 'painted over' })
    world.define('hero', { fields: textFields({ prompt: 'Another picture' }) })
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      reasons: ['It needs @hero, which was changed by hand.'],
    })
  })

  test('does not hold its asserts: what is fresh stays so, and nothing more is made from it', async () => {
    const world = await createChain()
    await world.make('hero', 'bad one')
    world.define('hero', { asserts: { width: 1 } })
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      reasons: ['It needs @hero, which was rejected.'],
    })
  })

  test('cannot be moved: the locked bytes count all the same', async () => {
    const world = await createChain()
    world.define('hero', { output: 'new/hero.png' })
    world.write({ 'new/hero.png': 'mine' })
    expect(await statesOf(world)).toEqual({ hero: 'in_the_way', banner: 'fresh' })
  })

  test('is to be made first, and something else stands still: it is not waited for', async () => {
    const world = createSampleWorld()
    world.define('hero')
    world.define('logo')
    world.define('banner', { variants: 3, fields: { image: fileField('@hero', '@logo') } })
    expect((await world.plan()).creates).toBe(5)
    world.write({ 'assets/logo.png': 'mine' })
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      reasons: ['It needs @logo, in whose place there is another file.'],
    })
  })

  test('waits for a choice', async () => {
    const world = await createChain()
    world.define('hero', { variants: 2 })
    await world.offer('hero', 'two', 2)
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      reasons: ['It needs @hero, of which no candidate is picked.'],
    })
  })

  test('is to be made, and then waits for a choice', async () => {
    const world = createSampleWorld()
    world.define('hero', { variants: 2 })
    world.define('banner', { fields: { image: fileField('@hero') } })
    expect(await statesOf(world)).toEqual({ hero: 'new', banner: 'blocked' })
    expect((await world.plan()).creates).toBe(2)
  })

  test('is a candidate, picked or not', async () => {
    const world = createSampleWorld()
    world.define('hero', { variants: 2 })
    world.define('banner', { fields: { image: fileField('@hero#2') } })
    expect(await statesOf(world)).toEqual({ hero: 'new', banner: 'pending' })
    await world.offer('hero', 'one', 1)
    const second = await world.offer('hero', 'two', 2)
    expect(await statesOf(world)).toEqual({ hero: 'awaiting', banner: 'new' })
    await world.make('banner', 'wide')
    await world.make('hero', 'two', { variant: 2, picked: 2 })
    await world.results.remove(second)
    expect(await statesOf(world)).toEqual({ hero: 'fresh', banner: 'fresh' })
    await world.make('hero', 'one', { variant: 1, picked: 1 })
    expect(await world.assess('banner')).toMatchObject({
      state: 'blocked',
      reasons: ['It needs @hero#2, a candidate that is not there.'],
    })
  })
})

test('the files of a reference are the locked bytes, wherever they are', async () => {
  const world = await createChain()
  const files = async () => {
    const { assessments } = await world.plan()
    const reference = { text: '@hero', instance: 'hero', candidate: null } as const
    return (await upstreamFiles(reference, assessments, world.world()))?.files.map(({ path }) => path)
  }
  const { sha256 } = world.lock.get('hero')!.outputs[0]!
  expect(await files()).toEqual([join(world.folder, 'assets/hero.png')])
  world.write({ 'assets/hero.png': 'painted over' })
  expect(await files()).toBeUndefined()
  world.keep('one')
  expect(await files()).toEqual([join(world.folder, '.modelgate/replaced', sha256.slice(0, 2), sha256)])
})

describe('names and places', () => {
  test('two jobs exchange their names: nothing is generated, and no file moves', async () => {
    const world = createSampleWorld()
    const [hero, logo] = [
      { fields: textFields({ prompt: 'Hero' }), output: 'hero.png' },
      { fields: textFields({ prompt: 'Logo' }), output: 'logo.png' },
    ]
    world.define('hero', hero)
    world.define('logo', logo)
    await world.make('hero', 'one')
    await world.make('logo', 'two')
    world.define('hero', logo)
    world.define('logo', hero)
    const { assessments, creates } = await world.plan()
    expect(creates).toBe(0)
    expect(assessments.get('hero')).toMatchObject({
      state: 'restorable',
      restore: { result: { outputs: [{ path: 'logo.png', sha256: factsOf('', 'two').sha256 }] } },
      moves: [],
    })
    expect(assessments.get('logo')).toMatchObject({ state: 'restorable', moves: [] })
  })

  test('two jobs exchange their places, and the run may be killed after the first', async () => {
    const world = createSampleWorld()
    world.define('hero', { output: 'one.png' })
    world.define('logo', { output: 'two.png' })
    await world.make('hero', 'one')
    await world.make('logo', 'two')
    world.define('hero', { output: 'two.png' })
    world.define('logo', { output: 'one.png' })
    const { assessments } = await world.plan()
    expect(assessments.get('hero')).toMatchObject({
      state: 'restorable',
      reasons: ['one.png is to be two.png.'],
      restore: { result: { outputs: [{ path: 'two.png', sha256: factsOf('', 'one').sha256 }] } },
      // Its old place is that of the other one.
      moves: [],
    })
    expect(assessments.get('logo')).toMatchObject({ state: 'restorable' })
    world.keep('two')
    world.write({ 'two.png': 'one' })
    expect(await statesOf(world)).toEqual({ hero: 'restorable', logo: 'restorable' })
  })

  test('the same request under another name is copied, and its own stays', async () => {
    const world = createSampleWorld()
    const same = { fields: textFields({ prompt: 'Dawn' }) }
    world.define('hero', same)
    await world.make('hero', 'one')
    world.define('copy', same)
    const { assessments, creates, orphans } = await world.plan()
    expect(assessments.get('hero')!.state).toBe('fresh')
    expect(assessments.get('copy')).toMatchObject({
      state: 'restorable',
      restore: { result: { outputs: [{ path: 'assets/copy.png' }] } },
      moves: [],
    })
    expect({ creates, orphans }).toEqual({ creates: 0, orphans: [] })
  })

  test('a day and an id in the name are those of the result', async () => {
    const world = createSampleWorld()
    world.define('hero', { output: 'out/{date}-{id}.{ext}' })
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

  test('a file of any type that an image may have is in its way', async () => {
    const world = createSampleWorld()
    world.define('hero', { output: 'assets/{slug}.{ext}' })
    world.write({ 'assets/a-picture-of-hero.webp': 'mine' })
    expect(await world.assess('hero')).toMatchObject({
      state: 'in_the_way',
      reasons: ['assets/a-picture-of-hero.webp is there, and is not locked.'],
    })
  })
})

describe('a plan', () => {
  test('counts identical requests once, what was started before not at all', async () => {
    const world = createSampleWorld()
    const same = { fields: textFields({ prompt: 'Dawn' }) }
    world.define('one', { ...same, count: 3 })
    world.define('two', { ...same, count: 3 })
    world.define('three')
    const key = await world.keyOf('three')
    const intent = { idempotency_key: '1', creates: 1, cost: null, variant: 1 }
    world.history.note({ type: 'intent', instance: 'three', key, ...intent })
    world.history.note({ type: 'job', key, id: 'video_1', kind: 'video' })
    const { creates, states, shared } = await world.plan()
    expect(creates).toBe(3)
    expect(states).toMatchObject({ new: 3, fresh: 0 })
    expect([...shared]).toEqual([['two', 'one']])
  })

  test('sums what is known of the costs', async () => {
    const world = createSampleWorld()
    for (const id of ['one', 'two', 'three']) world.define(id)
    const selected = new Set(['one', 'two', 'three'])
    const { signal } = new AbortController()
    const plan = await planRun(world.world(), selected, {
      signal,
      estimate: ({ id }) => ({
        creates: 1,
        cost:
          id === 'two'
            ? { amount: null, code: 'no_price', reason: 'no price for it' }
            : { amount: 5n, currency: 'USD' },
      }),
    })
    expect(plan.cost).toEqual({ amount: 10n, currency: 'USD', without: 'no price for it' })
  })

  test('names what the lock has and the manifest does not', async () => {
    const world = createSampleWorld()
    for (const id of ['old', 'former']) {
      world.define(id)
      await world.make(id, id)
    }
    world.undefine('old')
    world.undefine('former')
    world.define('hero', { fields: textFields({ prompt: 'A picture of former' }) })
    expect((await world.plan()).orphans).toEqual(['old'])
  })

  test('ends with the signal', async () => {
    const world = createSampleWorld()
    world.define('hero')
    const signal = AbortSignal.abort(new Error('stopped'))
    const estimate = () => ({ creates: 1, cost: null })
    await expect(planRun(world.world(), new Set(['hero']), { estimate, signal })).rejects.toThrow('stopped')
  })
})
