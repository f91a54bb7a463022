import { join } from 'node:path'
import { expect, test } from 'vitest'
import { restore, versionsOf } from '../../../src/pipeline/changes/change-outputs.ts'
import { readLock } from '../../../src/pipeline/lock/project-lock.ts'
import { createSampleWorld, factsOf, type SampleWorld } from '../plan/sample-world.ts'
import { scopeOf } from './change-scope.ts'

const path = 'copy/hero.txt'

const text = { lane: 'text', command: 'generate', output: path } as const

const shown = async (world: SampleWorld) =>
  (await versionsOf(scopeOf(world), 'hero')).map((version) => [version.path, version.sha256])
const digest = (bytes: string) => factsOf('', bytes).sha256

test('what was put aside can be had back, and what is replaced for it, too', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  await world.make('hero', 'one')
  expect(await shown(world)).toEqual([])
  await world.replaced.putAside(join(world.folder, path))
  world.write({ [path]: 'two' })
  await world.replaced.putAside(join(world.folder, path))
  world.write({ [path]: 'three' })
  expect(await shown(world)).toEqual([
    [path, digest('one')],
    [path, digest('two')],
  ])

  const versions = await versionsOf(scopeOf(world), 'hero')
  const block = await restore(scopeOf(world), 'hero', versions, 2, 'Ada')
  expect(block?.adopted).toBe('Ada, 2026-01-01')
  expect(world.read(path)).toBe('two')
  const lock = await readLock(world.context, world.world().manifest.project)
  expect(lock.get('hero')).toMatchObject({
    outputs: [{ path, sha256: digest('two') }],
    adopted: 'Ada, 2026-01-01',
  })
  expect(await shown(world)).toEqual([
    [path, digest('one')],
    [path, digest('three')],
  ])
})

test('an earlier result of the job is among them, and files of others are not', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  world.define('logo', { ...text, output: 'copy/logo.txt' })
  await world.record('hero', 'one')
  await world.record('logo', 'other')
  await world.make('logo', 'mark')
  await world.replaced.putAside(join(world.folder, 'copy/logo.txt'))
  await world.make('hero', 'two')
  expect(await shown(world)).toEqual([[path, digest('one')]])
})

test('there is no version of another number', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  await world.make('hero', 'one')
  const restoring = (number: number) => async () =>
    restore(scopeOf(world), 'hero', await versionsOf(scopeOf(world), 'hero'), number, 'Ada')
  await expect(restoring(1)).rejects.toThrow('No earlier file of hero is kept here.')
  await world.record('hero', 'two')
  await expect(restoring(2)).rejects.toThrow('There is no file 2: hero has 1 earlier file.')
})

test('what does not hold its asserts is not put in place', async () => {
  const world = createSampleWorld()
  world.define('hero', { ...text, asserts: { min_chars: 1 } })
  world.write({ [path]: 'bad one' })
  await world.replaced.putAside(join(world.folder, path))
  await world.make('hero', 'two')
  const restoring = restore(scopeOf(world), 'hero', await versionsOf(scopeOf(world), 'hero'), 1, 'Ada')
  await expect(restoring).rejects.toThrow('hero does not hold its asserts: It is bad.')
  expect(world.read(path)).toBe('two')
})
