import fs from 'node:fs'
import { crc32 } from 'node:zlib'
import { isObject, type JsonObject } from '../json.ts'
import { parseJson } from './parse-json.ts'
import { closeQuietly, readError, readingIfThere } from './file-error.ts'

/**
 * Records that only grow: a file of lines, each a JSON object whose last member is a checksum of what stands before it:
 * `{…,"check":"0123abcd"}`. What a kill or a full disk leaves of a line is no record, and nothing has relied on it.
 */

/** `,"check":"0123abcd"}` */
const endLength = 20

/** @param json an object with at least one member @returns with its newline */
export function sealedLine(json: string): string {
  const start = json.slice(0, -1)
  return `${start},"check":"${hexadecimal(crcOf(Buffer.from(start)))}"}\n`
}

export function isWhole(line: Buffer): boolean {
  const start = line.subarray(0, Math.max(0, line.length - endLength))
  return line.toString('latin1', start.length) === `,"check":"${hexadecimal(crc32(start))}"}`
}

export function openLine(line: Buffer): JsonObject | undefined {
  if (!isWhole(line)) return undefined
  const { value } = parseJson(line.toString())
  return isObject(value) ? value : {}
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0)
  return crc
})

/** As `crc32` of node:zlib, which is faster for many lines; loading it takes 3 % of a short call, which writes two. */
function crcOf(bytes: Uint8Array): number {
  let crc = -1
  for (const byte of bytes) crc = (crc >>> 8) ^ crcTable[(crc ^ byte) & 0xff]!
  return ~crc >>> 0
}

function hexadecimal(checksum: number): string {
  return checksum.toString(16).padStart(8, '0')
}

const monthName = /^\d{4}-(?:0[1-9]|1[0-2])\.jsonl$/

/** @param now milliseconds since 1970; the month is that of UTC */
export function monthFile(now: number): string {
  return `${new Date(now).toISOString().slice(0, 7)}.jsonl`
}

/** The oldest first; none where there is no folder. @throws FileError */
export function monthFiles(folder: string): string[] {
  const names = readingIfThere(folder, () => fs.readdirSync(folder)) ?? []
  return names.filter((name) => monthName.test(name)).toSorted()
}

const newline = 10
/** Ends a line that was cut: whoever reads it knows that nothing relied on it. */
const cancel = 0x18

/**
 * Any number of processes may append at once, and be killed at any time: each line is one write, which the system
 * keeps whole. @param line with its newline @throws the error of the system, `ENOENT` where there is no folder
 */
export function appendLine(path: string, line: string, isSynced: boolean): void {
  const descriptor = fs.openSync(path, 'a+', 0o600)
  try {
    const { size } = fs.fstatSync(descriptor)
    const last = Buffer.alloc(1)
    const isCut = size > 0 && fs.readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== newline
    const bytes = Buffer.from(isCut ? `${String.fromCodePoint(cancel)}\n${line}` : line)
    const written = fs.writeSync(descriptor, bytes)
    if (written < bytes.length) throw Object.assign(new Error('The line was cut.'), { code: 'ENOSPC' })
    if (isSynced) fs.fdatasyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

export interface Line {
  readonly path: string
  readonly start: number
  /** Valid until the next line is asked for. */
  readonly bytes: Buffer
}

const isFilled = (line: Buffer) => line.length > 0 && line[0] !== 0x20 && line.at(-1) !== cancel

const blockBytes = 262_144

/**
 * Without a last line that has no end. @param having only lines in which this stands, which is fast @throws FileError
 */
export function* linesFrom(path: string, start = 0, having?: Buffer): Generator<Line, void, undefined> {
  const descriptor = readingIfThere(path, () => fs.openSync(path, 'r'))
  if (descriptor === undefined) return
  try {
    const { size } = fs.fstatSync(descriptor)
    let block = Buffer.allocUnsafe(Math.min(Math.max(size - start, 1), blockBytes))
    for (let position = start, kept = 0; position < size;) {
      const room = block.length - kept
      const filled = kept + fs.readSync(descriptor, block, kept, room, position)
      if (filled === kept) return
      const end = block.lastIndexOf(newline, filled - 1) + 1
      let from = 0
      while (from < end) {
        const hit = having === undefined ? from : block.indexOf(having, from)
        if (hit === -1 || hit >= end) break
        if (hit > from) from = Math.max(from, block.lastIndexOf(newline, hit - 1) + 1)
        const to = block.indexOf(newline, hit)
        const bytes = block.subarray(from, to)
        if (isFilled(bytes)) yield { path, start: position - kept + from, bytes }
        from = to + 1
      }
      from = end
      position += filled - kept
      kept = filled - from
      // A line that is longer than the block.
      if (kept === block.length) block = Buffer.concat([block], 2 * block.length)
      else block.copyWithin(0, from, filled)
    }
  } catch (error) {
    throw readError(error, path)
  } finally {
    closeQuietly(descriptor)
  }
}

/** The last one first; none where there is no file. @throws FileError */
export function* linesFromEnd(path: string): Generator<Line, void, undefined> {
  const descriptor = readingIfThere(path, () => fs.openSync(path, 'r'))
  if (descriptor === undefined) return
  try {
    /** The pieces of a line whose beginning has not been read yet, the last one first. */
    let pieces: Buffer[] = []
    for (let end = fs.fstatSync(descriptor).size; end > 0;) {
      const start = Math.max(0, end - blockBytes)
      const block = Buffer.allocUnsafe(end - start)
      fs.readSync(descriptor, block, 0, block.length, start)
      for (let to = block.length; ;) {
        const at = to === 0 ? -1 : block.lastIndexOf(newline, to - 1)
        pieces.push(block.subarray(at + 1, to))
        if (at === -1) break
        const bytes = joined(pieces)
        if (isFilled(bytes)) yield { path, start: start + at + 1, bytes }
        pieces = []
        to = at
      }
      end = start
    }
    const bytes = joined(pieces)
    if (isFilled(bytes)) yield { path, start: 0, bytes }
  } catch (error) {
    throw readError(error, path)
  } finally {
    closeQuietly(descriptor)
  }
}

function joined(pieces: Buffer[]): Buffer {
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces.toReversed())
}
