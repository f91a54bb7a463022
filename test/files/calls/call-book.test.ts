import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CallBook, callsFolder } from '../../../src/files/calls/call-book.ts'
import { CallReader, countsBefore, openCalls } from '../../../src/files/calls/read-calls.ts'
import { openLine } from '../../../src/files/sealed-lines.ts'
import { recordCall, type RecordedCall } from '../../support/call-records.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { runs } from '../../support/sample.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const start = { command: 'image create', cwd: '/home/x', model: 'm' }
const some = (count: number) => ({ count, amount: null, currency: null, ...start })

/** A book in an empty state folder, every id of which is another one. */
function place(now = noon) {
  const state = join(temporaryFolder(), 'state')
  let chance = 0
  const random = () => (chance = (chance + 0.618_033_988_75) % 1)
  const clock = fakeClock({ start: now, random })
  const folder = callsFolder(state)
  const file = join(folder, '2026-11.jsonl')
  const lines = () =>
    readFileSync(file)
      .toString('latin1')
      .split('\n')
      .slice(0, -1)
      .map((line) => openLine(Buffer.from(line, 'latin1')))
  return {
    state,
    clock,
    folder,
    file,
    book: new CallBook(state, clock),
    lines,
    reader: () => new CallReader(folder),
  }
}

/** What was counted before a call; a damaged line counts as one. */
function createdBefore(folder: string, id: string, since = 0, read = new Map<string, number>()) {
  const counts = [...countsBefore(id, folder, since, read)]
  return counts.reduce((sum, { count }) => sum + (count?.count ?? 1), 0)
}

const idsIn = (reader: CallReader) => [...reader.calls()].map(({ facts }) => facts.id)

