import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLedger, type Ledger, type NewEntry } from '../../src/files/ledger.ts'
import { failureOf } from '../support/config-place.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { withFsHook } from '../support/fs-faults.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { runs } from '../support/sample.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const text: NewEntry = { count: 1, of: 'text', model: 'm', amount: null, currency: null }
const some = (count: number): NewEntry => ({ ...text, count })

function place(start = noon) {
  const state = join(temporaryFolder(), 'state')
  let chance = 0
  // Every id is another one.
  const random = () => (chance = (chance + 0.618_033_988_75) % 1)
  const clock = fakeClock({ start, random })
  const file = join(state, 'ledger/2026-11.jsonl')
  return { state, clock, file, ledger: openLedger(state, clock) }
}

const total = (ledger: Ledger, id?: string, since = 0) =>
  ledger.createdBefore(since, id).reduce((sum, { count }) => sum + count, 0)

test('a creation is a line that only the user may read', async () => {
  const { ledger, file } = place()
  const id = await ledger.add(
    { count: 2, of: 'image', model: 'painter', amount: '0.08', currency: 'USD' },
    true,
  )
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    time: '2026-11-22T12:00:00.000Z',
    id,
    count: 2,
    of: 'image',
    model: 'painter',
    amount: '0.08',
    currency: 'USD',
  })
  expect(id).toMatch(/^[0-9a-f]{16}$/)
  expect([statSync(file).mode & 0o777, statSync(join(file, '..')).mode & 0o777]).toEqual([0o600, 0o700])
})

test('what stands before an entry counts, what stands behind it does not', async () => {
  const { ledger } = place()
  await ledger.add(some(3), false)
  const own = await ledger.add(some(5), false)
  await ledger.add(some(7), false)
  expect(total(ledger, own)).toBe(3)
  expect(total(ledger)).toBe(15)
})

test('what is given back no longer counts, wherever that stands; a cost is what was said last', async () => {
  const { ledger } = place()
  const first = await ledger.add({ ...some(3), amount: '1', currency: 'USD' }, false)
  const second = await ledger.add(some(4), false)
  const own = await ledger.add(some(5), false)
  await ledger.giveBack(second)
  await ledger.correct(first, { amount: '0.5', currency: 'USD' })
  expect(ledger.createdBefore(0, own)).toEqual([{ id: first, count: 3, amount: '0.5', currency: 'USD' }])
})

test('a job leads to its creation, and changes nothing of it', async () => {
  const { ledger } = place()
  const id = await ledger.add({ ...some(1), amount: '2', currency: 'USD' }, false)
  await ledger.noteJob(id, 'resp_1')
  await ledger.add(some(1), false)
  expect(ledger.creationOf('resp_1')).toBe(id)
  expect(ledger.creationOf('resp_')).toBeUndefined()
  expect(ledger.createdBefore(0)[0]).toEqual({ id, count: 1, amount: '2', currency: 'USD' })
})

test('only what was created since the time counts, over months', async () => {
  const { ledger, clock, file, state } = place(Date.UTC(2026, 10, 30, 23, 59))
  await ledger.add(some(1), false)
  await clock.advance(30_000)
  await ledger.add(some(2), false)
  await clock.advance(60_000)
  const own = await ledger.add(some(4), false)
  expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(3)
  expect(total(ledger, own, Date.UTC(2026, 10, 30, 23, 59, 30))).toBe(2)
  expect(total(ledger, own, Date.UTC(2026, 10, 1))).toBe(3)
  expect(total(ledger, own, Date.UTC(2026, 11, 1))).toBe(0)
  // Whoever writes into the earlier file now may have come later: the others' lines are ahead by their clocks alone.
  const behind = openLedger(state, fakeClock({ start: Date.UTC(2026, 10, 30, 23), random: () => 0.1 }))
  expect(total(behind, await behind.add(some(1), false))).toBe(7)
})

test('what a crash has torn is counted as one, and the lines around it as they are', async () => {
  const { ledger, clock, file, state } = place()
  await ledger.add(some(3), false)
  appendFileSync(file, '{"time":"2026-11-22T12:00:00.000Z","id":"torn","cou')
  await ledger.add(some(5), false)
  appendFileSync(file, '{"time":"2026-11-22T12:00:00.000Z"\n')
  const own = await ledger.add(some(1), false)
  expect(total(ledger, own)).toBe(3 + 1 + 5 + 1)
  const glued = readFileSync(file, 'utf8').replace('"cou\n', '"cou')
  writeFileSync(file, glued)
  // Nobody has read it before.
  expect(total(openLedger(state, clock), own)).toBe(3 + 1 + 5 + 1)
})

test.each([
  ['NULs', '\0\0\0\0'],
  ['noise', '\u009d\u0012#+'],
  ['NULs in place of the end of a line', '{"time":"2026-11-22T12:00:00.000Z","id":"a","count":9}\0'],
  ['a record of which a bracket has flipped', '{"time":"2026-11-22T12:00:00.000Z","id":"a","count":9[}'],
])('damage refuses whatever is to be counted, with the line: %s', async (_, damage) => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  appendFileSync(file, damage)
  const own = await ledger.add(some(1), false)
  const error = await Promise.resolve()
    .then(() => ledger.createdBefore(noon, own))
    .catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ exitCode: 15, code: 'ledger_damaged', facts: { billed: 'no' } })
  expect((error as Error).message).toMatch(/^Line 2 of .*2026-11\.jsonl" is damaged/)
})

