import { renameSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clean } from '../../../src/pipeline/changes/clean.ts'
import { listRuns, readHistory, runsFolder } from '../../../src/pipeline/journal/journal.ts'
import { readLock } from '../../../src/pipeline/lock/lock-block.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld, type Step } from '../plan/sample-world.ts'
import { filesField } from '../../support/pipeline-task.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { intent } from '../journal/journal-samples.ts'
import { digestOf } from '../store/store-samples.ts'
import { scopeOf } from './change-scope.ts'

const edited = { fields: textFields({ prompt: 'Another picture' }) }

async function cleanIn(world: SampleWorld, { isRemoving = false, outputs = false } = {}) {
  const history = await readHistory(world.project)
  const { removed: _, ...found } = await clean(scopeOf(world, history), { isRemoving, outputs })
  return { ...found, items: found.items.map(({ kind, instance, path }) => `${kind} ${instance} ${path}`) }
}

const blobPath = (bytes: string) => `.modelgate/replaced/${digestOf(bytes).slice(0, 2)}/${digestOf(bytes)}`

test('bytes that the lock does not name are listed, and removed with --yes', async () => {
  const world = createSampleWorld({ hero: {} })
  await world.make('hero', 'two')
  world.keep('one')
  world.keep('two')
  const items = [`replaced null ${blobPath('one')}`]
  expect(await cleanIn(world)).toEqual({ items, bytes: 3, warnings: [] })
  expect(world.read(blobPath('one'))).toBe('one')
  await cleanIn(world, { isRemoving: true })
  expect([world.read(blobPath('one')), world.read(blobPath('two'))]).toEqual([undefined, 'two'])
})

test('candidates stay until one is picked, or the prompt is another one', async () => {
  const world = createSampleWorld({ hero: { variants: 2 } })
  const first = await world.offer('hero', 'one', 1)
  const second = await world.offer('hero', 'two', 2)
  expect((await cleanIn(world)).items).toEqual([])
  await world.make('hero', 'two', { variant: 2, picked: 2 })
  const shown = (...keys: string[]) => keys.toSorted().map((key) => `result hero .modelgate/results/${key}`)
  // What is locked can be restored.
  expect((await cleanIn(world)).items).toEqual(shown(first))
  world.lock.clear()
  world.define('hero', { variants: 2, ...edited })
  expect((await cleanIn(world)).items).toEqual(shown(first, second))
  await cleanIn(world, { isRemoving: true })
  expect(await world.results.keys()).toEqual([])
})

const usesHero = (reference: string) => ({ fields: { image: filesField(reference) } })

test.each<[string, Parameters<typeof createSampleWorld>[0], Step]>([
  [
    'a result that can be restored',
    { hero: {} },
    async (world) => {
      const key = await world.record('hero', 'one')
      const done = { type: 'result', instance: 'hero', key, variant: 1, rejected: null } as const
      await world.leaveRun([intent(key), done])
    },
  ],
  [
    'a rejected result',
    { hero: { asserts: { width: 1 } } },
    async (world) => {
      await world.offer('hero', 'bad one')
      expect((await world.assess('hero')).state).toBe('rejected')
    },
  ],
  [
    'a candidate that another job refers to',
    { hero: { variants: 2 }, banner: usesHero('@hero#1') },
    async (world) => {
      await world.offer('hero', 'one', 1)
      await world.make('hero', 'two', { variant: 2, picked: 2 })
    },
  ],
  [
    'a candidate of a job whose keys are not known',
    { hero: {}, banner: { variants: 2, ...usesHero('@hero') } },
    async (world) => {
      await world.make('hero', 'one')
      await world.offer('banner', 'wide', 1)
      world.define('hero', edited)
      expect((await world.assess('banner')).state).toBe('pending')
    },
  ],
])('%s stays', async (_, defined, arrange) => {
  const world = createSampleWorld(defined)
  await arrange(world)
  expect((await cleanIn(world, { isRemoving: true })).items).toEqual([])
  expect(await world.results.keys()).toHaveLength(1)
})

