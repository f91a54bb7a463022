import fs from 'node:fs'
import { join } from 'node:path'
import { FileError } from '../../errors.ts'
import { readingIfThere, shownPath, writing } from '../file-error.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { parseJson } from '../parse-json.ts'
import {
  isWhole,
  linesFrom,
  linesFromEnd,
  monthFile,
  monthFiles,
  openLine,
  sealedLine,
  type Line,
} from '../sealed-lines.ts'
import { lineHead, openBook, wordsFile, type BookLine, type Count } from './call-book.ts'
import { withText, type CallFacts, type CallWords } from './call-record.ts'

export interface FoundCall {
  readonly facts: CallFacts
  /** Read when asked for; empty where nothing was kept. @throws FileError */
  words(): CallWords
}

export type CountedCall = Pick<
  CallFacts,
  'time' | 'command' | 'model' | 'sandbox' | 'exit_code' | 'error' | 'usage' | 'created' | 'jobs' | 'files'
>

export interface ReadPlace {
  readonly read: Record<string, number>
  /** Where calls began that had not ended, by their ids. */
  readonly begun: Record<string, { readonly name: string; readonly start: number }>
}

interface KeptSums {
  readonly place: ReadPlace
  readonly sums: JsonObject
}

const sumsName = 'sums.json'

/** Without a state folder there are no calls. @throws FileError */
export async function openCalls(stateFolder: string | undefined): Promise<CallReader> {
  return new CallReader(stateFolder === undefined ? undefined : await openBook(stateFolder))
}

export class CallReader {
  readonly #folder: string | undefined
  damaged = 0

  constructor(folder: string | undefined) {
    this.#folder = folder
  }

  /** The one that ended last first. @param texts one of them is a value of each call @throws FileError */
  calls(texts?: readonly string[]): Generator<FoundCall, void, undefined> {
    const wanted = texts?.map((text) => JSON.stringify(text))
    return this.#select(this.#lines(), (line) => wanted?.some((text) => line.includes(text)) ?? true)
  }

  withId(beginning: string): Generator<FoundCall, void, undefined> {
    return this.#select(this.#lines(Buffer.from(`{"id":"${beginning}`)))
  }

