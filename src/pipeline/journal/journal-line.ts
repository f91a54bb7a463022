import { crc32 } from 'node:zlib'
import { isObject, objectOf, type JsonObject } from '../../json.ts'
import type { JournalEvent } from './journal-event.ts'

/** The event as a line of JSON, with the time; its last member is a checksum of everything before that. */
export function writeLine(event: JournalEvent, now: number): string {
  const start = JSON.stringify({ ...event, at: new Date(now).toISOString() }).slice(0, -1)
  return `${start},"check":"${checksum(Buffer.from(start))}"}\n`
}

/** `,"check":"0123abcd"}` */
const endLength = 20
/** `,"at":"2026-11-22T12:00:00.000Z"` */
const timeLength = 32

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => Number.isFinite(value)
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isTexts: Check = (value) => Array.isArray(value) && value.every(isText)
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value)
const orNothing =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value)
const isResult: Check = (value) => isObject(value) && Array.isArray(value['outputs'])

const isMade: Check = (value) =>
  isObject(value) &&
  isText(value['origin']) &&
  isNumber(value['expires_at']) &&
  Array.isArray(value['images']) &&
  value['images'].every((image) => isObject(image) && isCount(image['index']) && isText(image['url']))

const attempt = { instance: isText, key: isText, variant: isCount }

/** What readers rely on, for each type of event. */
const fields: Readonly<Record<JournalEvent['type'], Readonly<Record<string, Check>>>> = {
  begin: { run: isText, manifest: isText },
  intent: {
    ...attempt,
    idempotency_key: isText,
    creates: isCount,
    cost: orNull(isNumber),
    queue: orNothing(isText),
    queue_at: orNothing(isText),
  },
  job: { key: isText, id: isText, kind: isText },
  made: { key: isText, made: isMade },
  result: { ...attempt, result: orNothing(isResult), rejected: orNull(isTexts) },
  failure: {
    instance: isText,
    key: isText,
    exit_code: isCount,
    code: isText,
    message: isText,
    billed: isText,
  },
  release: { key: isText },
  discard: { key: isText },
  end: { run: isText },
}

export type JournalLine =
  | { readonly event: JournalEvent; readonly problem?: never }
  /** A clause: `is damaged`. */
  | { readonly problem: string; readonly event?: never }

/** The problem of a line whose checksum is wrong. */
export const damagedLine = 'is damaged'

/** Reads one line, without its newline. */
function readLine(line: Buffer): JournalLine {
  const start = line.subarray(0, Math.max(0, line.length - endLength))
  const end = line.toString('latin1', start.length)
  if (end !== `,"check":"${checksum(start)}"}`) return { problem: damagedLine }
  // The event alone, without time and checksum.
  const value = parse(`${start.toString('utf8', 0, Math.max(0, start.length - timeLength))}}`)
  const type = value['type']
  if (typeof type !== 'string' || !Object.hasOwn(fields, type)) {
    return { problem: 'has an event that this version does not know' }
  }
  const wrong = Object.entries(fields[type as JournalEvent['type']]).find(
    ([name, check]) => !check(value[name]),
  )
  if (wrong !== undefined) return { problem: `has no valid "${wrong[0]}"` }
  return { event: value as unknown as JournalEvent }
}

/**
 * The lines of a journal, in order. What is behind the last newline counts only if it is whole: otherwise the process
 * was killed while it wrote it, nothing had begun to rely on it, and it is left out.
 */
export function* readLines(bytes: Buffer): Generator<JournalLine> {
  for (let from = 0; from < bytes.length;) {
    const newline = bytes.indexOf(10, from)
    const to = newline === -1 ? bytes.length : newline
    const line = readLine(bytes.subarray(from, to))
    if (newline !== -1 || line.event !== undefined) yield line
    from = to + 1
  }
}

/** How the last line of a journal ends, for whoever appends to it. */
export interface JournalTail {
  /** How many bytes to keep: the rest is a line that was never finished. */
  readonly wholeBytes: number
  /** Whether the last line that is kept has no newline yet. */
  readonly needsNewline: boolean
}

export function findTail(bytes: Buffer): JournalTail {
  const lineStart = bytes.lastIndexOf(10) + 1
  const isWhole = readLine(bytes.subarray(lineStart)).event !== undefined
  return { wholeBytes: isWhole ? bytes.length : lineStart, needsNewline: isWhole }
}

function checksum(bytes: Buffer): string {
  return crc32(bytes).toString(16).padStart(8, '0')
}

/** An empty object for anything else. */
function parse(json: string): JsonObject {
  try {
    return objectOf(JSON.parse(json))
  } catch {
    return {}
  }
}
