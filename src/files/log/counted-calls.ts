import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { readError, systemCode } from '../file-error.ts'
import { monthFile, monthFiles } from '../month-files.ts'
import type { LogFacts, LoggedCreation } from './log-entry.ts'

/** What `usage` adds up of a call. */
export interface CountedCall {
  /** When it began: ISO 8601, UTC. */
  readonly time: string
  readonly command: string
  /** Null when neither the call nor the reply named one. */
  readonly model: string | null
  readonly isSandbox: boolean
  readonly hasFailed: boolean
  /** Of a call that failed, whether it was billed. */
  readonly billed: 'no' | 'maybe' | 'yes' | undefined
  readonly usage: LogFacts['usage']
  readonly created: LoggedCreation | undefined
  /** The jobs that it looked up. */
  readonly jobs: readonly string[]
  /** Width and height of the first file. */
  readonly size: string | null
}

/**
 * Hands on the calls of the log that began at a time or later, the oldest first, without parsing the whole of each: a hundred
 * thousand are a matter of a moment. What is no entry is passed over.
 * @param folder undefined where there is no state folder
 * @param since milliseconds since 1970
 * @throws FileError
 */
export function countCalls(
  folder: string | undefined,
  since: number,
  add: (call: CountedCall) => void,
): void {
  if (folder === undefined) return
  const from = new Date(since).toISOString()
  const first = monthFile(since)
  for (const name of monthFiles(folder).filter((other) => other >= first)) {
    readFacts(join(folder, name), (text) => {
      const call = countedCall(text)
      if (call !== undefined && call.time >= from) add(call)
    })
  }
}

const newline = 10
const blockBytes = 262_144
/** What only `history: full` has begins here. */
const fullPart = Buffer.from(',"arguments":[')

/** Hands on the facts of each line of a file, as Latin-1: all of it, or what stands before the content of the call. */
function readFacts(path: string, add: (facts: string) => void): void {
  let descriptor: number
  try {
    descriptor = openSync(path, 'r')
  } catch (error) {
    // It has just been removed.
    if (systemCode(error) === 'ENOENT') return
    throw readError(error, path)
  }
  try {
    const { size } = fstatSync(descriptor)
    let block = Buffer.allocUnsafe(Math.min(size, blockBytes))
    for (let position = 0, kept = 0; position < size;) {
      const read = readSync(descriptor, block, kept, block.length - kept, position)
      if (read === 0) return
      position += read
      const filled = kept + read
      let start = 0
      /** Where the next line has its full part. */
      let full = block.indexOf(fullPart)
      for (
        let end = block.indexOf(newline);
        end !== -1 && end < filled;
        end = block.indexOf(newline, start)
      ) {
        if (full !== -1 && full < start) full = block.indexOf(fullPart, start)
        // Decoding is most of the work, and there is hardly ever more than ASCII.
        add(block.toString('latin1', start, full === -1 || full > end ? end : full))
        start = end + 1
      }
      kept = filled - start
      // A line that is longer than the block.
      if (kept === block.length) block = Buffer.concat([block], 2 * block.length)
      else block.copyWithin(0, start, filled)
    }
  } catch (error) {
    throw readError(error, path)
  } finally {
    closeSync(descriptor)
  }
}

/** How an entry begins. */
const head = '{"version":'

/**
 * Undefined for what is no entry. Inside a string a quote is escaped, so that no text looks like a field. A key is looked
 * for without its first quote, of which there are many.
 */
function countedCall(facts: string): CountedCall | undefined {
  // Behind the torn line of a killed process.
  const torn = facts.indexOf(head, 1)
  const text = torn === -1 ? facts : facts.slice(facts.lastIndexOf(head))
  const time = wordOf(text, 'time":"', 0)
  const command = wordOf(text, 'command":"', 0)
  const code = text.indexOf('exit_code":')
  if (!text.startsWith(head) || time === undefined || command === undefined || code === -1) return undefined
  const hasFailed = !text.startsWith('0', code + 11)
  const files = text.indexOf('files":[{', code)
  return {
    time,
    command,
    model: wordOf(text, 'model":"', code) ?? null,
    isSandbox: text.includes('sandbox":true', code),
    hasFailed,
    billed: hasFailed ? (objectOf(text, 'error":{', code)?.['billed'] as CountedCall['billed']) : undefined,
    usage: countsOf(text, code),
    created: objectOf(text, 'created":{', code),
    jobs: text.includes('jobs":[', code) ? ((parsed(text)?.['jobs'] as string[] | undefined) ?? []) : [],
    size: files === -1 ? null : sizeIn(text.slice(files)),
  }
}

/** The text behind a key; one with escaped characters is left to the parser. */
function wordOf(text: string, key: string, from: number): string | undefined {
  const at = text.indexOf(key, from)
  if (at === -1) return undefined
  const start = at + key.length
  const word = text.slice(start, text.indexOf('"', start))
  if (plain.test(word)) return word
  const value = parsed(text)?.[key.slice(0, -3)]
  return typeof value === 'string' ? value : undefined
}

const plain = /^[ -[\]-~]*$/

/** The object behind a key; one with braces in its texts is left to the parser. */
function objectOf(text: string, key: string, from: number): Record<string, unknown> | undefined {
  const at = text.indexOf(key, from)
  if (at === -1) return undefined
  const start = at + key.length - 1
  const end = text.indexOf('}', start) + 1
  const inner = text.slice(start, end)
  // An object inside it ends first.
  const whole = inner.includes('{', 1) ? text.slice(start, end + 1) : inner
  return parse(whole) ?? (parsed(text)?.[key.slice(0, -3)] as Record<string, unknown> | undefined)
}

/** The token counts, without a parser: they are numbers. */
function countsOf(text: string, from: number): CountedCall['usage'] {
  const start = text.indexOf('usage":{', from)
  if (start === -1) return undefined
  const counts = text.slice(start + 8, text.indexOf('}', start))
  return {
    input_tokens: countIn(counts, 'input_tokens":'),
    cached_tokens: countIn(counts, 'cached_tokens":'),
    output_tokens: countIn(counts, 'output_tokens":'),
    input_image_tokens: countIn(counts, 'input_image_tokens":'),
  }
}

function countIn(counts: string, key: string): number | null {
  const at = counts.indexOf(key)
  const number =
    at === -1 ? Number.NaN : Number.parseInt(counts.slice(at + key.length, at + key.length + 16), 10)
  return Number.isNaN(number) ? null : number
}

/** The whole entry, from its facts as Latin-1. */
function parsed(text: string): Record<string, unknown> | undefined {
  const json = Buffer.from(text, 'latin1').toString()
  return parse(json) ?? parse(`${json}}`)
}

function parse(json: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(json) as Record<string, unknown>
  } catch {
    return undefined
  }
}

function sizeIn(files: string): string | null {
  const [, width, height] = /"width":(\d+),"height":(\d+)/.exec(files) ?? []
  return width === undefined ? null : `${width}x${height}`
}