  *#select(
    lines: Iterable<Line>,
    isWanted: (line: Buffer) => boolean = () => true,
  ): Generator<FoundCall, void, undefined> {
    const ended = new Set<string>()
    for (const { bytes } of lines) {
      if (!isWanted(bytes) || ended.has(lineHead.id(bytes))) continue
      const line = this.#parse(bytes)
      if (line === undefined || (line.type === 'count' && line.count >= 0)) continue
      ended.add(line.id)
      // What was given back has not been a call.
      if (line.type === 'count') continue
      if (line.type === 'end') for (const other of line.others ?? []) ended.add(other)
      yield { facts: factsOf(line), words: () => this.#words(line.id) }
    }
  }

  /**
   * Calls that have ended. @param place where to begin; it is moved to where the reading has ended @throws FileError
   */
  *endedSince(since: number, place: ReadPlace): Generator<CountedCall, void, undefined> {
    const { read, begun } = place
    const from = new Date(since).toISOString()
    const first = monthFile(since)
    for (const name of this.#months().filter((other) => other >= first)) {
      for (const { start, bytes } of linesFrom(join(this.#folder!, name), read[name])) {
        read[name] = start + bytes.length + 1
        const type = lineHead.type(bytes)
        if (type === 'begin') begun[lineHead.id(bytes)] = { name, start }
        else if (type === 'count') {
          if (bytes.includes(givenBack)) delete begun[lineHead.id(bytes)]
        } else if (type !== 'end') this.damaged += type === 'job' ? 0 : 1
        // Of a hundred thousand calls, only what is asked for is parsed.
        else if (lineHead.time(bytes) >= from) {
          const call = this.#parse(bytes)
          if (call?.type !== 'end') continue
          for (const id of [call.id, ...(call.others ?? [])]) delete begun[id]
          if (call.time >= from) yield call
        }
      }
    }
  }

  /** Calls that have begun and not ended, up to a place. @throws FileError */
  *begunSince(since: number, { begun }: ReadPlace): Generator<CountedCall, void, undefined> {
    const from = new Date(since).toISOString()
    for (const { name, start } of Object.values(begun)) {
      const { value } = linesFrom(join(this.#folder!, name), start).next()
      const line = value && this.#parse(value.bytes)
      if (line?.type === 'begin' && line.at >= from) yield factsOf(line)
    }
  }

  keptSums(): KeptSums | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const line = openLine(fs.readFileSync(join(this.#folder, sumsName)).subarray(0, -1))
      const { damaged, ...kept } = line as unknown as KeptSums & { readonly damaged: number }
      const isShort = ([name, length]: [string, number]) =>
        fs.statSync(join(this.#folder!, name)).size < length
      if (Object.entries(kept.place.read).some(isShort)) return undefined
      this.damaged = damaged
      return kept
    } catch {
      return undefined
    }
  }

  /** So that the calls need not be read again. Never throws. */
  keepSums(kept: KeptSums): void {
    const path = join(this.#folder ?? '', sumsName)
    try {
      const line = sealedLine(JSON.stringify({ ...kept, damaged: this.damaged }))
      fs.writeFileSync(`${path}.part`, line, { mode: 0o600 })
      fs.renameSync(`${path}.part`, path)
    } catch {}
  }

  /** What a job was estimated to cost when it was asked for, and the call that did so. @throws FileError */
  costOfJob(job: string): { readonly id: string; readonly amount: string | null } | undefined {
    const named = `"job":${JSON.stringify(job)}`
    let id: string | undefined
    let amount: string | null | undefined
    for (const { bytes } of this.#lines()) {
      if (id === undefined ? !bytes.includes(named) : lineHead.id(bytes) !== id) continue
      const line = this.#parse(bytes)
      if (line === undefined) continue
      id = line.id
      if (line.type === 'end') continue
      // The newest correction holds.
      amount ??= line.amount
      if (line.type === 'begin') return { id, amount: amount ?? null }
    }
    return undefined
  }

  /**
   * Forgets what was said in calls that ended before a time, and all but what they have counted. Blanks take the
   * place of what is forgotten, because others may append at the same time.
   * @param kept the keys of jobs whose prompts are not forgotten @returns how many calls were forgotten @throws
   * FileError
   */
  forget(before: number, kept: ReadonlySet<string>): number {
    let count = 0
    const folder = this.#folder
    if (folder === undefined) return 0
    remove(join(folder, sumsName))
    for (const name of this.#months()) {
      for (const { path, start, bytes } of linesFromEnd(join(folder, name))) {
        const line = openLine(bytes) as BookLine | JobHead | undefined
        if (line === undefined || Date.parse(line.at) >= before) continue
        if (line.type === 'begin') overwrite(path, start, countOnly(line, bytes.length))
        else if (line.type === 'end') {
          overwrite(path, start, ' '.repeat(bytes.length))
          count++
        } else if (line.type !== 'job' || kept.has(line.id)) continue
        remove(wordsFile(folder, line.id))
      }
    }
    if (before === Infinity) {
      const words = join(folder, 'words')
      for (const name of readingIfThere(words, () => fs.readdirSync(words)) ?? []) {
        if (!kept.has(name.split('.')[0]!)) remove(join(words, name))
      }
    }
    return count
  }

  /** The last one first. @param having only lines in which this stands */
  *#lines(having?: Buffer): Generator<Line, void, undefined> {
    for (const name of this.#months().toReversed()) {
      const path = join(this.#folder!, name)
      if (having === undefined) yield* linesFromEnd(path)
      else {
        const found = linesFrom(path, 0, having)
        yield* Array.from(found, (line) => ({ ...line, bytes: Buffer.from(line.bytes) })).toReversed()
      }
    }
  }

  #months(): string[] {
    return this.#folder === undefined ? [] : monthFiles(this.#folder)
  }

  #parse(bytes: Buffer): BookLine | undefined {
    if (!isWhole(bytes)) return void this.damaged++
    const line = JSON.parse(bytes.toString()) as BookLine
    // A later version may have lines of other types.
    return ['begin', 'count', 'end'].includes(line.type) ? line : undefined
  }

  #words(id: string): CallWords {
    const path = wordsFile(this.#folder!, id)
    const text = readingIfThere(path, () => fs.readFileSync(path, 'utf8'))
    if (text === undefined) return {}
    const { value: words } = parseJson(text)
    if (!isObject(words)) {
      this.damaged++
      return {}
    }
    const { reply } = words as CallWords
    return { ...words, ...(isObject(reply) ? { reply: withText(reply) } : {}) }
  }
}

type JobHead = Pick<BookLine, 'id' | 'at'> & { readonly type: 'job' }

const givenBack = Buffer.from(',"count":-')

const unfinished = {
  code: 'unfinished',
  message: 'It is under way, or was killed.',
  billed: 'maybe',
} as const

function factsOf(line: Extract<BookLine, { type: 'begin' | 'end' }>): CallFacts {
  return line.type === 'end'
    ? line
    : { ...line, time: line.at, duration_ms: 0, exit_code: null, error: unfinished, files: [] }
}

/** A line of the same length that says only what a call has counted. */
function countOnly(
  { id, at, count, amount, currency }: Extract<BookLine, { type: 'begin' }>,
  length: number,
): string {
  const fields = { id, at, type: 'count', count, amount, currency, blank: '' }
  const blank = ' '.repeat(Math.max(0, length + 1 - sealedLine(JSON.stringify(fields)).length))
  return sealedLine(JSON.stringify({ ...fields, blank })).trimEnd()
}

function overwrite(path: string, start: number, text: string): void {
  writing(path, () => {
    const descriptor = fs.openSync(path, 'r+')
    try {
      fs.writeSync(descriptor, text, start, 'latin1')
    } finally {
      fs.closeSync(descriptor)
    }
  })
}

function remove(path: string): void {
  writing(path, () => fs.rmSync(path, { force: true }))
}

/**
 * What was counted since a time, before the line of a call that has just begun.
 * @param read how far each file has been read: each line once, since a run asks before each of its thousands of creations
 * @returns without a count for a damaged line: it could be a creation
 * @throws FileError also when the line of the call is not there
 */
export function* countsBefore(
  own: string,
  folder: string,
  since: number,
  read: Map<string, number>,
): Generator<{ readonly count?: Count; readonly place: string }, void, undefined> {
  const first = monthFile(since)
  const from = new Date(since).toISOString()
  let isFound = false
  // A later month's file has lines of those whose clock is ahead: whether they were first, nobody can say.
  for (const name of monthFiles(folder).filter((other) => other >= first)) {
    const path = join(folder, name)
    for (const { start, bytes } of linesFrom(path, read.get(name))) {
      const isSound = isWhole(bytes)
      if (isSound && lineHead.id(bytes) === own) {
        // It stays to be read, since it stands before what this process creates next.
        isFound = true
        break
      }
      read.set(name, start + bytes.length + 1)
      if (!isSound) yield { place: `the line at byte ${start} of ${shownPath(path)}` }
      else if (['begin', 'count'].includes(lineHead.type(bytes))) {
        const count = JSON.parse(bytes.toString()) as BookLine & Count
        if (count.at >= from) yield { count, place: path }
      }
    }
  }
  if (isFound) return
  const message = `The records in ${shownPath(folder)} were changed by something else.`
  throw new FileError('file_changed', message, { billed: 'no', hint: 'Run it again.' })
}
