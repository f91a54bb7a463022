import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { adopt } from '../../../src/pipeline/changes/change-outputs.ts'
import { readHistory } from '../../../src/pipeline/journal/history.ts'
import { openJournal } from '../../../src/pipeline/journal/journal.ts'
import { readLock } from '../../../src/pipeline/lock/project-lock.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld } from '../plan/sample-world.ts'
import { filesField } from '../../support/pipeline-task.ts'
import { scopeOf } from './change-scope.ts'

const text = { lane: 'text', command: 'generate', output: 'copy/hero.txt' } as const

const adoptIn = (world: SampleWorld, ...patterns: string[]) => adopt(scopeOf(world), patterns, 'Ada')

/** What is on the disk counts from here on. */
async function takeLock(world: SampleWorld) {
  const lock = await readLock(world.context, world.world().manifest.project)
  for (const [id, block] of lock) world.lock.set(id, block)
  return lock
}

test('a file that was there already is locked with the key of the manifest, and who said so', async () => {
  const world = createSampleWorld()
  world.define('hero')
  const bytes = pngBytes({ width: 3, height: 2 })
  world.write({ 'assets/hero.png': bytes })
  const [changed] = await adoptIn(world, 'hero')
  expect(changed).toMatchObject({
    id: 'hero',
    block: {
      key: await world.keyOf('hero'),
      outputs: [{ path: 'assets/hero.png', sha256: hash('sha256', bytes), width: 3, height: 2 }],
      model: null,
      origin: null,
      picked: null,
      adopted: 'Ada, 2026-01-01',
      prompt: null,
    },
  })
  expect((await takeLock(world)).get('hero')).toEqual(changed!.block)
  expect((await world.assess('hero')).state).toBe('fresh')
  // What is adopted can be restored.
  world.remove('assets/hero.png')
  expect((await world.assess('hero')).state).toBe('restorable')
})

test.each<[string, Partial<Instance>, Record<string, string>, object]>([
  [
    'a text is locked as it is with LF',
    {},
    { 'copy/hero.txt': 'one\r\ntwo\r\n' },
    { outputs: [factsOf('copy/hero.txt', 'one\ntwo\n', 'text')], picked: null },
  ],
  ['of candidates it is the first', { variants: 3 }, { 'copy/hero.txt': 'one' }, { picked: 1 }],
  ['or the one that the manifest picks', { variants: 3, pick: 2 }, { 'copy/hero.txt': 'two' }, { picked: 2 }],
])('%s', async (_, changes, files, block) => {
  const world = createSampleWorld()
  world.define('hero', { ...text, ...changes })
  world.write(files)
  expect(await adoptIn(world, 'hero')).toMatchObject([{ block }])
  await takeLock(world)
  expect((await world.assess('hero')).state).toBe('fresh')
})

test('what is fresh stays, and a file that was changed by hand takes the place of the generated one', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  await world.make('hero', 'one')
  expect(await adoptIn(world, 'hero')).toEqual([])
  world.write({ 'copy/hero.txt': 'by hand' })
  expect(await adoptIn(world, 'hero')).toMatchObject([
    { block: { model: null, request_id: null, adopted: 'Ada, 2026-01-01' } },
  ])
})

test('the old result is right for a new prompt: it keeps where it came from', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  await world.make('hero', 'one')
  world.define('hero', { ...text, fields: textFields({ prompt: 'Another text' }) })
  const key = await world.keyOf('hero')
  expect(await adoptIn(world, 'hero')).toMatchObject([
    { block: { key, model: 'gpt-image-2', request_id: 'req_1', adopted: 'Ada, 2026-01-01' } },
  ])
})

test('of two that depend on each other both are adopted, or the first one', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  world.define('banner', { ...text, output: 'copy/banner.txt', fields: { attach: filesField('@hero') } })
  world.write({ 'copy/hero.txt': 'one', 'copy/banner.txt': 'wide' })
  await expect(adoptIn(world, 'banner')).rejects.toThrow(
    'Nothing of banner can be locked yet: it needs @hero, not all of which is settled.',
  )
  expect((await adoptIn(world, '*')).map(({ id }) => id)).toEqual(['hero', 'banner'])
  await takeLock(world)
  expect((await world.plan()).states).toMatchObject({ fresh: 2 })
})

test('everything that is wrong is told at once, and nothing is locked', async () => {
  const world = createSampleWorld()
  world.define('hero')
  world.define('logo')
  world.define('text', { ...text, asserts: { min_chars: 5 } })
  world.define('good', { ...text, output: 'copy/good.txt' })
  world.write({ 'assets/logo.png': 'not a picture', 'copy/hero.txt': 'bad one', 'copy/good.txt': 'good' })
  await expect(adoptIn(world, '*')).rejects.toThrow(
    [
      '"assets/hero.png" cannot be read: it does not exist.',
      'assets/logo.png is not an image.',
      'text does not hold its asserts: It is bad. Change the file, or `assert` in the manifest.',
    ].join('\n'),
  )
  expect((await takeLock(world)).size).toBe(0)
})

test('what became of a request no longer matters', async () => {
  const world = createSampleWorld()
  world.define('hero', text)
  const key = await world.keyOf('hero')
  const { project } = world.world().manifest
  const journal = await openJournal(project, world.context.clock, null)
  const request = { instance: 'hero', key, variant: 1, idempotency_key: 'i', creates: 1, cost: null }
  await journal.append({ type: 'intent', ...request })
  await journal.close()
  const history = await readHistory(project)
  expect(history.isOpen(key)).toBe(true)
  world.write({ 'copy/hero.txt': 'one' })
  await adopt(scopeOf(world, history), ['hero'], 'Ada')
  const later = await readHistory(project)
  expect(later.isOpen(key)).toBe(false)
  expect(later.unfinished?.run).toBe(journal.run)
})
