import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  adopt,
  adoptJobs,
  pick,
  pickCandidate,
  restore,
  versionsOf,
} from '../../../src/pipeline/changes/change-outputs.ts'
import { cleanProject } from '../../../src/pipeline/changes/clean.ts'
import { readHistory } from '../../../src/pipeline/journal/journal.ts'
import { takeOwnership } from '../../../src/pipeline/journal/owner.ts'
import { readLock } from '../../../src/pipeline/lock/lock-block.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { pngBytes } from '../../support/image-bytes.ts'
import { filesField } from '../../support/pipeline-task.ts'
import { intent } from '../journal/journal-samples.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld, type Step } from '../plan/sample-world.ts'
import { runBench } from '../run/run-bench.ts'
import { digestOf } from '../store/store-samples.ts'
import { scopeOf } from './change-scope.ts'

const path = 'copy/hero.txt'
const text = { lane: 'text', command: 'generate', output: path } as const

const worldWith = (hero: Partial<Instance> = {}) => createSampleWorld({ hero })

/** What is on the disk counts from here on. */
async function takeLock(world: SampleWorld) {
  const lock = await readLock(world.context, world.project)
  world.lock.clear()
  for (const [id, block] of lock) world.lock.set(id, block)
  return lock
}

describe('adopting', () => {
  const adoptIn = (world: SampleWorld, ...patterns: string[]) => adopt(scopeOf(world), patterns, 'Ada')

  test('a file that was there already is locked with the key of the manifest, and who said so', async () => {
    const world = worldWith()
    const bytes = pngBytes({ width: 3, height: 2 })
    world.write({ 'assets/hero.png': bytes })
    const [changed] = await adoptIn(world, 'hero')
    expect(changed).toMatchObject({
      id: 'hero',
      block: {
        key: await world.keyOf('hero'),
        outputs: [{ path: 'assets/hero.png', sha256: digestOf(bytes), width: 3, height: 2 }],
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

  test.each<[string, Partial<Instance>, string, object]>([
    [
      'a text is locked as it is with LF',
      {},
      'one\r\ntwo\r\n',
      { outputs: [factsOf(path, 'one\ntwo\n', 'text')], picked: null },
    ],
    ['of candidates it is the first', { variants: 3 }, 'one', { picked: 1 }],
    ['or the one that the manifest picks', { variants: 3, pick: 2 }, 'two', { picked: 2 }],
  ])('%s', async (_, changes, content, block) => {
    const world = worldWith({ ...text, ...changes })
    world.write({ [path]: content })
    expect(await adoptIn(world, 'hero')).toMatchObject([{ block }])
    await takeLock(world)
    expect((await world.assess('hero')).state).toBe('fresh')
  })

  test('what is fresh stays, and a file that was changed by hand takes its place', async () => {
    const world = worldWith(text)
    await world.make('hero', 'one')
    expect(await adoptIn(world, 'hero')).toEqual([])
    world.write({ [path]: 'by hand' })
    const block = { model: null, request_id: null, adopted: 'Ada, 2026-01-01' }
    expect(await adoptIn(world, 'hero')).toMatchObject([{ block }])
  })

  test('the old result is right for a new prompt: it keeps where it came from', async () => {
    const world = worldWith(text)
    await world.make('hero', 'one')
    world.define('hero', { ...text, fields: textFields({ prompt: 'Another text' }) })
    const key = await world.keyOf('hero')
    const block = { key, model: 'gpt-image-2', request_id: 'req_1', adopted: 'Ada, 2026-01-01' }
    expect(await adoptIn(world, 'hero')).toMatchObject([{ block }])
  })

  test('of two that depend on each other both are adopted, or the first one', async () => {
    const world = worldWith(text)
    world.define('banner', { ...text, output: 'copy/banner.txt', fields: { attach: filesField('@hero') } })
    world.write({ [path]: 'one', 'copy/banner.txt': 'wide' })
    await expect(adoptIn(world, 'banner')).rejects.toThrow(
      'Nothing of banner can be locked yet: it needs @hero, not all of which is settled.',
    )
    expect((await adoptIn(world, '*')).map(({ id }) => id)).toEqual(['hero', 'banner'])
    await takeLock(world)
    expect((await world.plan()).states).toMatchObject({ fresh: 2 })
  })

  test('everything that is wrong is told at once, and nothing is locked', async () => {
    const world = worldWith()
    world.define('logo')
    world.define('text', { ...text, asserts: { min_chars: 5 } })
    world.define('good', { ...text, output: 'copy/good.txt' })
    world.write({ 'assets/logo.png': 'not a picture', [path]: 'bad one', 'copy/good.txt': 'good' })
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
    const world = worldWith(text)
    const key = await world.keyOf('hero')
    const run = await world.leaveRun([intent(key)], false)
    const history = await readHistory(world.project)
    expect(history.isOpen(key)).toBe(true)
    world.write({ [path]: 'one' })
    await adopt(scopeOf(world, history), ['hero'], 'Ada')
    const later = await readHistory(world.project)
    expect([later.isOpen(key), later.unfinished?.run]).toEqual([false, run])
  })
})

describe('picking', () => {
  /** Three candidates are asked for, and two are there. */
  async function createChoice(): Promise<SampleWorld> {
    const world = worldWith({ variants: 3 })
    await world.offer('hero', 'one', 1)
    await world.offer('hero', 'two', 2)
    return world
  }

  async function pickIn(world: SampleWorld, name: string, variant: number) {
    const { id, block } = await pick(scopeOf(world), name, variant)
    expect((await takeLock(world)).get(id)).toEqual(block)
    return block
  }

  test('a candidate becomes the output, and the others are not made any more', async () => {
    const world = await createChoice()
    expect(await pickIn(world, 'hero', 2)).toMatchObject({
      key: await world.keyOf('hero', 2),
      picked: 2,
      model: 'gpt-image-2',
      adopted: null,
      outputs: [{ path: 'assets/hero.png', sha256: digestOf('two') }],
    })
    expect(world.read('assets/hero.png')).toBe('two')
    expect(await world.assess('hero')).toMatchObject({ state: 'fresh', toMake: [] })
  })

  test('another one is picked, elsewhere: the former output is put aside', async () => {
    const world = await createChoice()
    await pickIn(world, 'hero', 2)
    await pickIn(world, 'hero', 1)
    expect(world.read('assets/hero.png')).toBe('one')
    expect(await world.replaced.open(digestOf('two'))).toBeDefined()
    world.define('hero', { variants: 3, output: 'new/hero.png' })
    await pickIn(world, 'hero', 2)
    expect([world.read('new/hero.png'), world.read('assets/hero.png')]).toEqual(['two', undefined])
  })

  test('what was the only result before is the first candidate', async () => {
    const world = worldWith()
    await world.make('hero', 'one')
    world.define('hero', { variants: 2 })
    await pickIn(world, 'hero', 1)
    expect(await world.assess('hero')).toMatchObject({ state: 'fresh' })
  })

  const three = (changes: Partial<Instance>): Step[] => [
    (world) => world.define('hero', { variants: 3, ...changes }),
  ]
  const pickFirst: Step = (world) => pickIn(world, 'hero', 1)
  const paint: Step = (world) => world.write({ 'assets/hero.png': 'painted over' })
  const offerBad: Step = (world) => world.offer('hero', 'bad three', 3)
  const absent = 'Candidate 3 of hero does not exist.'
  const bad = 'Candidate 3 of hero is rejected: It is bad.'
  const painted = 'assets/hero.png differs from the lock, and is kept.'
  const makeIt = { hint: 'Make it with: modelgate run hero --sandbox' }
  const again = { next: ['modelgate', 'run', '--regenerate', 'hero', '--sandbox'] }
  const adoptIt = { next: ['modelgate', 'run', 'adopt', 'hero', '--sandbox'] }

  // The last is what a refusal says to do.
  test.each<[string, readonly Step[], number, string, object?]>([
    ['the manifest picks', three({ pick: 1 }), 2, 'The manifest picks candidate 1 of hero.'],
    ['there is only one', [(world) => world.define('hero')], 1, 'hero has no candidates.'],
    ['there are not so many', [], 4, 'hero has only candidates 1 to 3.'],
    ['it was not made', [], 3, absent, makeIt],
    ['it was not made, and another one is picked', [pickFirst], 3, absent, again],
    ['it does not hold its asserts', [...three({ asserts: { width: 1 } }), offerBad], 3, bad],
    ['it is frozen', three({ isFrozen: true }), 2, 'hero is frozen.'],
    ['the output was changed by hand', [pickFirst, paint], 2, painted, adoptIt],
  ])('refused: %s', async (_, steps, variant, message, facts = {}) => {
    const world = await createChoice()
    for (const step of steps) await step(world)
    const before = world.read('assets/hero.png')
    await expect(pickIn(world, 'hero', variant)).rejects.toMatchObject({
      message: expect.stringContaining(message),
      facts,
    })
    expect(world.read('assets/hero.png')).toBe(before)
  })

  test('a job with several instances is not one', async () => {
    const world = createSampleWorld({ 'photos[a]': { variants: 2 }, 'photos[b]': { variants: 2 } })
    await expect(pickIn(world, 'photos', 1)).rejects.toThrow(
      '"photos" means 2 instances: name one of photos[a], photos[b], …',
    )
  })
})

describe('restoring', () => {
  const versions = (world: SampleWorld) => versionsOf(scopeOf(world), 'hero')
  const shown = async (world: SampleWorld) =>
    (await versions(world)).map((version) => [version.path, version.sha256])
  const restoreIn = async (world: SampleWorld, number: number) =>
    restore(scopeOf(world), 'hero', await versions(world), number, 'Ada')

  test('what was put aside can be had back, and what is replaced for it, too', async () => {
    const world = worldWith(text)
    await world.make('hero', 'one')
    expect(await shown(world)).toEqual([])
    for (const next of ['two', 'three']) {
      await world.replaced.putAside(join(world.folder, path))
      world.write({ [path]: next })
    }
    expect(await shown(world)).toEqual([
      [path, digestOf('one')],
      [path, digestOf('two')],
    ])

    expect((await restoreIn(world, 2))?.adopted).toBe('Ada, 2026-01-01')
    expect(world.read(path)).toBe('two')
    expect((await takeLock(world)).get('hero')).toMatchObject({
      outputs: [{ path, sha256: digestOf('two') }],
      adopted: 'Ada, 2026-01-01',
    })
    expect(await shown(world)).toEqual([
      [path, digestOf('one')],
      [path, digestOf('three')],
    ])
  })

  test('an earlier result of the job is among them, and files of others are not', async () => {
    const world = worldWith(text)
    world.define('logo', { ...text, output: 'copy/logo.txt' })
    await world.record('hero', 'one')
    await world.record('logo', 'other')
    await world.make('logo', 'mark')
    await world.replaced.putAside(join(world.folder, 'copy/logo.txt'))
    await world.make('hero', 'two')
    expect(await shown(world)).toEqual([[path, digestOf('one')]])
  })

  test('there is no version of another number', async () => {
    const world = worldWith(text)
    await world.make('hero', 'one')
    await expect(restoreIn(world, 1)).rejects.toThrow('No earlier file of hero is kept here.')
    await world.record('hero', 'two')
    await expect(restoreIn(world, 2)).rejects.toThrow('There is no file 2: hero has 1 earlier file.')
  })

  test('what does not hold its asserts is not put in place', async () => {
    const world = worldWith({ ...text, asserts: { min_chars: 1 } })
    world.write({ [path]: 'bad one' })
    await world.replaced.putAside(join(world.folder, path))
    await world.make('hero', 'two')
    await expect(restoreIn(world, 1)).rejects.toThrow('hero does not hold its asserts: It is bad.')
    expect(world.read(path)).toBe('two')
  })
})

test('nothing is changed while the manifest is being run', async () => {
  const note = 'note: { generate: { model: m, prompt: What is a harbour? }, out: note.txt }'
  const files = { 'modelgate.yaml': `version: 1\njobs:\n  ${note}\n`, 'note.txt': 'A port.\n' }
  const { folder, call } = await runBench(files)
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const other = await takeOwnership(project, call.context)
  const busy = 'is already being run'
  await expect(adoptJobs(call, ['note'])).rejects.toThrow(busy)
  await expect(cleanProject(call, { isRemoving: true, outputs: true })).rejects.toThrow(busy)
  expect(existsSync(project.lockPath)).toBe(false)
  await other.release()
  // One that was refused gives the manifest back.
  await expect(pickCandidate(call, 'note', 1)).rejects.toThrow('note has no candidates.')
  expect(await adoptJobs(call, ['note'])).toMatchObject({ instances: [{ instance: 'note' }] })
})
