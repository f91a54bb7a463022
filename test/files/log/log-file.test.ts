import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { array, assert, asyncProperty, string } from 'fast-check'
import { expect, test } from 'vitest'
import { FileError } from '../../../src/errors.ts'
import type { LogEntry } from '../../../src/files/log/log-entry.ts'
import { appendEntry, callsOfFiles, clearLog, logFolder, openLog } from '../../../src/files/log/log-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { runs } from '../../support/sample.ts'

const november = Date.UTC(2026, 10, 22, 9)
const december = Date.UTC(2026, 11, 1)

/** An entry with everything that `history: full` has. */
function entryCalled(id: string, more: Partial<LogEntry> = {}): LogEntry {
  return {
    version: 1,
    id: `log_${id}`,
    time: '2026-11-22T08:59:58.000Z',
    duration_ms: 2000,
    command: 'generate',
    cwd: '/home/a b/project',
    exit_code: 0,
    files: [],
    arguments: ['generate', 'Hello'],
    prompt: 'Hello',
    request: { contents: [{ parts: [{ text: 'Hello' }] }] },
    reply: { text: 'Hi' },
    ...more,
  }
}

function newLog(): { folder: string; path: string; add(entry: LogEntry, now?: number): Promise<void> } {
  const folder = logFolder(join(temporaryFolder(), 'state'))
  const clean = (json: string) => json
  return {
    folder,
    path: join(folder, '2026-11.jsonl'),
    add: (entry, now = november) => appendEntry(folder, entry, { now, clean }),
  }
}

const ids = (folder: string) => [...openLog(folder).calls()].map(({ number, facts }) => [number, facts.id])

test('an entry is read back as it was written, from a folder and a file that only the user may read', async () => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  const [call, ...others] = openLog(folder).calls()
  expect(call?.entry()).toEqual(entryCalled('a'))
  expect(others).toEqual([])
  expect(call?.facts).toEqual({
    version: 1,
    id: 'log_a',
    time: '2026-11-22T08:59:58.000Z',
    duration_ms: 2000,
    command: 'generate',
    cwd: '/home/a b/project',
    exit_code: 0,
    files: [],
  })
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
})

const thought = { text: 'Hm. ', thought: true }
const message = { type: 'message', content: [{ type: 'output_text', text: 'Half ' }] }

test.each<[string, number, Readonly<Record<string, unknown>>]>([
  ['parts', 1, { text: 'Half done', content: { parts: [{ text: 'Half ' }, thought, { text: 'done' }] } }],
  ['messages', 1, { text: 'Half ', output: [{ type: 'reasoning', id: 'rs_1' }, message] }],
  ['messages that lack some of it', 2, { text: 'Half done', output: [message] }],
])('the text of an answer is not written twice beside its %s', async (_, times, reply) => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a', { reply }))
  expect(readFileSync(path, 'utf8').split('Half ').length - 1).toBe(times)
  expect([...openLog(folder).calls()][0]?.entry().reply).toEqual(reply)
})

test('each month has a file; the calls are counted from the newest', async () => {
  const { folder, add } = newLog()
  await add(entryCalled('a'))
  await add(entryCalled('b'))
  await add(entryCalled('c'), december)
  expect(readdirSync(folder)).toEqual(['2026-11.jsonl', '2026-12.jsonl'])
  expect(ids(folder)).toEqual([
    [1, 'log_c'],
    [2, 'log_b'],
    [3, 'log_a'],
  ])
})

test('there is no log yet, or no place for one', () => {
  expect(ids(newLog().folder)).toEqual([])
  expect([...openLog(undefined).calls()]).toEqual([])
})

test('other files in the folder are not read', async () => {
  const { folder, add } = newLog()
  await add(entryCalled('a'))
  for (const name of ['2026-13.jsonl', '2026-11.jsonl~', 'notes.txt']) {
    appendFileSync(join(folder, name), `${JSON.stringify(entryCalled('x'))}\n`)
  }
  expect(ids(folder)).toEqual([[1, 'log_a']])
})

