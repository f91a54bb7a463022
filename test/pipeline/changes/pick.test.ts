import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { pick } from '../../../src/pipeline/changes/change-outputs.ts'
import { readLock } from '../../../src/pipeline/lock/project-lock.ts'
import { createSampleWorld, type SampleWorld } from '../plan/sample-world.ts'
import { scopeOf } from './change-scope.ts'

async function createChoice(): Promise<SampleWorld> {
  const world = createSampleWorld()
  world.define('hero', { variants: 3 })
  await world.offer('hero', 'one', 1)
  await world.offer('hero', 'two', 2)
  return world
}

async function pickIn(world: SampleWorld, name: string, variant: number) {
  const changed = await pick(scopeOf(world), name, variant)
  const lock = await readLock(world.context, world.world().manifest.project)
  expect(lock.get(changed.id)).toEqual(changed.block)
  world.lock.clear()
  for (const [id, block] of lock) world.lock.set(id, block)
  return changed
}

test('a candidate becomes the output, and the others are not made any more', async () => {
  const world = await createChoice()
  const { block } = await pickIn(world, 'hero', 2)
  expect(block).toMatchObject({
    key: await world.keyOf('hero', 2),
    picked: 2,
    model: 'gpt-image-2',
    adopted: null,
    outputs: [{ path: 'assets/hero.png', sha256: hash('sha256', 'two') }],
  })
  expect(world.read('assets/hero.png')).toBe('two')
  expect(await world.assess('hero')).toMatchObject({ state: 'fresh', toMake: [] })
})

test('another one is picked, elsewhere: the former output is put aside', async () => {
  const world = await createChoice()
  await pickIn(world, 'hero', 2)
  await pickIn(world, 'hero', 1)
  expect(world.read('assets/hero.png')).toBe('one')
  expect(await world.replaced.open(hash('sha256', 'two'))).toBeDefined()
  world.define('hero', { variants: 3, output: 'new/hero.png' })
  await pickIn(world, 'hero', 2)
  expect([world.read('new/hero.png'), world.read('assets/hero.png')]).toEqual(['two', undefined])
})

test('what was the only result before is the first candidate', async () => {
  const world = createSampleWorld()
  world.define('hero')
  await world.make('hero', 'one')
  world.define('hero', { variants: 2 })
  await pickIn(world, 'hero', 1)
  expect(await world.assess('hero')).toMatchObject({ state: 'fresh' })
})

test.each<[string, (world: SampleWorld) => unknown, number, string]>([
  [
    'the manifest picks',
    (world) => world.define('hero', { variants: 3, pick: 1 }),
    2,
    'The manifest picks candidate 1 of hero.',
  ],
  ['there is only one', (world) => world.define('hero'), 1, 'hero has no candidates.'],
  ['there are not so many', () => {}, 4, 'hero has only candidates 1 to 3.'],
  ['it was not made', () => {}, 3, 'Candidate 3 of hero is not there.'],
  [
    'it does not hold its asserts',
    async (world) => {
      world.define('hero', { variants: 3, asserts: { width: 1 } })
      await world.offer('hero', 'bad three', 3)
    },
    3,
    'Candidate 3 of hero is rejected: It is bad.',
  ],
  ['it is frozen', (world) => world.define('hero', { variants: 3, isFrozen: true }), 2, 'hero is frozen.'],
  [
    'the output was changed by hand',
    async (world) => {
      await pickIn(world, 'hero', 1)
      world.write({ 'assets/hero.png': 'painted over' })
    },
    2,
    'assets/hero.png differs from the lock, and is kept.',
  ],
])('refused: %s', async (_, arrange, variant, message) => {
  const world = await createChoice()
  await arrange(world)
  const before = world.read('assets/hero.png')
  await expect(pickIn(world, 'hero', variant)).rejects.toThrow(message)
  expect(world.read('assets/hero.png')).toBe(before)
})

test('a refusal names the command that goes on', async () => {
  const world = await createChoice()
  await expect(pickIn(world, 'hero', 3)).rejects.toMatchObject({
    facts: { hint: 'Make it with: modelgate run hero --sandbox' },
  })
  await pickIn(world, 'hero', 1)
  await expect(pickIn(world, 'hero', 3)).rejects.toMatchObject({
    facts: { next: ['modelgate', 'run', '--regenerate', 'hero', '--sandbox'] },
  })
  world.write({ 'assets/hero.png': 'painted over' })
  await expect(pickIn(world, 'hero', 2)).rejects.toMatchObject({
    facts: { next: ['modelgate', 'run', 'adopt', 'hero', '--sandbox'] },
  })
})

test('a job with several instances is not one', async () => {
  const world = createSampleWorld()
  world.define('photos[a]', { variants: 2 })
  world.define('photos[b]', { variants: 2 })
  await expect(pickIn(world, 'photos', 1)).rejects.toThrow(
    '"photos" means 2 instances: name one of photos[a], photos[b], …',
  )
})
