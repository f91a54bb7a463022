import { closeSync, fstatSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { closeAfterReading, readError, systemCode, writeError } from '../file-error.ts'
import { appendLine, monthFile, monthFiles } from '../month-files.ts'
import {
  decodeLine,
  encodeEntry,
  idOfLine,
  type DecodedLine,
  type LogEntry,
  type LogFacts,
} from './log-entry.ts'

/** The log in a state folder: one file a month, `log/2026-11.jsonl`, one entry a line. */
export function logFolder(stateFolder: string): string {
  return join(stateFolder, 'log')
}

/**
 * Appends an entry. Any number of processes may do so at once, and be killed at any time: each entry is one write, which
 * the system keeps whole.
 * @param now when the call ended, in milliseconds since 1970: the entries of a file are in that order
 * @param clean takes secrets out of the JSON
 * @throws FileError
 */
export async function appendEntry(
  folder: string,
  entry: LogEntry,
  { now, clean }: { readonly now: number; readonly clean: (json: string) => string },
): Promise<void> {
  await appendLine(folder, `${clean(encodeEntry(entry))}\n`, { now })
}

/** An entry of the log, parsed as far as it is wanted. */
export interface LoggedCall extends DecodedLine {
  /** Counted from the newest, which is 1. */
  readonly number: number
}

export interface LogReader {
  /**
   * The calls, the one that ended last first. Reads no further than is asked for.
   * @throws FileError
   */
  calls(): Generator<LoggedCall, void, undefined>
  /**
   * The first calls that are meant: others are counted without being parsed.
   * @throws FileError
   */
  find(isMeant: (number: number, id: string) => boolean, limit: number): LoggedCall[]
  /** The lines so far that are no entries: torn, or of another program. */
  readonly unreadable: number
}

/** @param folder undefined where there is no state folder: then the log is empty */
export function openLog(folder: string | undefined): LogReader {
  let unreadable = 0
  function* calls(): Generator<LoggedCall, void, undefined> {
    let number = 1
    for (const { bytes } of lines(folder)) {
      const decoded = decodeLine(bytes)
      if (decoded === undefined) unreadable++
      else yield { number: number++, ...decoded }
    }
  }
  return {
    calls,
    find(isMeant, limit) {
      const found: LoggedCall[] = []
      let number = 1
      for (const { bytes } of lines(folder)) {
        const id = idOfLine(bytes)
        if (id === undefined || isMeant(number, id)) {
          const decoded = decodeLine(bytes)
          if (decoded === undefined) {
            unreadable++
            continue
          }
          if (isMeant(number, decoded.facts.id)) found.push({ number, ...decoded })
          if (found.length === limit) break
        }
        number++
      }
      return found
    },
    get unreadable() {
      return unreadable
    },
  }
}

/**
 * The calls in whose lines one of some texts stands, the one that ended last first. No other line is parsed.
 * @throws FileError
 */
export function* callsThatSay(
  folder: string | undefined,
  texts: readonly string[],
): Generator<Omit<LoggedCall, 'number'>, void, undefined> {
  const escaped = texts.map((text) => JSON.stringify(text).slice(1, -1))
  for (const { bytes } of lines(folder)) {
    if (!escaped.some((text) => bytes.includes(text))) continue
    const decoded = decodeLine(bytes)
    if (decoded !== undefined) yield decoded
  }
}

/**
 * The newest calls that wrote files with these contents, by digest.
 * @param digests SHA-256 in hexadecimal, lower case
 * @throws FileError
 */
export function callsOfFiles(
  folder: string | undefined,
  digests: ReadonlySet<string>,
): Map<string, LoggedCall> {
  const found = new Map<string, LoggedCall>()
  let number = 1
  for (const { bytes } of digests.size === 0 ? [] : lines(folder)) {
    // Only lines that name a digest are parsed: most files are of no call.
    const isNamed = [...digests].some((digest) => !found.has(digest) && bytes.includes(digest))
    if (isNamed || idOfLine(bytes) === undefined) {
      const decoded = decodeLine(bytes)
      if (decoded === undefined) continue
      for (const { sha256 } of decoded.facts.files) {
        if (digests.has(sha256) && !found.has(sha256)) found.set(sha256, { number, ...decoded })
      }
      if (found.size === digests.size) break
    }
    number++
  }
  return found
}

/**
 * Forgets the calls that ended before a time. Others may append at the same time: a file of an earlier month is removed
 * if nothing in it is to be kept, else blanks take the place of what is forgotten.
 * @param before milliseconds since 1970; Infinity for every call
 * @param now milliseconds since 1970
 * @returns how many calls were forgotten
 * @throws FileError
 */
export function clearLog(folder: string, before: number, now: number): number {
  let count = 0
  for (const name of monthFiles(folder)) {
    const path = join(folder, name)
    const old: Line[] = []
    let isAllOld = true
    for (const line of linesFromEnd(path)) {
      const facts = decodeLine(line.bytes)?.facts
      // What cannot be read is as old as the lines around it.
      const isOld = facts === undefined ? old.length > 0 || before === Infinity : endedAt(facts) < before
      if (isOld) old.push(line)
      if (isOld && facts !== undefined) count++
      if (!isOld) isAllOld = false
    }
    try {
      if (isAllOld && name < monthFile(now)) unlinkSync(path)
      else if (old.length > 0) blank(path, old)
    } catch (error) {
      throw writeError(error, path)
    }
  }
  return count
}

/** When a call ended, in milliseconds since 1970: the log is in that order. */
export function endedAt({ time, duration_ms: took }: LogFacts): number {
  return Date.parse(time) + took
}

function blank(path: string, old: readonly Line[]): void {
  const descriptor = openSync(path, 'r+')
  try {
    for (const { start, bytes } of old)
      writeSync(descriptor, Buffer.alloc(bytes.length, space), 0, bytes.length, start)
  } finally {
    closeSync(descriptor)
  }
}

interface Line {
  /** Where it begins in its file. */
  readonly start: number
  readonly bytes: Buffer
}

/** Every line, the newest first. @throws FileError */
function* lines(folder: string | undefined): Generator<Line, void, undefined> {
  if (folder === undefined) return
  for (const name of monthFiles(folder).toReversed()) yield* linesFromEnd(join(folder, name))
}

const newline = 10
const space = 32
const blockBytes = 262_144

/** The lines of a file, the last one first, without blank ones. @throws FileError */
function* linesFromEnd(path: string): Generator<Line, void, undefined> {
  const descriptor = openForReading(path)
  if (descriptor === undefined) return
  try {
    /** The pieces of a line whose beginning has not been read yet, the last one first. */
    let pieces: Buffer[] = []
    for (let end = sizeOf(descriptor, path); end > 0;) {
      const start = Math.max(0, end - blockBytes)
      const block = readBlock(descriptor, start, end - start, path)
      let lineEnd = block.length
      for (;;) {
        const at = lineEnd === 0 ? -1 : block.lastIndexOf(newline, lineEnd - 1)
        if (at === -1) break
        pieces.push(block.subarray(at + 1, lineEnd))
        const line = joined(pieces)
        if (isFilled(line)) yield { start: start + at + 1, bytes: line }
        pieces = []
        lineEnd = at
      }
      pieces.push(block.subarray(0, lineEnd))
      end = start
    }
    const first = joined(pieces)
    if (isFilled(first)) yield { start: 0, bytes: first }
  } finally {
    closeAfterReading(descriptor)
  }
}

const isFilled = (line: Buffer) => line.length > 0 && line[0] !== space

function joined(pieces: Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces.toReversed())
}

/** Undefined when it has just been removed. */
function openForReading(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw readError(error, path)
  }
}

function sizeOf(descriptor: number, path: string): number {
  try {
    return fstatSync(descriptor).size
  } catch (error) {
    throw readError(error, path)
  }
}

function readBlock(descriptor: number, position: number, length: number, path: string): Buffer {
  const block = Buffer.allocUnsafe(length)
  try {
    const read = readSync(descriptor, block, 0, length, position)
    return block.subarray(0, read)
  } catch (error) {
    throw readError(error, path)
  }
}