describe('a call', () => {
  test('is on the disk before its request is sent, where only the user may read it', async () => {
    const { book, file, folder, lines } = place()
    await book.open()
    const id = book.begin({ count: 2, amount: '0.08', currency: 'USD', ...start })
    expect(lines()).toEqual([
      {
        id,
        at: '2026-11-22T12:00:00.000Z',
        type: 'begin',
        count: 2,
        amount: '0.08',
        currency: 'USD',
        command: 'image create',
        cwd: '/home/x',
        model: 'm',
        check: expect.stringMatching(/^[0-9a-f]{8}$/),
      },
    ])
    expect(id).toMatch(/^[0-9a-f]{16}$/)
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test('that was killed is one of unknown outcome; one that ended has its facts, and its words apart', async () => {
    const { book, folder, file, reader } = place()
    await book.open()
    const [killed, first, second] = [book.begin(some(1)), book.begin(some(1)), book.begin(some(1))]
    const end = { time: '2026-11-22T11:59:58.000Z', duration_ms: 2000, ...start, exit_code: 0, files: [] }
    const words = { arguments: ['image', 'create', 'secret'], prompt: 'secret', reply: { text: 'Hi' } }
    await book.end([first, second], end, words)
    const calls = [...reader().calls()].map(({ facts, words: said }) => ({ ...facts, said: said() }))
    expect(calls).toMatchObject([
      { id: first, ...end, said: words },
      { id: killed, exit_code: null, error: { code: 'unfinished', billed: 'maybe' }, said: {} },
    ])
    expect(readFileSync(file, 'utf8')).not.toContain('secret')
    expect(statSync(join(folder, 'words', `${first}.json`)).mode & 0o777).toBe(0o600)
  })

  test('has ended even if its words cannot be kept, which is told', async () => {
    const { book, folder, reader } = place()
    await book.open()
    writeFileSync(join(folder, 'words'), 'in the way')
    const end = { time: '2026-11-22T11:59:58.000Z', duration_ms: 2000, ...start, exit_code: 0, files: [] }
    await expect(book.end([book.begin(some(1))], end, { prompt: 'Hi' })).rejects.toMatchObject({
      exitCode: 10,
    })
    expect([...reader().calls()]).toMatchObject([{ facts: { exit_code: 0 } }])
  })

  test('that was given back has not been one', async () => {
    const { book, reader } = place()
    await book.open()
    book.correct(book.begin(some(1)), { count: -1, was: null, currency: null })
    expect(idsIn(reader())).toEqual([])
    expect([...reader().endedSince(0, { read: {}, begun: {} })]).toEqual([])
  })

  test('of a run is counted, and listed nowhere', async () => {
    const { book, reader } = place()
    await book.open()
    book.begin({ count: 1, amount: null, currency: null, model: 'm' })
    expect(idsIn(reader())).toEqual([])
  })

  test('is read back whatever was said in it', async () => {
    const { state, reader } = place()
    const any = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(any, async (texts) => {
        for (const prompt of texts)
          await recordCall(state, { arguments: [prompt], prompt, model: prompt, reply: { prompt } })
        const calls = [...reader().calls()].slice(0, texts.length)
        const read = calls.map(({ facts, words }) => [facts.model, words().prompt, words().reply?.['prompt']])
        expect(read).toEqual(texts.toReversed().map((text) => [text, text, text]))
      }),
      runs(30),
    )
  })

  test('of which the words cannot be read is no call without words', async () => {
    const { state, folder, reader } = place()
    const words = join(folder, 'words', `${'a'.repeat(16)}.json`)
    await recordCall(state, { id: 'a'.repeat(16), arguments: [] })
    writeFileSync(words, '{"prompt":"cu')
    const calls = reader()
    expect([...calls.calls()].map((call) => call.words())).toEqual([{}])
    expect(calls.damaged).toBe(1)
    rmSync(words)
    mkdirSync(words)
    expect(() => [...reader().calls()][0]?.words()).toThrow(`"${words}" cannot be read: it is a folder.`)
  })

  const thought = { text: 'Hm. ', thought: true }
  const message = { type: 'message', content: [{ type: 'output_text', text: 'Half ' }] }
  test.each<[string, number, Readonly<Record<string, unknown>>]>([
    ['parts', 1, { text: 'Half done', content: { parts: [{ text: 'Half ' }, thought, { text: 'done' }] } }],
    ['messages', 1, { text: 'Half ', output: [{ type: 'reasoning', id: 'rs_1' }, message] }],
    ['messages that lack some of it', 2, { text: 'Half done', output: [message] }],
  ])('has the text of its answer once beside its %s', async (_, times, reply) => {
    const { state, folder, reader } = place()
    await recordCall(state, { id: 'a'.repeat(16), arguments: [], reply })
    expect(readFileSync(join(folder, 'words', `${'a'.repeat(16)}.json`), 'utf8').split('Half ')).toHaveLength(
      times + 1,
    )
    expect([...reader().calls()][0]?.words().reply).toEqual(reply)
  })

  test('is in the file of its month; the newest comes first', async () => {
    const { state, folder, reader } = place()
    const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(16))
    for (const [at, id] of ids.entries())
      await recordCall(state, { id }, at < 2 ? noon : Date.UTC(2026, 11, 1))
    expect(readdirSync(folder)).toEqual(['2026-11.jsonl', '2026-12.jsonl', 'version'])
    expect(idsIn(reader())).toEqual(ids.toReversed())
    for (const name of ['2026-13.jsonl', '2026-11.jsonl~'])
      writeFileSync(join(folder, name), readFileSync(join(folder, '2026-12.jsonl')))
    expect(idsIn(reader())).toEqual(ids.toReversed())
  })

  test('is found by the contents of a file that it wrote', async () => {
    const { state, reader } = place()
    const file = { path: '/a.png', bytes: 5, sha256: 'a'.repeat(64), format: 'png' }
    await recordCall(state, { id: 'a'.repeat(16), files: [file] })
    await recordCall(state, {
      id: 'b'.repeat(16),
      files: [{ ...file, sha256: 'b'.repeat(64) }],
      model: 'a'.repeat(60),
    })
    expect([...reader().calls([file.sha256])].map(({ facts }) => facts.id)).toEqual(['a'.repeat(16)])
  })

  test('holds no secret, in its facts or its words', async () => {
    const { state, clock, file, folder } = place()
    const book = new CallBook(state, clock, (json) => json.replaceAll('sk-secret', '<hidden>'))
    await book.open()
    const id = book.begin({ ...some(1), model: 'sk-secret' })
    const end = {
      ...start,
      time: '2026-11-22T12:00:00.000Z',
      duration_ms: 1,
      exit_code: 0,
      files: [],
      model: 'sk-secret',
    }
    await book.end([id], end, { prompt: 'sk-secret' })
    expect(
      readFileSync(file, 'utf8') + readFileSync(join(folder, 'words', `${id}.json`), 'utf8'),
    ).not.toContain('sk-')
    expect([...new CallReader(folder).calls()][0]?.facts.model).toBe('<hidden>')
  })
})

