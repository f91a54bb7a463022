import { crc32 } from 'node:zlib'
import type { MadeImages } from '../../files/jobs/job-record.ts'
import { isObject, objectOf, type JsonObject } from '../../json.ts'
import type { Result } from '../lock/lock-block.ts'

/**
 * A line of a journal. Of one key the events come in this order: `intent`, `job` (for a remote job) or `made`, and then one of
 * `result`, `failure` and `release`. An intent that none of them follows is under way, or its outcome is unknown.
 */
export type JournalEvent =
  | {
      readonly type: 'begin'
      readonly run: string
      /** The name of the manifest's file. */
      readonly manifest: string
      /** The version of the program. */
      readonly version: string
    }
  /** On disk before the request is sent. */
  | {
      readonly type: 'intent'
      readonly instance: string
      readonly key: string
      /** From 1. */
      readonly variant: number
      /** The same each time the request of this intent is sent. */
      readonly idempotency_key: string
      /** How much it creates, and what that is estimated to cost. */
      readonly creates: number
      readonly cost: number | null
      /** The identity of the queue that it is given to; left out for a request that this process makes itself. */
      readonly queue?: string
      /** Where that queue is, without user and password: for messages. */
      readonly queue_at?: string
    }
  /** The remote job, as soon as its id is known. */
  | {
      readonly type: 'job'
      readonly key: string
      readonly id: string
      readonly kind: 'video' | 'operation' | 'response'
    }
  /** The addresses of results, as soon as the reply is read and before anything is fetched. */
  | { readonly type: 'made'; readonly key: string; readonly made: MadeImages }
  /** The result is in the folder of its key; `rejected` says which asserts failed. */
  | {
      readonly type: 'result'
      readonly instance: string
      readonly key: string
      readonly variant: number
      /** Version 0.1.0 wrote it here. */
      readonly result?: Result
      readonly rejected: readonly string[] | null
    }
  /** An answer that is final for this request, paid for or not. */
  | {
      readonly type: 'failure'
      readonly instance: string
      readonly key: string
      readonly exit_code: number
      readonly code: string
      readonly message: string
      readonly billed: 'no' | 'maybe' | 'yes'
    }
  /** Nothing was created: the request can be made again, and the intent does not count. */
  | { readonly type: 'release'; readonly key: string; readonly reason: string }
  /** `--regenerate`, or `on_unknown: retry`: an unknown outcome or an older result no longer counts. */
  | { readonly type: 'discard'; readonly key: string }
  /** Nothing is left to do: the next run is a new one. */
  | { readonly type: 'end'; readonly run: string }

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
