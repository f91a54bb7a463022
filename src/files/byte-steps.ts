import { crc32 } from 'node:zlib'

/** The next request of a reader: read some bytes, or skip any number. */
type Want =
  | { readonly take: number; readonly skip?: never; readonly mayEnd: boolean }
  | { readonly skip: number; readonly take?: never; readonly mayEnd: boolean; readonly crc?: number }

/**
 * A parser written as a generator that requests bytes, while its input is pushed in pieces. It always gets as many as
 * it requests.
 */
export type Steps<Result> = Generator<Want, Result, Buffer>

/** Reads the next bytes, at most 256. @param mayEnd whether the data may end before the first of them */
export function* take(count: number, mayEnd = false): Steps<Buffer> {
  return yield { take: count, mayEnd }
}

/** Skips the next bytes; Infinity skips to the end. @param mayEnd whether the data may end within them */
export function* skip(count: number, mayEnd = false): Steps<void> {
  if (count > 0) yield { skip: count, mayEnd }
}

/** Skips the next bytes. @returns their CRC-32, which goes on from that of what came before */
export function* checksum(count: number, before: number): Steps<number> {
  return count === 0 ? before : (yield { skip: count, mayEnd: false, crc: before }).readUInt32BE()
}

/** A parser that is fed pieces of any size. Bytes after its end are ignored. */
interface PushedSteps<Result> {
  add(bytes: Uint8Array): void
  /** How many bytes have arrived. */
  readonly received: number
  /** The result; undefined while more bytes are needed. */
  readonly result: Result | undefined
  /**
   * The state of the parser. `gap`: before optional bytes; `open`: in bytes that may end anywhere; `inside`: in
   * required bytes; `done`: at the end.
   */
  readonly position: 'gap' | 'open' | 'inside' | 'done'
  /** The requested bytes that have arrived so far. */
  readonly pending: Buffer
}

const maxTake = 256
const nothing = Buffer.alloc(0)

export function pushInto<Result>(steps: Steps<Result>): PushedSteps<Result> {
  const kept = Buffer.alloc(maxTake)
  let received = 0
  let count = 0
  let crc = 0
  let turn = steps.next()

  return {
    add(bytes) {
      received += bytes.length
      for (let at = 0; !turn.done;) {
        const want = turn.value
        const step = Math.min((want.take ?? want.skip) - count, bytes.length - at)
        const piece = bytes.subarray(at, at + step)
        if (want.take !== undefined) kept.set(piece, count)
        else if (want.crc !== undefined) crc = crc32(piece, count === 0 ? want.crc : crc)
        count += step
        at += step
        if (count < (want.take ?? want.skip)) return
        if (want.take === undefined) kept.writeUInt32BE(crc)
        turn = steps.next(Buffer.from(kept.subarray(0, want.take ?? 4)))
        count = 0
      }
    },
    get received() {
      return received
    },
    get result() {
      return turn.done ? turn.value : undefined
    },
    get position() {
      if (turn.done) return 'done'
      if (!turn.value.mayEnd) return 'inside'
      return turn.value.take === undefined ? 'open' : 'gap'
    },
    get pending() {
      return turn.done || turn.value.take === undefined ? nothing : Buffer.from(kept.subarray(0, count))
    },
  }
}

/** Whether a container is complete. */
export interface Integrity {
  /**
   * `whole`: the container's end was found. `unknown`: the container does not say where it ends. `unchecked`: the
   * format is unknown, or there is no parser for it. `short`: the container announces more data. `damaged`: more data
   * would not help.
   */
  readonly state: 'whole' | 'unknown' | 'unchecked' | 'short' | 'damaged'
  /** The problem, as the end of a sentence; undefined if there is none. */
  readonly damage?: string
}

/** Checks a container incrementally, in pieces of any size. */
export interface ContainerReader {
  add(bytes: Uint8Array): void
  /** Of what has arrived so far; more may be added afterwards. */
  integrity(): Integrity
}

/** The properties of a video according to its container; null if unknown. */
export interface VideoShape {
  /** In pixels, as the video is stored. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** Checks a video container and reads its properties. */
export interface VideoReader extends ContainerReader {
  shape(): VideoShape
}

export const whole: Integrity = { state: 'whole' }
export const unknownEnd: Integrity = { state: 'unknown' }
export const short = (damage: string): Integrity => ({ state: 'short', damage })
export const damaged = (damage: string): Integrity => ({ state: 'damaged', damage })

export const endsEarly = 'its data ends too early'
export const impossibleSizes = 'its structure has impossible sizes'

/** A container without a parser. */
export function uncheckedContainer(): ContainerReader {
  return { add() {}, integrity: () => ({ state: 'unchecked' }) }
}
