import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { Assessment, Forced } from '../../../src/pipeline/plan/project-state.ts'
import { createSampleWorld, factsOf, textFields, type SampleWorld } from './sample-world.ts'

/** Something that has happened to `hero`, whose output is assets/hero.png. */
type Step = (world: SampleWorld) => unknown

interface More {
  readonly reasons?: readonly string[]
  /** The numbers of the variants. */
  readonly toMake?: readonly number[]
  readonly forced?: Partial<Forced>
}

const define =
  (changes?: Partial<Instance>, id = 'hero'): Step =>
  (world) =>
    world.define(id, changes)
const makes =
  (bytes: string, changes?: Parameters<SampleWorld['make']>[2], id = 'hero'): Step =>
  (world) =>
    world.make(id, bytes, changes)
const write =
  (bytes: string, path = 'assets/hero.png'): Step =>
  (world) =>
    world.write({ [path]: bytes })
const record =
  (bytes: string, rejected?: readonly string[]): Step =>
  (world) =>
    world.record('hero', bytes, rejected && { rejected })
const offer =
  (bytes: string, variant?: number): Step =>
  (world) =>
    world.offer('hero', bytes, variant)
const forget: Step = async (world) => world.results.remove(await world.keyOf('hero'))
const note =
  (event: object): Step =>
  async (world) =>
    world.history.note({ instance: 'hero', key: await world.keyOf('hero'), ...event } as JournalEvent)
const intent = { type: 'intent', variant: 1, idempotency_key: '1', creates: 1, cost: null }
const send = note(intent)
const sendToQueue = note({ ...intent, queue: 'a queue' })

const edited = { fields: textFields({ prompt: 'Another picture' }) }
const same = { fields: textFields({ prompt: 'A picture of hero' }) }
const asserted = { asserts: { width: 1 } }

const make = makes('one')
const makeSecond = makes('two', { variant: 2, picked: 2 })
const adopted = makes('one', { adopted: 'Ada, 2026-11-26' })
const keep: Step = (world) => world.keep('one')
const lose: Step = (world) => world.remove('assets/hero.png')
const paint = write('painted over')
const edit = define(edited)
const move = define({ output: 'assets/first.png' })
const discard = note({ type: 'discard' })
const failure = { exit_code: 9, code: 'refused', message: 'The gateway refused it.', billed: 'no' }

const again = { regenerate: new Set(['hero']) }
const force = { force: true }

const elsewhere = 'A request was sent to another queue: run it with that --queue to learn its outcome.'

type Row = [name: string, steps: readonly Step[], state: Assessment['state'], more?: More]

