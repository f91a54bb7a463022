import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { randomHex, type Clock } from '../context.ts'
import { FileError } from '../errors.ts'
import { countOf, isObject, stringOf, type JsonObject } from '../json.ts'
import { readError, shownPath, systemCode } from './file-error.ts'
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
   * @throws FileError also when the entry is not there
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
    throw new FileError('no_state_folder', 'Nothing can be counted: there is no home folder.', {
      billed: 'no',
      hint: 'Set HOME, XDG_STATE_HOME or MODELGATE_STATE_DIR.',
    })
  }
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
    createdBefore: (since, id) => readLedger(needed(), since, id),
  }
}

function findJob(folder: string, job: string): string | undefined {
  const named = `"job":${JSON.stringify(job)}`
  for (const name of monthFiles(folder).toReversed()) {
    const line = readLines(join(folder, name)).findLast((text) => text.includes(named))
    const id = line === undefined ? undefined : stringOf(parse(line)?.['id'])
    if (id !== undefined) return id
  }
  return undefined
}

/** How a line begins, so that those before a time are passed over without being parsed. */
const lineStart = '{"time":"'
const timeLength = new Date(0).toISOString().length

function readLedger(folder: string, since: number, own: string | undefined): LedgerEntry[] {
  const from = new Date(since).toISOString()
  const entries = new Map<string, LedgerEntry>()
  let isFound = own === undefined
  // A later month's file has lines of those whose clock is ahead: whether they were first, nobody can say.
  for (const name of monthFiles(folder).filter((other) => other >= monthFile(since))) {
    let isBehind = false
    let time = from
    for (const [at, line] of readLines(join(folder, name)).entries()) {
      const start = line.lastIndexOf(lineStart)
      const stamp =
        start === -1 ? time : line.slice(start + lineStart.length, start + lineStart.length + timeLength)
      if (stamp < from) {
        time = stamp
        continue
      }
      const record = start === -1 ? undefined : parse(line.slice(start))
      // What a crash has torn was a creation, as far as anybody knows.
      if ((record === undefined || start > 0) && !isBehind) entries.set(`${name}:${at}`, torn)
      if (record === undefined) continue
      time = stamp
      const id = String(record['id'])
      const count = countOf(record['count'])
      if (record['given_back'] === true) entries.delete(id)
      else if (id === own && count !== null) isFound = isBehind = true
      else if (count !== null && !isBehind) entries.set(id, { id, count, ...costIn(record) })
      else if (stringOf(record['amount']) !== undefined && entries.has(id)) {
        entries.set(id, { ...entries.get(id)!, ...costIn(record) })
      }
    }
  }
  if (isFound) return [...entries.values()]
  const message = `What was counted in ${shownPath(folder)} is gone: somebody has changed the files there.`
  throw new FileError('ledger_changed', message, { billed: 'no', hint: 'Run it again.' })
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

/** @throws FileError */
function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1')
      .split('\n')
      .filter((line) => line !== '')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return []
    throw readError(error, path)
  }
}
