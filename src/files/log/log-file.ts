import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { readError, systemCode } from '../file-error.ts'
import { appendLine, monthFiles } from '../month-files.ts'
import {
  decodeEntry,
  decodeFacts,
  encodeEntry,
  entryBehindTornLine,
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
export interface LoggedCall {
  /** Counted from the newest, which is 1. */
  readonly number: number
  readonly facts: LogFacts
  /** The whole entry. */
  entry(): LogEntry
  /** The whole line, for a search. */
  text(): string
}

/** A reader of the log. */
export interface LogReader {
  /**
   * The calls, the one that ended last first. Reads no further than is asked for.
   * @throws FileError
   */
  calls(): Generator<LoggedCall, void, undefined>
  /** The lines so far that are no entries: torn, or of another program. */
  readonly unreadable: number
}

/** @param folder undefined where there is no state folder: then the log is empty */
export function openLog(folder: string | undefined): LogReader {
  let unreadable = 0
  function* calls(): Generator<LoggedCall, void, undefined> {
    let number = 1
    for (const line of lines(folder)) {
      const call = readLine(line.toString(), number)
      if (call === undefined) unreadable++
      else {
        number++
        yield call
      }
    }
  }
  return {
    calls,
    get unreadable() {
      return unreadable
    },
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
  if (digests.size === 0) return found
  for (const call of openLog(folder).calls()) {
    for (const { sha256 } of call.facts.files) {
      if (digests.has(sha256) && !found.has(sha256)) found.set(sha256, call)
    }
    if (found.size === digests.size) break
  }
  return found
}

function readLine(line: string, number: number): LoggedCall | undefined {
  const torn = entryBehindTornLine(line)
  if (torn !== undefined && decodeEntry(line) === undefined) return readLine(torn, number)
  const facts = decodeFacts(line)
  return facts && { number, facts, entry: () => decodeEntry(line) ?? facts, text: () => line }
}

/** Every line, the newest first. @throws FileError */
function* lines(folder: string | undefined): Generator<Buffer, void, undefined> {
  if (folder === undefined) return
  for (const name of monthFiles(folder).toReversed()) yield* linesFromEnd(join(folder, name))
}

const newline = 10
const blockBytes = 262_144

/** The lines of a file, the last one first, without empty ones. @throws FileError */
function* linesFromEnd(path: string): Generator<Buffer, void, undefined> {
  const descriptor = openForReading(path)
  if (descriptor === undefined) return
  try {
    /** The pieces of a line whose beginning has not been read yet, the last one first. */
    let pieces: Buffer[] = []
    for (let end = fstatSync(descriptor).size; end > 0;) {
      const start = Math.max(0, end - blockBytes)
      const block = readBlock(descriptor, start, end - start, path)
      let lineEnd = block.length
      for (;;) {
        const at = lineEnd === 0 ? -1 : block.lastIndexOf(newline, lineEnd - 1)
        if (at === -1) break
        pieces.push(block.subarray(at + 1, lineEnd))
        const line = joined(pieces)
        if (line.length > 0) yield line
        pieces = []
        lineEnd = at
      }
      pieces.push(block.subarray(0, lineEnd))
      end = start
    }
    const first = joined(pieces)
    if (first.length > 0) yield first
  } finally {
    closeSync(descriptor)
  }
}

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

function readBlock(descriptor: number, position: number, length: number, path: string): Buffer {
  const block = Buffer.allocUnsafe(length)
  try {
    const read = readSync(descriptor, block, 0, length, position)
    return block.subarray(0, read)
  } catch (error) {
    throw readError(error, path)
  }
}
