import { expect, test } from 'vitest'
import { clean } from '../../../src/pipeline/changes/clean.ts'
import {
  listRuns,
  openJournal,
  readHistory,
  runsFolder,
  type JournalEvent,
} from '../../../src/pipeline/journal/journal.ts'
import { readLock } from '../../../src/pipeline/lock/lock-block.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld } from '../plan/sample-world.ts'
import { filesField } from '../../support/pipeline-task.ts'
import { intent } from '../journal/journal-samples.ts'
import { digestOf } from '../store/store-samples.ts'
import { scopeOf } from './change-scope.ts'

const edited = { fields: textFields({ prompt: 'Another picture' }) }

async function cleanIn(world: SampleWorld, { isRemoving = false, outputs = false } = {}) {
  const history = await readHistory(world.world().manifest.project)
  const { removed: _, ...found } = await clean(scopeOf(world, history), { isRemoving, outputs })
  return { ...found, items: found.items.map(({ kind, instance, path }) => `${kind} ${instance} ${path}`) }
}

/** A run with these events, and its end. */
async function writeRun(world: SampleWorld, events: readonly JournalEvent[], hasEnded = true) {
  const journal = await openJournal(world.world().manifest.project, world.context.clock, null)
  for (const event of events) await journal.append(event)
  if (hasEnded) await journal.append({ type: 'end', run: journal.run })
  await journal.close()
  return journal.run
}

const blobPath = (bytes: string) => `.modelgate/replaced/${digestOf(bytes).slice(0, 2)}/${digestOf(bytes)}`

test('bytes that the lock does not name are listed, and removed with --yes', async () => {
  const world = createSampleWorld()
  world.define('hero')
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
  const world = createSampleWorld()
  world.define('hero', { variants: 2 })
  const first = await world.offer('hero', 'one', 1)
  const second = await world.offer('hero', 'two', 2)
  expect((await cleanIn(world)).items).toEqual([])
  await world.make('hero', 'two', { variant: 2, picked: 2 })
  const both = [first, second].toSorted().map((key) => `result hero .modelgate/results/${key}`)
  // What is locked can be restored.
  expect((await cleanIn(world)).items).toEqual([`result hero .modelgate/results/${first}`])
  world.lock.clear()
  world.define('hero', { variants: 2, ...edited })
  expect((await cleanIn(world)).items).toEqual(both)
  await cleanIn(world, { isRemoving: true })
  expect(await world.results.keys()).toEqual([])
})

test.each<[string, (world: SampleWorld) => unknown]>([
  [
    'a result that can be restored',
    async (world) => {
      world.define('hero')
      const key = await world.record('hero', 'one')
      await writeRun(world, [
        intent(key),
        { type: 'result', instance: 'hero', key, variant: 1, rejected: null },
      ])
    },
  ],
  [
    'a rejected result',
    async (world) => {
      world.define('hero', { asserts: { width: 1 } })
      await world.offer('hero', 'bad one')
      expect((await world.assess('hero')).state).toBe('rejected')
    },
  ],
  [
    'a candidate that another job refers to',
    async (world) => {
      world.define('hero', { variants: 2 })
      world.define('banner', { fields: { image: filesField('@hero#1') } })
      await world.offer('hero', 'one', 1)
      await world.make('hero', 'two', { variant: 2, picked: 2 })
    },
  ],
  [
    'a candidate of a job whose keys are not known',
    async (world) => {
      world.define('hero')
      world.define('banner', { variants: 2, fields: { image: filesField('@hero') } })
      await world.make('hero', 'one')
      await world.offer('banner', 'wide', 1)
      world.define('hero', edited)
      expect((await world.assess('banner')).state).toBe('pending')
    },
  ],
])('%s stays', async (_, arrange) => {
  const world = createSampleWorld()
  await arrange(world)
  expect((await cleanIn(world, { isRemoving: true })).items).toEqual([])
  expect(await world.results.keys()).toHaveLength(1)
})

test('what a request has left goes, unless its outcome is unknown', async () => {
  const world = createSampleWorld()
  world.define('hero')
  const key = await world.keyOf('hero')
  const over = 'a'.repeat(64)
  world.write({ [`.modelgate/results/${key}/1.png`]: 'half', [`.modelgate/results/${over}/1.png`]: 'half' })
  world.write({ '.modelgate/results/of-somebody/file': 'x' })
  await writeRun(world, [intent(key)])
  expect((await cleanIn(world, { isRemoving: true })).items).toEqual([
    `result null .modelgate/results/${over}`,
  ])
  expect(world.read(`.modelgate/results/${key}/1.png`)).toBe('half')
  expect(world.read('.modelgate/results/of-somebody/file')).toBe('x')
})

test('journals go from the oldest on, until one is needed', async () => {
  const world = createSampleWorld()
  world.define('hero')
  await world.make('hero', 'one')
  const done = await world.keyOf('hero')
  const old = await writeRun(world, [intent(done), { type: 'discard', key: done }])
  const open = await writeRun(world, [intent('b'.repeat(64), { instance: 'gone' })])
  const newest = await writeRun(world, [intent(done), { type: 'discard', key: done }])
  expect((await cleanIn(world)).items).toEqual([`journal null .modelgate/runs/${old}.jsonl`])
  await cleanIn(world, { isRemoving: true })
  expect(await listRuns(runsFolder(world.world().manifest.project))).toEqual([open, newest])
})

test('the journal of an unfinished run, and one that cannot be read, stay', async () => {
  const world = createSampleWorld()
  const run = await writeRun(world, [], true)
  const path = `.modelgate/runs/${run}.jsonl`
  world.write({ [path]: `${world.read(path)}damaged\n` })
  expect((await cleanIn(world)).items).toEqual([])
  const other = createSampleWorld()
  await writeRun(other, [{ type: 'discard', key: 'a' }], false)
  expect((await cleanIn(other)).items).toEqual([])
})

test('outputs of jobs that are gone go when that is asked for, if they are as they were locked', async () => {
  const world = createSampleWorld()
  for (const id of ['old', 'edited', 'shared', 'missing']) {
    world.define(id)
    await world.make(id, id)
  }
  world.define('hero', { output: 'assets/shared.png' })
  for (const id of ['old', 'edited', 'shared', 'missing']) world.undefine(id)
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
  const lock = await readLock(world.context, world.world().manifest.project)
  expect([...lock.keys()]).toEqual(['edited'])
})

test('outputs stay as long as one of them may belong to a job that was renamed', async () => {
  const world = createSampleWorld()
  world.define('hero')
  world.define('wide', { output: 'wide.png', fields: { image: filesField('@hero') } })
  await world.make('hero', 'one')
  await world.make('wide', 'wide')
  world.undefine('wide')
  world.define('banner', { output: 'wide.png', fields: { image: filesField('@hero') } })
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
