import { fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { closeAfterReading, readError, systemCode } from '../file-error.ts'
import { monthFile, monthFiles } from '../month-files.ts'
import { decodeLine, type LogFacts, type LoggedCreation } from './log-entry.ts'

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
  /** Of the videos that a look-up has saved, together. */
  readonly savedSeconds: number
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
    readLines(join(folder, name), (facts, end, line) => {
      const call = usualCall(facts, end) ?? parsedCall(line())
      if (call !== undefined && call.time >= from) add(call)
    })
  }
}

const newline = 10
/** The id of an entry is also the last of it. */
const endBytes = '"log_0123456789abcdef"}'.length
const blockBytes = 262_144
/** What only `history: full` has begins here. */
const fullPart = Buffer.from(',"arguments":[')

/**
 * Hands on of each line of a file, as Latin-1, its facts (all of it, or what stands before the content of the call) and
 * its end, and the line itself, which is valid until the next one.
 */
function readLines(path: string, add: (facts: string, end: string, line: () => Buffer) => void): void {
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
        const factsEnd = full === -1 || full > end ? end : full
        const [from, to, bytes] = [start, end, block]
        const last = bytes.toString('latin1', Math.max(from, to - endBytes), to)
        add(bytes.toString('latin1', from, factsEnd), last, () => bytes.subarray(from, to))
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
    closeAfterReading(descriptor)
  }
}

/** Text without what needs a parser: escaped characters, and more than ASCII. */
const word = String.raw`"([^"\\\x80-\xff]*)"`
/** Any text, which is not wanted. */
const other = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`
const number = String.raw`(\d+|null)`
const optional = (name: string, value: string) => `(?:,"${name}":${value})?`

/**
 * All facts of a usual entry, in the order in which `log-call.ts` has them: one expression is much faster than a parser.
 * Whatever is in another order is parsed.
 */
const usualEntry = new RegExp(
  [
    `^\\{"version":1,"id":${word},"time":${word},"duration_ms":\\d+,"command":${word},"cwd":${other}`,
    ',"exit_code":(\\d+)',
    optional('terminal', other),
    '(,"sandbox":true)?',
    optional('origin', other),
    optional('profile', other),
    optional('model', word),
    optional('request_id', other),
    optional('finish_reason', other),
    optional(
      'usage',
      `\\{"input_tokens":${number},"cached_tokens":${number},"output_tokens":${number}[^{}]*?(?:,"input_image_tokens":${number})?[^{}]*\\}`,
    ),
    optional('created', String.raw`(\{(?:[^{}]|\{[^{}]*\})*\})`),
    `,"files":\\[([^"\\]]*(?:${other}[^"\\]]*)*)\\](?:,"end":${other}\\})?$`,
  ].join(''),
)

/** Undefined for an entry that has to be parsed, and for what is none. */
function usualCall(facts: string, end: string): CountedCall | undefined {
  const found = usualEntry.exec(facts)
  // An entry that was cut may have another behind it.
  if (found === null || end !== `"${found[1]}"}`) return undefined
  const [, , time, command, code, sandbox, model, input, cached, output, pictures, created, file] = found
  return {
    time: time!,
    command: command!,
    model: model ?? null,
    isSandbox: sandbox !== undefined,
    hasFailed: code !== '0',
    billed: undefined,
    usage:
      input === undefined
        ? undefined
        : {
            input_tokens: countOf(input),
            cached_tokens: countOf(cached),
            output_tokens: countOf(output),
            input_image_tokens: countOf(pictures),
          },
    created: created === undefined ? undefined : (JSON.parse(created) as LoggedCreation),
    jobs: [],
    size: file === '' ? null : sizeIn(file!),
    // Calls with jobs are parsed.
    savedSeconds: 0,
  }
}

function countOf(digits: string | undefined): number | null {
  return digits === undefined || digits === 'null' ? null : Number(digits)
}

function sizeIn(files: string): string | null {
  const [, width, height] = /^[^{}]*\{[^{}]*"width":(\d+),"height":(\d+)/.exec(files) ?? []
  return width === undefined ? null : `${width}x${height}`
}

/** The same for an entry that failed, looked something up, or is unusual otherwise. */
function parsedCall(line: Buffer): CountedCall | undefined {
  const facts = decodeLine(line)?.facts
  if (facts === undefined) return undefined
  const {
    time,
    command,
    model = null,
    sandbox,
    exit_code: code,
    error,
    usage,
    created,
    jobs = [],
    files,
  } = facts
  const [file] = files
  const size = file?.width === undefined || file.height === undefined ? null : `${file.width}x${file.height}`
  const isSandbox = sandbox === true
  return {
    time,
    command,
    model,
    isSandbox,
    hasFailed: code !== 0,
    billed: error?.billed,
    usage,
    created,
    jobs,
    size,
    savedSeconds: files.reduce((sum, { seconds = 0 }) => sum + seconds, 0),
  }
}