test('what a request has left goes, unless its outcome is unknown', async () => {
  const world = createSampleWorld({ hero: {} })
  const key = await world.keyOf('hero')
  const over = 'a'.repeat(64)
  const results = '.modelgate/results'
  world.write({ [`${results}/${key}/1.png`]: 'half', [`${results}/${over}/1.png`]: 'half' })
  world.write({ [`${results}/of-somebody/file`]: 'x' })
  await world.leaveRun([intent(key)])
  expect((await cleanIn(world, { isRemoving: true })).items).toEqual([`result null ${results}/${over}`])
  expect(world.read(`${results}/${key}/1.png`)).toBe('half')
  expect(world.read(`${results}/of-somebody/file`)).toBe('x')
})

test('journals go from the oldest on, until one is needed', async () => {
  const world = createSampleWorld({ hero: {} })
  await world.make('hero', 'one')
  const done = await world.keyOf('hero')
  const old = await world.leaveRun([intent(done), { type: 'discard', key: done }])
  const open = await world.leaveRun([intent('b'.repeat(64), { instance: 'gone' })])
  const newest = await world.leaveRun([intent(done), { type: 'discard', key: done }])
  expect((await cleanIn(world)).items).toEqual([`journal null .modelgate/runs/${old}.jsonl`])
  await cleanIn(world, { isRemoving: true })
  expect(await listRuns(runsFolder(world.project))).toEqual([open, newest])
})

test('the journal of an unfinished run, and one that cannot be read, stay', async () => {
  const world = createSampleWorld()
  const run = await world.leaveRun([])
  const path = `.modelgate/runs/${run}.jsonl`
  world.write({ [path]: `${world.read(path)}damaged\n` })
  expect((await cleanIn(world)).items).toEqual([])
  const other = createSampleWorld()
  await other.leaveRun([{ type: 'discard', key: 'a' }], false)
  expect((await cleanIn(other)).items).toEqual([])
})

test('outputs of jobs that are gone go when that is asked for, if they are as they were locked', async () => {
  const world = createSampleWorld({ old: {}, edited: {}, shared: {}, missing: {} })
  const ids = ['old', 'edited', 'shared', 'missing']
  for (const id of ids) await world.make(id, id)
  world.define('hero', { output: 'assets/shared.png' })
  for (const id of ids) world.undefine(id)
  world.write({ 'assets/edited.png': 'by hand' })
  world.remove('assets/missing.png')
  expect((await cleanIn(world)).items).toEqual([])
  expect(await cleanIn(world, { outputs: true, isRemoving: true })).toEqual({
    items: ['output old assets/old.png'],
    bytes: 3,
    warnings: ['assets/edited.png of edited is kept: it differs from the lock.'],
  })
  expect(world.read('assets/old.png')).toBeUndefined()
  expect(world.read('assets/edited.png')).toBe('by hand')
  expect(world.read('assets/shared.png')).toBe('shared')
  const lock = await readLock(world.context, world.project)
  expect([...lock.keys()]).toEqual(['edited'])
})

test('a former output stays that a link outside of the project leads to', async () => {
  const world = createSampleWorld({ old: {} })
  await world.make('old', 'old')
  world.undefine('old')
  const elsewhere = temporaryFolder()
  renameSync(join(world.folder, 'assets'), join(elsewhere, 'assets'))
  symlinkSync(join(elsewhere, 'assets'), join(world.folder, 'assets'))
  expect(await cleanIn(world, { outputs: true, isRemoving: true })).toEqual({
    items: [],
    bytes: 0,
    warnings: ['assets/old.png of old is kept: a link leads out of the folder to it.'],
  })
  expect(world.read('assets/old.png')).toBe('old')
})

test('outputs stay as long as one of them may belong to a job that was renamed', async () => {
  const wide = { output: 'wide.png', ...usesHero('@hero') }
  const world = createSampleWorld({ hero: {}, wide })
  await world.make('hero', 'one')
  await world.make('wide', 'wide')
  world.undefine('wide')
  world.define('banner', wide)
  world.define('hero', edited)
  expect(await cleanIn(world, { outputs: true, isRemoving: true })).toEqual({
    items: [],
    bytes: 0,
    warnings: [
      'Outputs are kept until it is known whether banner had another name: It needs @hero, which is made first.',
    ],
  })
  expect(world.lock.get('wide')!.outputs).toEqual([factsOf('wide.png', 'wide')])
  expect(world.read('wide.png')).toBe('wide')
})