test('lines longer than a block are read whole', async () => {
  const { folder, add } = newLog()
  const long = { text: 'é\n'.repeat(400_000) }
  await add(entryCalled('a', { reply: long }))
  await add(entryCalled('b'))
  await add(entryCalled('c', { reply: long }))
  const calls = [...openLog(folder).calls()]
  expect(calls.map((call) => [call.facts.id, call.entry().reply])).toEqual([
    ['log_c', long],
    ['log_b', { text: 'Hi' }],
    ['log_a', long],
  ])
})

test('an entry after a torn line is not lost', async () => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  appendFileSync(path, '{"version":1,"id":"log_torn","time":"2026-')
  await add(entryCalled('b'))
  const log = openLog(folder)
  expect([...log.calls()].map(({ facts }) => facts.id)).toEqual(['log_b', 'log_a'])
  expect(log.unreadable).toBe(1)
})

// The writer looks for the end of the last line before it writes; another may be killed between the two.
test('an entry in the same line as a torn one is found', async () => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  for (const torn of ['{"version":1,"id":"lo', JSON.stringify(entryCalled('torn')).slice(0, -7)]) {
    appendFileSync(path, torn + readFileSync(path, 'utf8').split('\n')[0]!.replace('log_a', 'log_b') + '\n')
  }
  expect(ids(folder)).toEqual([
    [1, 'log_b'],
    [2, 'log_b'],
    [3, 'log_a'],
  ])
})

test('a request that looks like an entry is a part of its own entry', async () => {
  const { folder, add } = newLog()
  await add(entryCalled('a', { request: { inner: entryCalled('inner') } }))
  expect(ids(folder)).toEqual([[1, 'log_a']])
})

test.each<[string, string]>([
  ['no JSON', 'garbage'],
  ['another JSON', '[1]'],
  ['without a time', '{"version":1,"id":"log_x","command":"generate"}'],
  ['with a time that is none', '{"version":1,"id":"log_x","command":"generate","time":"soon"}'],
  ['nothing but NUL, as after a power failure', '\0'.repeat(100)],
])('a line is skipped and counted: %s', async (_, line) => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  appendFileSync(path, `${line}\n\n`)
  await add(entryCalled('b'))
  const log = openLog(folder)
  expect([...log.calls()].map(({ number, facts }) => [number, facts.id])).toEqual([
    [1, 'log_b'],
    [2, 'log_a'],
  ])
  expect(log.unreadable).toBe(1)
})

test('of a later version is read what is known', async () => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  const later = { ...entryCalled('b'), version: 7, exit_code: 'none', mood: 'good', files: [{ path: '/a' }] }
  appendFileSync(path, `${JSON.stringify(later)}\n`)
  const [call] = openLog(folder).calls()
  expect(call?.entry()).toEqual({ ...entryCalled('b'), version: 7 })
})

test('any text comes back, whatever is in it', async () => {
  const any = array(string({ unit: 'binary' }), { minLength: 1, maxLength: 5 })
  const { folder, add } = newLog()
  await assert(
    asyncProperty(any, async (texts) => {
      for (const [at, prompt] of texts.entries())
        await add(entryCalled(String(at), { prompt, reply: { prompt } }))
      const calls = [...openLog(folder).calls()].slice(0, texts.length)
      const read = calls.map((call) => call.entry())
      expect(read.map(({ prompt }) => prompt)).toEqual(texts.toReversed())
      expect(read.map(({ reply }) => reply?.['prompt'])).toEqual(texts.toReversed())
    }),
    runs(30),
  )
})

test('what is written is clean of secrets', async () => {
  const { folder, path } = newLog()
  const entry = entryCalled('a', { prompt: 'the key is secret' })
  await appendEntry(folder, entry, { now: november, clean: (json) => json.replaceAll('secret', '[hidden]') })
  expect(readFileSync(path, 'utf8')).not.toContain('secret')
  expect([...openLog(folder).calls()][0]?.entry().prompt).toBe('the key is [hidden]')
})

const ended = (id: string, hour: number, more: Partial<LogEntry> = {}) =>
  entryCalled(id, { time: `2026-11-22T0${hour}:00:00.000Z`, duration_ms: 0, ...more })

