import { expect, test } from 'vitest'
import type { Assessment } from '../../../src/pipeline/plan/assessment.ts'
import type { Forced } from '../../../src/pipeline/plan/world.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld } from './sample-world.ts'

type Summary = Pick<Assessment, 'state' | 'reasons'> & { readonly toMake: readonly number[] }

/** What is arranged, and what becomes of `hero`, whose output is assets/hero.png. */
interface Row {
  readonly name: string
  arrange(world: SampleWorld): unknown
  readonly forced?: Partial<Forced>
  readonly state: Assessment['state']
  readonly reasons?: readonly string[]
  /** The numbers of the variants. */
  readonly toMake?: readonly number[]
}

const again = { regenerate: new Set(['hero']) }
const edited = { fields: textFields({ prompt: 'Another picture' }) }

const rows: readonly Row[] = [
  { name: 'nothing is there', arrange: () => {}, state: 'new', toMake: [1] },
  { name: 'key and file are as locked', arrange: (world) => world.make('hero', 'one'), state: 'fresh' },
  {
    name: 'the file is gone, and its bytes are in the store',
    async arrange(world) {
      await world.make('hero', 'one')
      world.remove('assets/hero.png')
      world.keep('one')
    },
    state: 'restorable',
    reasons: ['assets/hero.png is missing.'],
  },
  {
    name: 'the file is gone, and so are its bytes',
    async arrange(world) {
      await world.make('hero', 'one')
      world.remove('assets/hero.png')
    },
    state: 'lost',
    reasons: ['assets/hero.png is missing, and its bytes are not in the store.'],
  },
  {
    name: 'the file is gone, and the store has other bytes under its name',
    async arrange(world) {
      await world.make('hero', 'one')
      world.remove('assets/hero.png')
      world.keep('one')
      const { sha256 } = world.lock.get('hero')!.outputs[0]!
      world.write({ [`.modelgate/store/${sha256.slice(0, 2)}/${sha256}`]: 'planted' })
    },
    state: 'lost',
  },
  {
    name: 'lost, and asked for again',
    async arrange(world) {
      await world.make('hero', 'one')
      world.remove('assets/hero.png')
    },
    forced: again,
    state: 'stale',
    reasons: ['It is to be generated again.'],
    toMake: [1],
  },
  {
    name: 'fresh, and asked for again',
    arrange: (world) => world.make('hero', 'one'),
    forced: again,
    state: 'stale',
    toMake: [1],
  },
  {
    name: 'the file was changed by hand',
    async arrange(world) {
      await world.make('hero', 'one')
      world.write({ 'assets/hero.png': 'painted over' })
    },
    state: 'changed',
    reasons: ['assets/hero.png is not as it was locked.'],
  },
  {
    name: 'the file was changed by hand, and so was the prompt',
    async arrange(world) {
      await world.make('hero', 'one')
      world.write({ 'assets/hero.png': 'painted over' })
      world.define('hero', edited)
    },
    state: 'changed',
  },
  {
    name: 'the file was changed by hand, and is asked for again',
    async arrange(world) {
      await world.make('hero', 'one')
      world.write({ 'assets/hero.png': 'painted over' })
    },
    forced: again,
    state: 'changed',
  },
  {
    name: 'the file was changed by hand, and may be put aside',
    async arrange(world) {
      await world.make('hero', 'one')
      world.write({ 'assets/hero.png': 'painted over' })
      world.keep('one')
    },
    forced: { force: true },
    state: 'restorable',
    reasons: ['assets/hero.png is missing.'],
  },
  {
    name: 'the file was changed by hand, may be put aside, and the locked bytes are gone',
    async arrange(world) {
      await world.make('hero', 'one')
      world.write({ 'assets/hero.png': 'painted over' })
    },
    forced: { force: true },
    state: 'lost',
  },
  {
    name: 'a folder is where the file was',
    async arrange(world) {
      await world.make('hero', 'one')
      world.remove('assets/hero.png')
      world.write({ 'assets/hero.png/inside.txt': '' })
    },
    state: 'changed',
  },
  {
    name: 'a file is there that nobody has locked',
    arrange: (world) => world.write({ 'assets/hero.png': 'mine' }),
    state: 'in_the_way',
    reasons: ['assets/hero.png is there, and is not locked.'],
  },
  {
    name: 'a file is there that nobody has locked, and may be put aside',
    arrange: (world) => world.write({ 'assets/hero.png': 'mine' }),
    forced: { force: true },
    state: 'new',
    toMake: [1],
  },
  {
    name: 'the prompt differs',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', edited)
    },
    state: 'stale',
    reasons: ['`prompt` changed.'],
    toMake: [1],
  },
  {
    name: 'the prompt differs, and the file is gone',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', edited)
      world.remove('assets/hero.png')
    },
    state: 'stale',
    toMake: [1],
  },
  {
    name: 'the prompt is one that a journal has a result of',
    async arrange(world) {
      await world.record('hero', 'one')
      world.keep('one')
      world.define('hero', edited)
      await world.make('hero', 'two')
      world.define('hero')
    },
    state: 'restorable',
    reasons: ['Its result was made before.'],
  },
  {
    name: 'a journal has a result whose bytes are gone',
    async arrange(world) {
      await world.record('hero', 'one')
    },
    state: 'new',
    toMake: [1],
  },
  {
    name: 'a journal has a result that was discarded',
    async arrange(world) {
      const key = await world.record('hero', 'one')
      world.keep('one')
      world.history.note({ type: 'discard', key })
    },
    state: 'new',
    toMake: [1],
  },
  {
    name: 'the file is the result that a journal has',
    async arrange(world) {
      await world.record('hero', 'one')
      world.keep('one')
      world.write({ 'assets/hero.png': 'one' })
    },
    state: 'restorable',
  },
  {
    name: 'a file is in the way of a result that a journal has',
    async arrange(world) {
      await world.record('hero', 'one')
      world.keep('one')
      world.write({ 'assets/hero.png': 'mine' })
    },
    state: 'in_the_way',
  },
  {
    name: 'a result was rejected',
    async arrange(world) {
      world.define('hero', { asserts: { width: 1 } })
      await world.offer('hero', 'bad one')
    },
    state: 'rejected',
    reasons: ['It is bad.'],
  },
  {
    name: 'a rejected result, whose files are gone, is not made again',
    async arrange(world) {
      await world.record('hero', 'bad one', { rejected: ['It was bad.'] })
    },
    state: 'rejected',
    reasons: ['It was bad.', 'Its files are gone.'],
  },
  {
    name: 'the assert that rejected a result was loosened',
    async arrange(world) {
      await world.record('hero', 'bad one', { rejected: ['It was bad.'] })
      await world.offer('hero', 'bad one')
    },
    state: 'restorable',
    reasons: ['It was rejected, and holds its asserts now.'],
  },
  {
    name: 'a rejected result is asked for again',
    async arrange(world) {
      world.define('hero', { asserts: { width: 1 } })
      await world.offer('hero', 'bad one')
    },
    forced: again,
    state: 'new',
    toMake: [1],
  },
  {
    name: 'what is locked does not hold a new assert',
    async arrange(world) {
      await world.make('hero', 'bad one')
      world.define('hero', { asserts: { width: 1 } })
    },
    state: 'rejected',
    reasons: ['It is bad.'],
  },
  {
    name: 'another output has the same bytes, and must not',
    async arrange(world) {
      world.define('other')
      await world.make('hero', 'one')
      await world.make('other', 'one')
      world.define('hero', { asserts: { not_duplicate: true } })
    },
    state: 'rejected',
    reasons: ['It is other again.'],
  },
  {
    name: 'a request was sent, and no more is known',
    arrange: (world) => sendRequest(world),
    state: 'unknown',
    reasons: ['A request was sent, and its outcome is not known.'],
  },
  {
    name: 'a request was given to a queue that is not asked',
    arrange: (world) => sendRequest(world, undefined, 'a queue'),
    state: 'unknown',
    reasons: [
      'A request was given to a queue that is not the one asked now: run it with --queue and that one to know its outcome.',
    ],
  },
  {
    name: 'a request that may be repeated was given to a queue that is not asked',
    arrange(world) {
      world.define('hero', { onUnknown: 'retry' })
      return sendRequest(world, undefined, 'a queue')
    },
    state: 'unknown',
    reasons: [
      'A request was given to a queue that is not the one asked now: run it with --queue and that one to know its outcome.',
    ],
  },
  {
    name: 'a request was given to the queue of this run',
    async arrange(world) {
      world.inQueue.add(await sendRequest(world, undefined, 'a queue'))
    },
    state: 'new',
    reasons: ['It is with the queue.'],
    toMake: [1],
  },
  {
    name: 'a request was sent, and may be sent again',
    async arrange(world) {
      world.define('hero', { onUnknown: 'retry' })
      await sendRequest(world)
    },
    state: 'new',
    toMake: [1],
  },
  {
    name: 'a request was sent, and is asked for again',
    arrange: (world) => sendRequest(world),
    forced: again,
    state: 'new',
    toMake: [1],
  },
  {
    name: 'a request was sent, and its job is known',
    arrange: (world) => sendRequest(world, 'video_1'),
    state: 'new',
    reasons: ['Its job video_1 was started before.'],
    toMake: [1],
  },
  {
    name: 'a request failed',
    async arrange(world) {
      const key = await sendRequest(world)
      const failure = {
        exit_code: 9,
        code: 'refused',
        message: 'The gateway refused it.',
        billed: 'no',
      } as const
      world.history.note({ type: 'failure', instance: 'hero', key, ...failure })
    },
    state: 'new',
    reasons: ['It failed before: The gateway refused it.'],
    toMake: [1],
  },
  {
    name: 'a request of unknown outcome is older than what is locked',
    async arrange(world) {
      await sendRequest(world)
      await world.make('hero', 'one')
    },
    state: 'fresh',
  },
  {
    name: 'a regeneration was not finished, and its outcome is unknown',
    async arrange(world) {
      await world.make('hero', 'one')
      world.history.note({ type: 'discard', key: await world.keyOf('hero') })
      await sendRequest(world)
    },
    state: 'unknown',
  },
  {
    name: 'a regeneration failed: what was there before stays',
    async arrange(world) {
      await world.make('hero', 'one')
      const key = await world.keyOf('hero')
      world.history.note({ type: 'discard', key })
      await sendRequest(world)
      world.history.note({ type: 'release', key, reason: 'not sent' })
    },
    state: 'fresh',
  },
  {
    name: 'it was renamed',
    async arrange(world) {
      world.define('banner', {
        output: 'assets/hero.png',
        fields: textFields({ prompt: 'A picture of hero' }),
      })
      await world.make('banner', 'one')
      world.undefine('banner')
    },
    state: 'restorable',
    reasons: ['It was banner before.'],
  },
  {
    name: 'its output was moved',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { output: 'assets/first.png' })
    },
    state: 'restorable',
    reasons: ['assets/hero.png is to be assets/first.png.'],
  },
  {
    name: 'its output was moved, and the file already is there',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { output: 'assets/first.png' })
      world.remove('assets/hero.png')
      world.write({ 'assets/first.png': 'one' })
    },
    state: 'restorable',
  },
  {
    name: 'its output was moved, and another file is there',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { output: 'assets/first.png' })
      world.write({ 'assets/first.png': 'mine' })
    },
    state: 'in_the_way',
    reasons: ['assets/first.png is there, and is not locked.'],
  },
  {
    name: 'its output was moved, and the file was changed by hand',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { output: 'assets/first.png' })
      world.write({ 'assets/hero.png': 'painted over' })
    },
    state: 'changed',
    reasons: ['assets/hero.png is not as it was locked.'],
  },
  {
    name: 'frozen, with another prompt',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { ...edited, isFrozen: true })
    },
    state: 'fresh',
  },
  {
    name: 'frozen, and asked for again',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { ...edited, isFrozen: true })
    },
    forced: again,
    state: 'fresh',
  },
  {
    name: 'frozen, with nothing locked',
    arrange: (world) => world.define('hero', { isFrozen: true }),
    state: 'blocked',
    reasons: ['It is frozen, and nothing of it is locked.'],
  },
  {
    name: 'frozen, with a file that could be adopted',
    arrange(world) {
      world.define('hero', { isFrozen: true })
      world.write({ 'assets/hero.png': 'mine' })
    },
    state: 'in_the_way',
  },
  {
    name: 'four candidates are wanted',
    arrange: (world) => world.define('hero', { variants: 4 }),
    state: 'new',
    toMake: [1, 2, 3, 4],
  },
  {
    name: 'some candidates are there',
    async arrange(world) {
      world.define('hero', { variants: 4 })
      await world.offer('hero', 'one', 1)
      await world.offer('hero', 'three', 3)
    },
    state: 'awaiting',
    reasons: ['Candidates to pick from: 1, 3.'],
    toMake: [2, 4],
  },
  {
    name: 'all candidates are there, one of them rejected',
    async arrange(world) {
      world.define('hero', { variants: 2, asserts: { width: 1 } })
      await world.offer('hero', 'bad one', 1)
      await world.offer('hero', 'two', 2)
    },
    state: 'awaiting',
    reasons: ['Candidates to pick from: 2.', 'Candidate 1: It is bad.'],
  },
  {
    name: 'all candidates were rejected',
    async arrange(world) {
      world.define('hero', { variants: 2, asserts: { width: 1 } })
      await world.offer('hero', 'bad one', 1)
      await world.offer('hero', 'bad two', 2)
    },
    state: 'rejected',
    reasons: ['Candidate 1: It is bad.', 'Candidate 2: It is bad.'],
  },
  {
    name: 'the manifest picks a candidate',
    async arrange(world) {
      world.define('hero', { variants: 2, pick: 2 })
      await world.offer('hero', 'two', 2)
    },
    state: 'restorable',
  },
  {
    name: 'the manifest picks a candidate that is not there: the others are not made',
    arrange: (world) => world.define('hero', { variants: 4, pick: 3 }),
    state: 'new',
    toMake: [3],
  },
  {
    name: 'a candidate was picked',
    async arrange(world) {
      world.define('hero', { variants: 2 })
      await world.make('hero', 'two', { variant: 2, picked: 2 })
    },
    state: 'fresh',
  },
  {
    name: 'a candidate was picked, and the manifest picks another one',
    async arrange(world) {
      world.define('hero', { variants: 2 })
      await world.make('hero', 'two', { variant: 2, picked: 2 })
      await world.offer('hero', 'one', 1)
      world.define('hero', { variants: 2, pick: 1 })
    },
    state: 'restorable',
  },
  {
    name: 'a candidate was picked, and the prompt differs: the pick is void',
    async arrange(world) {
      world.define('hero', { variants: 2 })
      await world.make('hero', 'two', { variant: 2, picked: 2 })
      world.define('hero', { variants: 2, ...edited })
    },
    state: 'stale',
    reasons: ['`prompt` changed.'],
    toMake: [1, 2],
  },
  {
    name: 'a candidate was picked, and fewer are wanted now',
    async arrange(world) {
      world.define('hero', { variants: 4 })
      await world.make('hero', 'three', { variant: 3, picked: 3 })
      world.define('hero', { variants: 1 })
    },
    state: 'fresh',
  },
  {
    name: 'of what was the only result, more are wanted',
    async arrange(world) {
      await world.make('hero', 'one')
      world.define('hero', { variants: 3 })
    },
    state: 'awaiting',
    reasons: ['Candidates to pick from: 1.'],
    toMake: [2, 3],
  },
  {
    name: 'a candidate was picked, and its file is only among the candidates',
    async arrange(world) {
      world.define('hero', { variants: 2 })
      await world.make('hero', 'two', { variant: 2, picked: 2 })
      await world.offer('hero', 'two', 2)
      world.remove('assets/hero.png')
    },
    state: 'restorable',
    reasons: ['assets/hero.png is missing.'],
  },
  {
    name: 'a candidate was picked, and the one with its number has other bytes now',
    async arrange(world) {
      world.define('hero', { variants: 2 })
      await world.make('hero', 'two', { variant: 2, picked: 2 })
      await world.offer('hero', 'another two', 2)
      world.remove('assets/hero.png')
    },
    state: 'lost',
  },
  {
    name: 'a candidate was discarded, and not yet removed',
    async arrange(world) {
      const key = await world.offer('hero', 'one')
      world.history.note({ type: 'discard', key })
    },
    state: 'new',
    toMake: [1],
  },
  {
    name: 'an output of a job that is gone has the same bytes, which does not count',
    async arrange(world) {
      world.define('other')
      await world.make('hero', 'one')
      await world.make('other', 'one')
      world.undefine('other')
      world.define('hero', { asserts: { not_duplicate: true } })
    },
    state: 'fresh',
  },
  {
    name: 'the same request has a file that was changed by hand: that is not its own',
    async arrange(world) {
      const same = { fields: textFields({ prompt: 'A picture of hero' }) }
      world.define('other', same)
      await world.make('other', 'one')
      world.write({ 'assets/other.png': 'painted over' })
      world.keep('one')
    },
    state: 'restorable',
    reasons: ['Its result was made before.'],
  },
  {
    name: 'an adopted file has a name that would have an id',
    async arrange(world) {
      world.define('hero', { output: 'assets/{id}.png' })
      const outputs = [factsOf('assets/mine.png', 'one')]
      await world.make('hero', 'one', { outputs, request_id: null, adopted: 'Ada' })
      world.write({ 'assets/mine.png': 'one' })
    },
    state: 'fresh',
  },
  {
    name: 'a text has other line breaks',
    async arrange(world) {
      world.define('hero', { lane: 'text', command: 'generate', output: 'hero.txt' })
      await world.make('hero', 'one\ntwo\n')
      world.write({ 'hero.txt': 'one\r\ntwo\r\n' })
    },
    state: 'fresh',
  },
]

test.each(rows)('$name: $state', async ({ arrange, forced, state, reasons, toMake = [] }) => {
  const world = createSampleWorld()
  world.define('hero')
  await arrange(world)
  const found = await world.assess('hero', forced)
  const made: Summary = {
    state: found.state,
    reasons: found.reasons,
    toMake: found.toMake.map(({ number }) => number),
  }
  expect(made).toEqual({ state, reasons: reasons ?? found.reasons, toMake })
})

/** The intent of a request for `hero`, and its job. @returns its key */
async function sendRequest(world: SampleWorld, job?: string, queue?: string): Promise<string> {
  const key = await world.keyOf('hero')
  const intent = { idempotency_key: '1', creates: 1, cost: null, ...(queue === undefined ? {} : { queue }) }
  world.history.note({ type: 'intent', instance: 'hero', key, variant: 1, ...intent })
  if (job !== undefined) world.history.note({ type: 'job', key, id: job, kind: 'video' })
  return key
}