describe('what was created', () => {
  test('before a call counts, and what came after it does not', async () => {
    const { book, folder } = place()
    await book.open()
    book.begin(some(3))
    const own = book.begin(some(5))
    book.begin(some(7))
    expect(createdBefore(folder, own)).toBe(3)
  })

  test('counts since a time, over months, also where a clock was ahead', async () => {
    const { book, clock, folder, state } = place(Date.UTC(2026, 10, 30, 23, 59))
    await book.open()
    book.begin(some(1))
    await clock.advance(30_000)
    book.begin(some(2))
    await clock.advance(60_000)
    const own = book.begin(some(4))
    expect(createdBefore(folder, own, Date.UTC(2026, 10, 30, 23, 59, 30))).toBe(2)
    expect(createdBefore(folder, own, Date.UTC(2026, 10, 1))).toBe(3)
    expect(createdBefore(folder, own, Date.UTC(2026, 11, 1))).toBe(0)
    const behind = new CallBook(state, fakeClock({ start: Date.UTC(2026, 10, 30, 23), random: () => 0.1 }))
    await behind.open()
    expect(createdBefore(folder, behind.begin(some(1)))).toBe(7)
  })

  test('is read once by whoever asks again, its own calls among it', async () => {
    const { book, folder } = place()
    await book.open()
    const read = new Map<string, number>()
    const seen = [1, 2, 3].map((count) => createdBefore(folder, book.begin(some(count)), 0, read))
    expect(seen).toEqual([0, 1, 2])
  })

  test.each<[string, string, number]>([
    ['NULs', '\0\0\0\0\n', 1],
    ['noise', '\u009d\u0012#+\n', 1],
    [
      'a line without its checksum',
      '{"id":"0123456789abcdef","at":"2026-11-22T12:00:00.000Z","type":"begin","count":9}\n',
      1,
    ],
    ['a line that was cut by a kill', '{"id":"0123456789abcdef","at":"2026-11-22T12:00', 0],
    ['empty lines', '\n\n', 0],
  ])('is one for each damaged line, since it could be that of a creation: %s', async (_, damage, count) => {
    const { book, file, folder, reader } = place()
    await book.open()
    book.begin(some(3))
    appendFileSync(file, damage)
    const own = book.begin(some(1))
    expect(createdBefore(folder, own)).toBe(3 + count)
    const calls = reader()
    expect([idsIn(calls).length, calls.damaged]).toEqual([2, count])
  })

  test('is told for every line of which a byte has flipped', async () => {
    const { book, file, folder } = place()
    await book.open()
    book.begin({ count: 3, amount: '0.5', currency: 'USD', ...start })
    const whole = readFileSync(file)
    const own = book.begin(some(1))
    const rest = readFileSync(file).subarray(whole.length)
    for (let at = 0; at < whole.length - 1; at++) {
      const flipped = Buffer.from(whole)
      flipped[at] = flipped[at]! ^ 1
      writeFileSync(file, Buffer.concat([flipped, rest]))
      const counts = [...countsBefore(own, folder, 0, new Map())]
      expect(counts.filter(({ count }) => count === undefined).length, `byte ${at}`).toBeGreaterThan(0)
    }
  })

  test('cannot be told where the records are gone', async () => {
    const { book, folder } = place()
    await book.open()
    const own = book.begin(some(1))
    rmSync(join(folder, '2026-11.jsonl'))
    expect(() => createdBefore(folder, own)).toThrow(
      expect.objectContaining({ code: 'file_changed', exitCode: 10 }),
    )
  })

  // Each process begins, looks, and gives back what is too much or was not accepted, in whatever order they get to run.
  test('by several processes never exceeds a limit, however they are interleaved', async () => {
    const process = fc.record({ count: fc.integer({ min: 1, max: 4 }), isAccepted: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(process, { minLength: 2, maxLength: 8 }),
        async (schedule, all) => {
          const { book, folder } = place()
          await book.open()
          let created = 0
          const step = <Value>(action: () => Value) => schedule.schedule(Promise.resolve()).then(action)
          const ends = all.map(async ({ count, isAccepted }) => {
            const id = await step(() => book.begin(some(count)))
            const isAdmitted = await step(() => createdBefore(folder, id) + count <= 6)
            if (isAdmitted && isAccepted) created += count
            else await step(() => book.correct(id, { count: -count, was: null, currency: null }))
          })
          await schedule.waitFor(Promise.all(ends))
          expect(created).toBeLessThanOrEqual(6)
          expect(createdBefore(folder, book.begin(some(1)))).toBe(created)
        },
      ),
      runs(60),
    )
  })
})