test('what ended before a time is forgotten, in the file of a month that goes on', async () => {
  const { folder, path, add } = newLog()
  await add(ended('a', 1))
  appendFileSync(path, 'damaged\n')
  await add(ended('b', 2, { prompt: 'secret', duration_ms: 3_600_000 }))
  await add(ended('c', 4))
  const size = statSync(path).size
  expect(clearLog(folder, Date.UTC(2026, 10, 22, 3, 30), november)).toBe(2)
  const log = openLog(folder)
  expect([...log.calls()].map(({ facts }) => facts.id)).toEqual(['log_c'])
  expect(log.unreadable).toBe(0)
  expect(readFileSync(path, 'utf8')).not.toContain('secret')
  // In place, so that nothing is lost that others append meanwhile.
  expect(statSync(path).size).toBe(size)
  await add(ended('d', 5))
  expect([...openLog(folder).calls()].map(({ facts }) => facts.id)).toEqual(['log_d', 'log_c'])
})

test('a file of which nothing is kept is removed', async () => {
  const { folder, add } = newLog()
  await add(ended('a', 1))
  await add(ended('b', 2, { time: '2026-12-01T00:00:00.000Z' }), december)
  expect(clearLog(folder, Date.UTC(2026, 11, 1), december)).toBe(1)
  expect(readdirSync(folder)).toEqual(['2026-12.jsonl'])
  const january = Date.UTC(2027, 0, 1)
  expect(clearLog(folder, Infinity, january)).toBe(1)
  expect(readdirSync(folder)).toEqual([])
  expect(clearLog(folder, Infinity, january)).toBe(0)
})

test('the file of a month that goes on stays, since others may be about to append to it', async () => {
  const { folder, path, add } = newLog()
  await add(ended('a', 1, { prompt: 'secret' }))
  const other = openSync(path, 'a')
  expect(clearLog(folder, Infinity, november)).toBe(1)
  expect(readFileSync(path, 'utf8')).not.toContain('secret')
  writeSync(other, `${JSON.stringify(ended('b', 2))}\n`)
  closeSync(other)
  expect([...openLog(folder).calls()].map(({ facts }) => facts.id)).toEqual(['log_b'])
  expect(clearLog(folder, Infinity, december)).toBe(1)
  expect(readdirSync(folder)).toEqual([])
})

test('the newest call that wrote a file is found by its content', async () => {
  const { folder, add } = newLog()
  const [sha256, other] = ['a'.repeat(64), 'b'.repeat(64)]
  const file = { path: '/home/a.png', bytes: 5, sha256, format: 'png' }
  await add(entryCalled('a', { files: [file] }))
  await add(entryCalled('b', { files: [file] }))
  await add(entryCalled('c', { files: [{ ...file, sha256: other }], prompt: sha256 }))
  const digests = new Set([sha256, 'c'.repeat(64)])
  const found = callsOfFiles(folder, digests)
  expect([...found].map(([digest, { number, facts }]) => [digest, number, facts.id])).toEqual([
    [sha256, 2, 'log_b'],
  ])
  expect(callsOfFiles(undefined, digests).size).toBe(0)
})

test('the file cannot be written, or not be read', async () => {
  const { folder, path, add } = newLog()
  mkdirSync(path, { recursive: true })
  await expect(add(entryCalled('a'))).rejects.toThrow(`"${path}" cannot be written: it is a folder.`)
  expect(() => [...openLog(folder).calls()]).toThrow(FileError)
  const file = join(temporaryFolder(), 'state')
  appendFileSync(file, '')
  await expect(
    appendEntry(logFolder(file), entryCalled('a'), { now: november, clean: (json) => json }),
  ).rejects.toThrow(FileError)
})

test.skipIf(process.getuid?.() === 0)('the folder may not be written', async () => {
  const { folder, path, add } = newLog()
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o500)
  await expect(add(entryCalled('a'))).rejects.toThrow(`"${path}" cannot be written: permission denied.`)
})

test.each(['__proto__', 'constructor', 'toString'])('a field called %s is left out', async (name) => {
  const { folder, path, add } = newLog()
  await add(entryCalled('a'))
  const line = readFileSync(path, 'utf8').replace('"cwd":', `"${name}":{"polluted":1},"cwd":`)
  writeFileSync(path, line)
  const log = openLog(folder)
  const [call] = [...log.calls()]
  expect(call?.facts).toMatchObject({ id: 'log_a', command: 'generate' })
  expect(Object.hasOwn(call!.facts, name)).toBe(false)
  expect('polluted' in call!.facts).toBe(false)
})
