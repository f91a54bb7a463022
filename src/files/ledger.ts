import { fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { randomHex, type Clock } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import { countOf, isObject, stringOf, type JsonObject } from '../json.ts'
import { closeAfterReading, readError, shownPath, systemCode } from './file-error.ts'
import { appendLine, monthFile, monthFiles } from './month-files.ts'

/** What was created, or is about to be: counted before it is sent, so that a killed process leaves too many, never too few. */
export interface LedgerEntry {
  readonly id: string
  /** How many texts, images or videos. */
  readonly count: number
  /** A decimal number, and its currency; null while it is not known. */
  readonly amount: string | null
  readonly currency: string | null
}

/** What is kept of a creation besides: for whoever reads the file. */
export interface NewEntry extends Omit<LedgerEntry, 'id'> {
  readonly of: string
  readonly model: string | null
}

/**
 * The count of what this machine has created: `ledger/2026-11.jsonl` in the state folder. A line is a creation, or gives
 * one back by its id, or corrects its cost. Nothing is ever changed or locked: whoever wants to create something appends
 * a line first, and what stands before that line decides (`createdBefore`).
 */
export interface Ledger {
  /** @param isSynced whether it has to survive a power failure @returns the id of the line @throws FileError */
  add(entry: NewEntry, isSynced: boolean): Promise<string>
  /** Nothing was created. Best effort: never throws; then it stays counted. */
  giveBack(id: string): Promise<void>
  /** What it has really cost. Best effort: never throws. */
  correct(id: string, cost: Pick<LedgerEntry, 'amount' | 'currency'>): Promise<void>
  /** The job that goes on with a creation. Best effort: never throws. */
  noteJob(id: string, job: string): Promise<void>
  /** The creation of a job, for a correction of its cost; undefined where none is known. Best effort: never throws. */
  creationOf(job: string): string | undefined
  /**
   * What was created since a time, and stands before an entry; all of it without one.
   * @param since milliseconds since 1970
   * @throws FileError also when the entry is not there; ModelgateError `ledger_damaged` (exit 15) for a line that says
   *   nothing: it could be a creation of any number
   */
  createdBefore(since: number, id?: string): readonly LedgerEntry[]
}

/**
 * @param stateFolder undefined where the machine has none: then nothing can be counted
 * @param clean takes secrets out of the JSON: somebody may have given a key in place of a model
 */
export function openLedger(
  stateFolder: string | undefined,
  clock: Clock,
  clean: (json: string) => string = (json) => json,
): Ledger {
  const folder = stateFolder === undefined ? undefined : join(stateFolder, 'ledger')
  const needed = () => {
    if (folder !== undefined) return folder
    throw new FileError('no_state_folder', 'Nothing can be counted: there is no home directory.', {
      billed: 'no',
      hint: 'Set HOME, XDG_STATE_HOME or MODELGATE_STATE_DIR.',
    })
  }
  let reader: LedgerReader | undefined
  const append = async (id: string, fields: JsonObject, isSynced = false) => {
    const now = clock.now()
    const line = clean(JSON.stringify({ time: new Date(now).toISOString(), id, ...fields }))
    await appendLine(needed(), `${line}\n`, { now, isSynced })
  }
  return {
    async add(entry, isSynced) {
      const id = randomHex(clock, 16)
      await append(id, { ...entry }, isSynced)
      return id
    },
    giveBack: (id) => append(id, { given_back: true }).catch(() => {}),
    correct: (id, cost) => append(id, { ...cost }).catch(() => {}),
    noteJob: (id, job) => append(id, { job }).catch(() => {}),
    creationOf(job) {
      try {
        return findJob(needed(), job)
      } catch {
        return undefined
      }
    },
    createdBefore(since, id) {
      if (reader?.since !== since) reader = createReader(needed(), since)
      return reader.before(id)
    },
  }
}

function findJob(folder: string, job: string): string | undefined {
  const named = `"job":${JSON.stringify(job)}`
  for (const name of monthFiles(folder).toReversed()) {
    const lines = readFrom(join(folder, name), 0).split('\n')
    const line = lines.findLast((text) => text.includes(named))
    const id = line === undefined ? undefined : stringOf(parse(line)?.['id'])
    if (id !== undefined) return id
  }
  return undefined
}

/** How a line begins, so that those before a time are passed over without being parsed. */
const lineStart = '{"time":"'
const timeLength = new Date(0).toISOString().length

interface LedgerReader {
  readonly since: number
  /** Reads what has been added, and says what stands before an entry; all of it without one. @throws FileError */
  before(own: string | undefined): readonly LedgerEntry[]
}

interface PlacedEntry {
  readonly entry: LedgerEntry
  readonly file: string
  readonly line: number
}

/** Reads each line once: a run asks before each of its thousands of creations. */
function createReader(folder: string, since: number): LedgerReader {
  const from = new Date(since).toISOString()
  const entries = new Map<string, PlacedEntry>()
  const files = new Map<string, LineReader>()

  const readOn = () => {
    // A later month's file has lines of those whose clock is ahead: whether they were first, nobody can say.
    for (const file of monthFiles(folder).filter((other) => other >= monthFile(since))) {
      const reader = files.get(file) ?? createLineReader(join(folder, file), from)
      files.set(file, reader)
      for (const [line, text] of reader.readOn()) {
        const start = text.lastIndexOf(lineStart)
        const record = start === -1 ? undefined : parse(text.slice(start))
        const key = `${file}:${line}`
        const rest = start > 0 ? text.slice(0, start) : record === undefined ? text : ''
        if (!isCut(rest)) throw damaged(join(folder, file), line + 1)
        // What a crash has torn was a creation, as far as anybody knows.
        if (record === undefined || start > 0) entries.set(key, { entry: torn, file, line })
        else entries.delete(key)
        if (record !== undefined) apply(record, file, line)
      }
    }
  }
  const apply = (record: JsonObject, file: string, line: number) => {
    const id = String(record['id'])
    const count = countOf(record['count'])
    const known = entries.get(id)
    if (record['given_back'] === true) entries.delete(id)
    else if (count !== null) entries.set(id, { entry: { id, count, ...costIn(record) }, file, line })
    else if (known !== undefined && stringOf(record['amount']) !== undefined) {
      entries.set(id, { ...known, entry: { ...known.entry, ...costIn(record) } })
    }
  }
  return {
    since,
    before(id) {
      readOn()
      if (id !== undefined && !entries.has(id)) {
        // The files may be others than those that were read.
        entries.clear()
        files.clear()
        readOn()
      }
      const own = id === undefined ? undefined : entries.get(id)
      if (id !== undefined && own === undefined) throw ledgerChanged(folder)
      const before: LedgerEntry[] = []
      for (const { entry, file, line } of entries.values()) {
        if (file !== own?.file || line < own.line) before.push(entry)
      }
      return before
    },
  }
}

function ledgerChanged(folder: string): FileError {
  const message = `The counts in ${shownPath(folder)} are gone: the files there were changed.`
  return new FileError('ledger_changed', message, { billed: 'no', hint: 'Run it again.' })
}

/** Goes through a file that grows. */
interface LineReader {
  /** The lines that have been added, with their numbers; the last one again as long as it has no end. @throws FileError */
  readOn(): Iterable<readonly [line: number, text: string]>
}

/** @param from lines before this time are left out, as it stands in them */
function createLineReader(path: string, from: string): LineReader {
  let offset = 0
  let line = 0
  let time = from
  return {
    *readOn() {
      const text = readFrom(path, offset)
      for (let at = 0; at < text.length; line++) {
        const end = text.indexOf('\n', at)
        const part = text.slice(at, end === -1 ? undefined : end)
        const start = part.lastIndexOf(lineStart) + lineStart.length
        // What was torn before its time is as old as what stands before it.
        if (start >= lineStart.length) time = part.slice(start, start + timeLength)
        if (part !== '' && time >= from) yield [line, part]
        if (end === -1) return
        at = end + 1
        offset += part.length + 1
      }
    },
  }
}

/**
 * Whether a line that is no record, or what stands before a record in it, is at most cut, as a kill or a full disk leaves it.
 */
function isCut(text: string): boolean {
  if (text === '' || lineStart.startsWith(text)) return true
  if (!text.startsWith(lineStart) || /[^ -~]/.test(text)) return false
  return !text.endsWith('}') || parse(text) !== undefined
}

function damaged(path: string, line: number): ModelgateError {
  const message = `Line ${line} of ${shownPath(path)} is damaged: what was created cannot be counted.`
  return new ModelgateError('limit', 'ledger_damaged', message, {
    phase: 'config',
    billed: 'no',
    hint: 'Remove that line, or count from a later time with MODELGATE_COUNT_SINCE.',
  })
}

const torn: LedgerEntry = { id: '', count: 1, amount: null, currency: null }

function parse(json: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function costIn({ amount, currency }: JsonObject): Pick<LedgerEntry, 'amount' | 'currency'> {
  return { amount: stringOf(amount) ?? null, currency: stringOf(currency) ?? null }
}

/** The bytes of a file behind a place, a character each; nothing where there is no file. @throws FileError */
function readFrom(path: string, offset: number): string {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    const bytes = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - offset))
    return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, bytes.length, offset))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return ''
    throw readError(error, path)
  } finally {
    if (descriptor !== undefined) closeAfterReading(descriptor)
  }
}