test('of a line that follows on a single character both count', async () => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  writeFileSync(file, `{${readFileSync(file, 'utf8')}`)
  expect(total(ledger)).toBe(1 + 3)
})

test('a line that is being written counts as one, and then as what it says', async () => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  const line = '{"time":"2026-11-22T12:00:00.000Z","id":"x","count":5}'
  appendFileSync(file, line.slice(0, 30))
  expect(total(ledger)).toBe(3 + 1)
  appendFileSync(file, line.slice(30))
  // It says all, although its end is still to come.
  expect(total(ledger)).toBe(3 + 5)
  appendFileSync(file, '\n')
  expect(total(ledger)).toBe(3 + 5)
})

test('an empty line is nothing', async () => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  appendFileSync(file, '\n\n')
  await ledger.add(some(4), false)
  expect(total(ledger)).toBe(7)
})

test('a file that goes while it is read holds nothing', async () => {
  const { ledger } = place()
  await ledger.add(some(3), false)
  const gone = () => {
    const fail = (name: string) =>
      name === 'openSync' ? Object.assign(new Error('injected'), { code: 'ENOENT' }) : undefined
    return withFsHook(
      (_, call) => call(),
      () => Promise.resolve(total(ledger)),
      fail,
    )
  }
  expect(await gone()).toBe(0)
  expect(total(ledger)).toBe(3)
})

test('a torn line of a day that is over does not count', async () => {
  const { ledger, clock, file } = place()
  await ledger.add(some(3), false)
  appendFileSync(file, '{"time":"2026-11-22T12:00:00.000Z","id":"torn","cou')
  await clock.advance(86_400_000)
  const own = await ledger.add(some(1), false)
  expect(total(ledger, own, noon + 3_600_000)).toBe(0)
})

test('whoever finds its own line gone must not go on', async () => {
  const { ledger, state, file } = place()
  const own = await ledger.add(text, false)
  rmSync(join(file, '..'), { recursive: true })
  expect(await failureOf(() => ledger.createdBefore(0, own))).toContain('10 ledger_changed')
  mkdirSync(join(state, 'ledger'))
  expect(total(ledger)).toBe(0)
})

test('without a state folder nothing can be counted; to give back is then no failure', async () => {
  const ledger = openLedger(undefined, fakeClock())
  expect(await failureOf(() => ledger.add(text, false))).toContain('10 no_state_folder')
  await ledger.giveBack('x')
  await ledger.correct('x', { amount: '1', currency: 'USD' })
})

test('what is missing is told, and that nothing was billed', async () => {
  const none = openLedger(undefined, fakeClock())
  await expect(none.add(text, false)).rejects.toMatchObject({
    message: 'Nothing can be counted: there is no home directory.',
    facts: { billed: 'no', hint: 'Set HOME, XDG_STATE_HOME or MODELGATE_STATE_DIR.' },
  })
  expect(() => none.createdBefore(0)).toThrow('there is no home directory')
  expect(none.creationOf('resp_1')).toBeUndefined()
  const { ledger, state, file } = place()
  const own = await ledger.add(text, false)
  rmSync(file)
  expect(() => ledger.createdBefore(0, own)).toThrow(
    expect.objectContaining({
      message: `The counts in "${join(state, 'ledger')}" are gone: the files there were changed.`,
      facts: { phase: 'output', billed: 'no', hint: 'Run it again.' },
    }),
  )
})

test('whoever asks for all of it reads on, and finds what was added and what is gone', async () => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  expect(total(ledger)).toBe(3)
  await ledger.add(some(4), false)
  expect(total(ledger)).toBe(7)
  rmSync(file)
  // Only an own line that is missing shows that the file is another one.
  expect(total(ledger, await ledger.add(some(1), false))).toBe(0)
})

test('a secret that was given in place of a model is taken out', async () => {
  const { state, clock, file } = place()
  const ledger = openLedger(state, clock, (json) => json.replace('sk-secret', '<hidden>'))
  await ledger.add({ ...text, model: 'sk-secret' }, false)
  expect(readFileSync(file, 'utf8')).toContain('"model":"<hidden>"')
})

test('the job of a creation is looked for in all months, and told only with an id', async () => {
  const { ledger, clock, file } = place()
  const id = await ledger.add(some(1), false)
  await ledger.noteJob(id, 'resp_1')
  await ledger.noteJob(id, 'a"b')
  await clock.advance(31 * 86_400_000)
  await ledger.add(some(1), false)
  expect(ledger.creationOf('resp_1')).toBe(id)
  expect(ledger.creationOf('a"b')).toBe(id)
  // A later line of the same job is damaged: the one before it in another month still counts.
  appendFileSync(file.replace('11.jsonl', '12.jsonl'), '{"job":"resp_1"}\n')
  expect(ledger.creationOf('resp_1')).toBe(id)
  appendFileSync(file.replace('11.jsonl', '12.jsonl'), '{"id":"x","job":"resp_1"\n')
  expect(ledger.creationOf('resp_1')).toBe(id)
})

