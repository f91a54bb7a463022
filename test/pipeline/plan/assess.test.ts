import { expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/pipeline/journal/journal.ts'
import type { Instance } from '../../../src/pipeline/manifest/manifest.ts'
import type { Forced } from '../../../src/pipeline/plan/project-state.ts'
import { filesField, textField, valueField } from '../../support/pipeline-task.ts'
import { createSampleWorld, factsOf, tell, textFields, type SampleWorld, type Step } from './sample-world.ts'

// What may have happened to `hero`, whose output is assets/hero.png.
function define(changes?: Partial<Instance>, id = 'hero'): Step {
  return (world) => world.define(id, changes)
}
function makes(bytes: string, changes?: Parameters<SampleWorld['make']>[2], id = 'hero'): Step {
  return (world) => world.make(id, bytes, changes)
}
function write(bytes: string, path = 'assets/hero.png'): Step {
  return (world) => world.write({ [path]: bytes })
}
function record(bytes: string, rejected?: readonly string[]): Step {
  return (world) => world.record('hero', bytes, rejected && { rejected })
}
function offer(bytes: string, variant?: number): Step {
  return (world) => world.offer('hero', bytes, variant)
}
function note(event: object): Step {
  return async (world) =>
    world.history.note({ instance: 'hero', key: await world.keyOf('hero'), ...event } as JournalEvent)
}

const forget: Step = async (world) => world.results.remove(await world.keyOf('hero'))
const enqueue: Step = async (world) => world.inQueue.add(await world.keyOf('hero'))
const keep: Step = (world) => world.keep('one')
const keepBad: Step = (world) => world.keep('bad one')
const lose: Step = (world) => world.remove('assets/hero.png')

const intent = { type: 'intent', variant: 1, idempotency_key: '1', creates: 1, cost: null }
const send = note(intent)
const sendToQueue = note({ ...intent, queue: 'a queue' })
const refusal = { exit_code: 9, code: 'refused', message: 'The gateway refused it.', billed: 'no' }
const fail = note({ type: 'failure', ...refusal })
const discard = note({ type: 'discard' })
const release = note({ type: 'release', reason: 'not sent' })

const begin = note({ type: 'job', id: 'video_1', kind: 'video' })
const reject = record('bad one', ['It was bad.'])
const [one, two, three] = [offer('one', 1), offer('two', 2), offer('three', 3)]
const bad = offer('bad one', 1)

const edited = { fields: textFields({ prompt: 'Another picture' }) }
const asserted = { asserts: { width: 1 } }
const first = 'assets/first.png'

const make = makes('one')
const makeSecond = makes('two', { variant: 2, picked: 2 })
const makeThird = makes('three', { variant: 3, picked: 3 })
const adopt = makes('one', { adopted: 'Ada, 2026-11-26' })
const adoptMine = makes('one', {
  outputs: [factsOf('assets/mine.png', 'one')],
  request_id: null,
  adopted: 'Ada',
})
const mine = write('one', 'assets/mine.png')
const paint = write('painted over')
const edit = define(edited)
const several = (variants: number, changes?: Partial<Instance>) => define({ variants, ...changes })
const distinct = define({ asserts: { not_duplicate: true } })
const move = define({ output: first })
const arrive = write('one', first)
const anyType = define({ output: 'assets/first.{ext}' })
const obstruct = write('mine', 'assets/first.webp')

const prompt = textField('A picture of hero')
const sized = define({ fields: { prompt, size: valueField('1024x1024') } })
const attach = define({ fields: { prompt, attach: filesField('a.txt', 'b.txt') } })
const input: (bytes: string) => Step = (bytes) => (world) => world.write({ 'a.txt': bytes, 'b.txt': 'x' })
const fromFile = (text: string) =>
  define({ fields: { prompt: { kind: 'text', text, source: { path: 'hero.md' } } } })
const elsewhere = makes('one', { key: 'a'.repeat(64), fields: { $gateway: '6610e8fc04cf' } })

const other = define({}, 'other')
const same = define({ fields: { prompt } }, 'other')
const makeOther = makes('one', {}, 'other')
const paintOther = write('painted over', 'assets/other.png')
const drop: Step = (world) => world.undefine('other')

const again = { regenerate: new Set(['hero']) }
const force = { force: true }

type Row = [what: string, steps: readonly Step[], found: string, forced?: Partial<Forced>]

const missing = 'assets/hero.png is missing.'
const gone = 'lost: assets/hero.png is missing, and its bytes are not in .modelgate.'
const painted = 'changed: assets/hero.png differs from the lock.'
const queued = 'A request was sent to another queue: run it with that --queue to learn its outcome.'
const unknown = 'unknown: A request was sent, and its outcome is not known.'
const known = 'restorable: Its result was made before.'
const byAda = '`prompt` changed. It was adopted by Ada, 2026-11-26.'

test.each<Row>([
  // What is locked, and its file.
  ['gone, its bytes put aside', [make, lose, keep], `restorable: ${missing}`],
  ['gone, and so are its bytes', [make, lose], gone],
  ['changed by hand, and asked for again', [make, paint], painted, again],
  ['changed by hand, and may be put aside', [make, paint, keep], `restorable: ${missing}`, force],
  ['a folder is there', [make, lose, write('', 'assets/hero.png/inside.txt')], painted],
  ['a file is there', [write('mine')], 'in_the_way: assets/hero.png exists and is not locked.'],
  ['one of another type', [anyType, obstruct], 'in_the_way: assets/first.webp exists and is not locked.'],
  [
    'moved, it is there',
    [make, move, lose, arrive],
    'restorable: assets/hero.png is to be assets/first.png.',
  ],
  [
    'moved, another file is there',
    [make, move, write('mine', first)],
    `in_the_way: ${first} exists and is not locked.`,
  ],
  ['moved, and changed by hand', [make, move, paint], painted],
  ['a new assert does not hold', [makes('bad one'), define(asserted)], 'rejected: It is bad.'],
  ['so, and its file is gone', [makes('bad one'), keepBad, lose, define(asserted)], 'rejected: It is bad.'],
  ['another job has the same request', [same, makeOther], known],
  ['another output has its bytes', [other, make, makeOther, distinct], 'rejected: It is other again.'],
  ['that of a job that is gone has them', [other, make, makeOther, drop, distinct], 'fresh'],
  ['the same request has a file that was changed by hand', [same, makeOther, paintOther, keep], known],
  ['frozen, with another prompt', [make, define({ ...edited, isFrozen: true })], 'fresh'],
  ['frozen', [define({ isFrozen: true })], 'blocked: It is frozen, and none of it is locked.'],
  // Each field that differs is named, with its files.
  [
    'the prompt of a file changed',
    [fromFile('dawn'), make, fromFile('dusk')],
    'stale, to make 1: `prompt` changed (hero.md).',
  ],
  ['a field is new', [make, sized], 'stale, to make 1: `size` was added.'],
  ['a field is gone', [sized, make, define()], 'stale, to make 1: `size` was removed.'],
  [
    'an input changed',
    [input('x\n'), attach, make, input('y\n')],
    'stale, to make 1: `attach` changed (a.txt, b.txt).',
  ],
  ['an input was checked out on Windows', [input('x\n'), attach, make, input('\ufeffx\r\n')], 'fresh'],
  [
    'of a gateway',
    [elsewhere],
    'stale, to make 1: `command` was added. `prompt` was added. `gateway` was removed.',
  ],
  // Adopted, and the prompt has changed.
  ['adopted', [adopt, edit], `adopted: ${byAda}`],
  ['adopted, the file is gone', [adopt, edit, lose, keep], `adopted: ${byAda} ${missing}`],
  ['adopted, asked for again', [adopt, edit], 'stale, to make 1: It is to be generated again.', again],
  ['adopted, being made again', [adopt, edit, discard, send], unknown],
  ['adopted, made again', [adopt, edit, discard, record('two')], known],
  ['adopted, where the name has an id', [define({ output: 'assets/{id}.png' }), adoptMine, mine], 'fresh'],
  // Journals and results.
  ['a result whose bytes are gone', [record('one'), forget], 'new, to make 1'],
  ['the file is a known result', [record('one'), write('one')], known],
  ['rejected, its files are gone', [reject, forget], 'rejected: It was bad. Its files are gone.'],
  ['rejected, and asked for again', [define(asserted), offer('bad one')], 'new, to make 1', again],
  ['sent to another queue', [define({ onUnknown: 'retry' }), sendToQueue], `unknown: ${queued}`],
  ['sent to the queue of this run', [sendToQueue, enqueue], 'new, to make 1: It is with the queue.'],
  ['sent, and its job is known', [send, begin], 'new, to make 1: Its job video_1 was started before.'],
  ['failed', [send, fail], 'new, to make 1: It failed before: The gateway refused it.'],
  ['a regeneration of unknown outcome', [make, discard, send], unknown],
  ['a regeneration that was not sent', [make, discard, send, release], 'fresh'],
  // Candidates.
  ['some', [several(4), one, three], 'awaiting, to make 2 4: Candidates to pick from: 1, 3.'],
  [
    'all, one rejected',
    [several(2, asserted), bad, two],
    'awaiting: Candidates to pick from: 2. Candidate 1: It is bad.',
  ],
  ['the manifest picks one that is not there', [several(4, { pick: 3 })], 'new, to make 3'],
  ['the manifest picks another one', [several(2), makeSecond, one, several(2, { pick: 1 })], known],
  [
    'of another prompt',
    [several(2), makeSecond, several(2, edited)],
    'stale, to make 1 2: `prompt` changed.',
  ],
  ['one was picked, and fewer are wanted', [several(4), makeThird, several(1)], 'fresh'],
  ['more are wanted', [make, several(3)], 'awaiting, to make 2 3: Candidates to pick from: 1.'],
  ['the picked one has other bytes now', [several(2), makeSecond, offer('another two', 2), lose], gone],
])('%s', async (_, steps, found, forced) => {
  const world = createSampleWorld({ hero: {} })
  for (const step of steps) await step(world)
  expect(tell(await world.assess('hero', forced))).toBe(found)
})
