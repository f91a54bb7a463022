/** What a reader wants next: some bytes, or to be past some, however many. */
type Want =
  | { readonly take: number; readonly skip?: never; readonly mayEnd: boolean }
  | { readonly skip: number; readonly take?: never; readonly mayEnd: boolean }

/** Code that reads bytes as if it could ask for them, while they are pushed at it. It always gets as many as it asks for. */
export type Steps<Result> = Generator<Want, Result, Buffer>

/** The next bytes, at most 256. @param mayEnd the data may end before the first of them */
export function* take(count: number, mayEnd = false): Steps<Buffer> {
  return yield { take: count, mayEnd }
}

/** Goes on behind the next bytes; Infinity goes to the end. @param mayEnd the data may end anywhere in them */
export function* skip(count: number, mayEnd = false): Steps<void> {
  if (count > 0) yield { skip: count, mayEnd }
}

/** Steps that are fed in pieces of any size. Bytes after their end are ignored. */
interface PushedSteps<Result> {
  add(bytes: Uint8Array): void
  /** How many bytes have arrived. */
  readonly received: number
  /** What the steps have led to; undefined while they want more. */
  readonly result: Result | undefined
  /**
   * Where the steps are. `gap`: before bytes that are optional; `open`: in bytes that may end anywhere; `inside`: in
   * bytes that have to follow; `done`: at their end.
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
  let turn = steps.next()

  return {
    add(bytes) {
      received += bytes.length
      for (let at = 0; !turn.done;) {
        const want = turn.value
        const step = Math.min((want.take ?? want.skip) - count, bytes.length - at)
        if (want.take !== undefined) kept.set(bytes.subarray(at, at + step), count)
        count += step
        at += step
        if (count < (want.take ?? want.skip)) return
        turn = steps.next(want.take === undefined ? nothing : Buffer.from(kept.subarray(0, count)))
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

/** What a container shows about whether all of it has arrived. */
export interface Integrity {
  /**
   * `whole`: the container's own end has arrived. `unknown`: the container does not say where it ends. `unchecked`: the
   * format is not known, or one that nothing here can follow. `short`: the container announces more than has arrived.
   * `damaged`: more bytes would not make it right.
   */
  readonly state: 'whole' | 'unknown' | 'unchecked' | 'short' | 'damaged'
  /** What is wrong, as the end of a sentence; undefined when nothing is. */
  readonly damage?: string
}

/** Follows a container through its bytes, wherever they are cut into pieces. */
export interface ContainerReader {
  add(bytes: Uint8Array): void
  /** Of what has arrived so far; more may be added afterwards. */
  integrity(): Integrity
}

/** What a container says about its video; null where it does not. */
export interface VideoShape {
  /** In pixels, as the video is stored. */
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** Follows a video, and reads its description on the way. */
export interface VideoReader extends ContainerReader {
  shape(): VideoShape
}

export const whole: Integrity = { state: 'whole' }
export const unknownEnd: Integrity = { state: 'unknown' }
export const short = (damage: string): Integrity => ({ state: 'short', damage })
export const damaged = (damage: string): Integrity => ({ state: 'damaged', damage })

export const endsEarly = 'its data ends too early'
export const impossibleSizes = 'its structure has impossible sizes'

/** A container that nothing here can follow. */
export function uncheckedContainer(): ContainerReader {
  return { add() {}, integrity: () => ({ state: 'unchecked' }) }
}