const rows: Row[] = [
  [
    'the file is gone, and its bytes were put aside',
    [make, lose, keep],
    'restorable',
    { reasons: ['assets/hero.png is missing.'] },
  ],
  [
    'the file is gone, and so are its bytes',
    [make, lose],
    'lost',
    { reasons: ['assets/hero.png is missing, and its bytes are not in .modelgate.'] },
  ],
  ['the file was changed by hand, and is asked for again', [make, paint], 'changed', { forced: again }],
  [
    'the file was changed by hand, and may be put aside',
    [make, paint, keep],
    'restorable',
    { forced: force, reasons: ['assets/hero.png is missing.'] },
  ],
  ['a folder is where the file was', [make, lose, write('', 'assets/hero.png/inside.txt')], 'changed'],
  [
    'a file is there that nobody has locked',
    [write('mine')],
    'in_the_way',
    { reasons: ['assets/hero.png is there, and is not locked.'] },
  ],
  ['a journal has a result whose bytes are gone', [record('one'), forget], 'new', { toMake: [1] }],
  ['the file is the result that a journal has', [record('one'), write('one')], 'restorable'],
  [
    'a rejected result, whose files are gone, is not made again',
    [record('bad one', ['It was bad.']), forget],
    'rejected',
    { reasons: ['It was bad.', 'Its files are gone.'] },
  ],
  [
    'a rejected result is asked for again',
    [define(asserted), offer('bad one')],
    'new',
    { forced: again, toMake: [1] },
  ],
  [
    'what is locked does not hold a new assert',
    [makes('bad one'), define(asserted)],
    'rejected',
    { reasons: ['It is bad.'] },
  ],
  [
    'another output has the same bytes, and must not',
    [define({}, 'other'), make, makes('one', {}, 'other'), define({ asserts: { not_duplicate: true } })],
    'rejected',
    { reasons: ['It is other again.'] },
  ],
  [
    'a request that may be repeated was given to a queue that is not asked',
    [define({ onUnknown: 'retry' }), sendToQueue],
    'unknown',
    { reasons: [elsewhere] },
  ],
  [
    'a request was given to the queue of this run',
    [sendToQueue, async (world) => world.inQueue.add(await world.keyOf('hero'))],
    'new',
    { reasons: ['It is with the queue.'], toMake: [1] },
  ],
  [
    'a request was sent, and its job is known',
    [send, note({ type: 'job', id: 'video_1', kind: 'video' })],
    'new',
    { reasons: ['Its job video_1 was started before.'], toMake: [1] },
  ],
  [
    'a request failed',
    [send, note({ type: 'failure', ...failure })],
    'new',
    { reasons: ['It failed before: The gateway refused it.'], toMake: [1] },
  ],
  ['a regeneration was not finished, and its outcome is unknown', [make, discard, send], 'unknown'],
  [
    'a regeneration failed: what was there before stays',
    [make, discard, send, note({ type: 'release', reason: 'not sent' })],
    'fresh',
  ],
  [
    'its output was moved, and the file already is there',
    [make, move, lose, write('one', 'assets/first.png')],
    'restorable',
  ],
  [
    'its output was moved, and another file is there',
    [make, move, write('mine', 'assets/first.png')],
    'in_the_way',
    { reasons: ['assets/first.png is there, and is not locked.'] },
  ],
  [
    'its output was moved, and the file was changed by hand',
    [make, move, paint],
    'changed',
    { reasons: ['assets/hero.png differs from the lock.'] },
  ],
  [
    'adopted, with another prompt',
    [adopted, edit],
    'adopted',
    { reasons: ['`prompt` changed.', 'It was adopted by Ada, 2026-11-26.'] },
  ],
  [
    'adopted, with another prompt, and the file is gone',
    [adopted, edit, lose, keep],
    'adopted',
    {
      reasons: ['`prompt` changed.', 'It was adopted by Ada, 2026-11-26.', 'assets/hero.png is missing.'],
    },
  ],
  [
    'adopted, with another prompt, and asked for again',
    [adopted, edit],
    'stale',
    { forced: again, toMake: [1] },
  ],
  ['adopted, with another prompt, and being made again', [adopted, edit, discard, send], 'unknown'],
  ['adopted, with another prompt, and made again', [adopted, edit, discard, record('two')], 'restorable'],
  ['frozen, with another prompt', [make, define({ ...edited, isFrozen: true })], 'fresh'],
  [
    'frozen, with nothing locked',
    [define({ isFrozen: true })],
    'blocked',
    { reasons: ['It is frozen, and none of it is locked.'] },
  ],
  [
    'some candidates are there',
    [define({ variants: 4 }), offer('one', 1), offer('three', 3)],
    'awaiting',
    { reasons: ['Candidates to pick from: 1, 3.'], toMake: [2, 4] },
  ],
  [
    'all candidates are there, one of them rejected',
    [define({ variants: 2, ...asserted }), offer('bad one', 1), offer('two', 2)],
    'awaiting',
    { reasons: ['Candidates to pick from: 2.', 'Candidate 1: It is bad.'] },
  ],
  [
    'the manifest picks a candidate that is not there: the others are not made',
    [define({ variants: 4, pick: 3 })],
    'new',
    { toMake: [3] },
  ],
  [
    'a candidate was picked, and the manifest picks another one',
    [define({ variants: 2 }), makeSecond, offer('one', 1), define({ variants: 2, pick: 1 })],
    'restorable',
  ],
  [
    'a candidate was picked, and the prompt differs: the pick is void',
    [define({ variants: 2 }), makeSecond, define({ variants: 2, ...edited })],
    'stale',
    { reasons: ['`prompt` changed.'], toMake: [1, 2] },
  ],
  [
    'a candidate was picked, and fewer are wanted now',
    [define({ variants: 4 }), makes('three', { variant: 3, picked: 3 }), define({ variants: 1 })],
    'fresh',
  ],
  [
    'of what was the only result, more are wanted',
    [make, define({ variants: 3 })],
    'awaiting',
    { reasons: ['Candidates to pick from: 1.'], toMake: [2, 3] },
  ],
  [
    'a candidate was picked, and the one with its number has other bytes now',
    [define({ variants: 2 }), makeSecond, offer('another two', 2), lose],
    'lost',
  ],
  [
    'an output of a job that is gone has the same bytes, which does not count',
    [
      define({}, 'other'),
      make,
      makes('one', {}, 'other'),
      (world) => world.undefine('other'),
      define({ asserts: { not_duplicate: true } }),
    ],
    'fresh',
  ],
  [
    'the same request has a file that was changed by hand: that is not its own',
    [define(same, 'other'), makes('one', {}, 'other'), write('painted over', 'assets/other.png'), keep],
    'restorable',
    { reasons: ['Its result was made before.'] },
  ],
  [
    'an adopted file has a name that would have an id',
    [
      define({ output: 'assets/{id}.png' }),
      makes('one', { outputs: [factsOf('assets/mine.png', 'one')], request_id: null, adopted: 'Ada' }),
      write('one', 'assets/mine.png'),
    ],
    'fresh',
  ],
]

test.each(rows)('%s', async (_, steps, state, { forced, reasons, toMake = [] } = {}) => {
  const world = createSampleWorld()
  world.define('hero')
  for (const step of steps) await step(world)
  const found = await world.assess('hero', forced)
  expect({
    state: found.state,
    reasons: found.reasons,
    toMake: found.toMake.map(({ number }) => number),
  }).toEqual({ state, reasons: reasons ?? found.reasons, toMake })
})