describe('to forget', () => {
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(16))
  const at = (hour: number, more: RecordedCall = {}): [RecordedCall, number] => {
    const now = Date.UTC(2026, 10, 22, hour)
    return [{ arguments: [], prompt: 'secret', model: 'secret', ...more }, now]
  }

  test('takes away words and facts, in place, and leaves what is counted', async () => {
    const { state, book, clock, folder, file, reader } = place(Date.UTC(2026, 10, 22, 0))
    await book.open()
    book.begin({ ...some(5), model: 'secret' })
    for (const [hour, id] of ids.entries()) await recordCall(state, ...at(hour + 1, { id }))
    const { size } = statSync(file)
    expect(reader().forget(Date.UTC(2026, 10, 22, 2, 30), new Set())).toBe(2)
    expect(idsIn(reader())).toEqual([ids[2]])
    expect(readdirSync(join(folder, 'words'))).toEqual([`${ids[2]}.json`])
    // In place, so that nothing is lost that others append meanwhile.
    expect(statSync(file).size).toBe(size)
    await clock.advance(3_600_000)
    expect(createdBefore(folder, book.begin(some(1)))).toBe(5)
    writeFileSync(join(folder, 'words', 'left.json'), '{}')
    expect(reader().forget(Infinity, new Set())).toBe(1)
    expect([readdirSync(join(folder, 'words')), readFileSync(file, 'utf8').includes('secret')]).toEqual([
      [],
      false,
    ])
    expect(reader().forget(Infinity, new Set())).toBe(0)
  })
})

test('without a home nothing can be recorded, and there is nothing to read', async () => {
  const book = new CallBook(undefined, fakeClock())
  await expect(book.open()).rejects.toMatchObject({ code: 'no_state_folder', exitCode: 10 })
  expect(idsIn(await openCalls(undefined))).toEqual([])
})

test('records of a newer version are left alone', async () => {
  const { state, folder } = place()
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'version'), '2\n')
  await expect(openCalls(state)).rejects.toMatchObject({ code: 'other_version', exitCode: 10 })
  await expect(recordCall(state, {})).rejects.toMatchObject({ code: 'other_version' })
})

test('a file that cannot be written, or not be read, is told', async () => {
  const { state, file, reader } = place()
  mkdirSync(file, { recursive: true })
  await expect(recordCall(state, {}, noon)).rejects.toThrow(`"${file}" cannot be written: it is a folder.`)
  expect(() => idsIn(reader())).toThrow(`"${file}" cannot be read: it is a folder.`)
})

test.skipIf(process.getuid?.() === 0)('a folder that may not be written is told', async () => {
  const { state, folder } = place()
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o500)
  await expect(recordCall(state, {}, noon)).rejects.toThrow('cannot be written: permission denied.')
})