test('a correction is of an entry that is there, and says how much', async () => {
  const { ledger, file } = place()
  const id = await ledger.add({ ...some(1), amount: '2', currency: 'USD' }, false)
  await ledger.correct('gone', { amount: '9', currency: 'USD' })
  appendFileSync(file, `{"time":"2026-11-22T12:00:00.000Z","id":"${id}","amount":7,"currency":"EUR"}\n`)
  expect(ledger.createdBefore(0)).toEqual([{ id, count: 1, amount: '2', currency: 'USD' }])
})

test('the files of other months are not read where they cannot count', async () => {
  const { ledger, file } = place()
  await ledger.add(some(3), false)
  // It could not be read as a file.
  mkdirSync(file.replace('11.jsonl', '10.jsonl'))
  expect(total(ledger, undefined, Date.UTC(2026, 10, 1))).toBe(3)
  expect(await failureOf(() => total(ledger, undefined, Date.UTC(2026, 9, 31)))).toMatch(/^10 /)
})

test('a file where the folder should be is told as such', async () => {
  const { ledger, state } = place()
  mkdirSync(state)
  writeFileSync(join(state, 'ledger'), '')
  expect(await failureOf(() => ledger.add(text, false))).toMatch(/^10 \w+ \(output\)\n.*cannot be written/)
})

// Each process appends, looks, and gives back what is too much or was not accepted, in whatever order they get to run.
test('processes together never exceed a limit, however they are interleaved', async () => {
  const process = fc.record({ count: fc.integer({ min: 1, max: 4 }), isAccepted: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(
      fc.scheduler(),
      fc.array(process, { minLength: 2, maxLength: 8 }),
      async (schedule, all) => {
        const { ledger } = place()
        const limit = 6
        let created = 0
        const step = <Value>(action: () => Value | Promise<Value>) =>
          schedule.schedule(Promise.resolve()).then(action)
        const runs = all.map(async ({ count, isAccepted }) => {
          const id = await step(() => ledger.add(some(count), false))
          const isAdmitted = await step(() => total(ledger, id) + count <= limit)
          if (isAdmitted && isAccepted) created += count
          else await step(() => ledger.giveBack(id))
        })
        await schedule.waitFor(Promise.all(runs))
        expect(created).toBeLessThanOrEqual(limit)
        expect(total(ledger)).toBe(created)
      },
    ),
    runs(60),
  )
})

// A run asks again and again, and reads only what has been added.
test('who asks again is told the same as who asks for the first time', async () => {
  const torn = ['{"time":"2026-11-22T12:00', '{"time":"2026-11-22T12:00:00.000Z","id":"torn","count":2}']
  const step = fc.oneof(
    fc.record({ does: fc.constant('add'), count: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ does: fc.constantFrom('giveBack', 'correct'), at: fc.nat() }),
    fc.record({ does: fc.constant('tear'), text: fc.constantFrom(...torn) }),
    fc.record({ does: fc.constant('wait'), days: fc.constantFrom(1, 9) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { ledger, state, clock, file } = place()
      const ids = [await ledger.add(some(1), false)]
      for (const one of steps) {
        if ('count' in one) ids.push(await ledger.add(some(one.count), false))
        else if ('text' in one) appendFileSync(file, `\n${one.text}`)
        else if ('days' in one) await clock.advance(one.days * 86_400_000)
        else if (one.does === 'giveBack') await ledger.giveBack(ids[one.at % ids.length]!)
        else await ledger.correct(ids[one.at % ids.length]!, { amount: String(one.at), currency: 'USD' })
        const own = await ledger.add(some(1), false)
        const sorted = (one: Ledger) =>
          one
            .createdBefore(noon, own)
            .map((entry) => JSON.stringify(entry))
            .toSorted()
        expect(sorted(ledger)).toEqual(sorted(openLedger(state, clock)))
      }
    }),
    runs(100),
  )
})

test('a file that somebody has replaced is read from its beginning', async () => {
  const { ledger, file } = place()
  for (let count = 1; count <= 4; count++) await ledger.add(some(count), false)
  expect(total(ledger)).toBe(10)
  writeFileSync(file, readFileSync(file, 'utf8').split('\n').slice(3).join('\n'))
  expect(total(ledger, await ledger.add(some(1), false))).toBe(4)
})

test('reading leaves no file open', { skip: !existsSync('/proc/self/fd') }, async () => {
  const { ledger, file } = place()
  // A descriptor that is gone again was that of the folder.
  const open = () =>
    readdirSync('/proc/self/fd').filter((descriptor) => {
      try {
        return readlinkSync(join('/proc/self/fd', descriptor)) === file
      } catch {
        return false
      }
    })
  await ledger.add(some(1), false)
  total(ledger)
  ledger.creationOf('resp_1')
  expect(open()).toEqual([])
})
