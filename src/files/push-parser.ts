import { crc32 } from 'node:zlib'

/** What a parser needs next: `take` bytes to look at, or to get past `skip` bytes. */
interface Want {
  readonly take?: number
  readonly skip?: number
  /** Stops skipping behind the first byte ff, unless 00 follows it in the same piece. */
  readonly pastMark?: boolean
  /** The CRC-32 to continue with the bytes that are skipped. */
  readonly crc?: number
  /** Whether the data may end here: before the first byte to take, or within those to skip. */
  readonly mayEnd?: boolean
}

/**
 * A parser written as a generator that requests bytes, while its input is pushed in pieces. It always gets as many as
 * it requests.
 */
export type Parser<Result> = Generator<Want, Result, Buffer>

const maxTake = 256

/** Reads the next bytes, at most 256. @param mayEnd whether the data may end before the first of them */
export function* readBytes(take: number, mayEnd = false): Parser<Buffer> {
  return yield { take, mayEnd }
}

/** Skips the next bytes; Infinity skips to the end. @param mayEnd whether the data may end within them */
export function* skipBytes(skip: number, mayEnd = false): Parser<void> {
  if (skip > 0) yield { skip, mayEnd }
}

/** Skips the bytes up to the first ff, and that one; most of those that 00 follows, which escapes it in JPEG, are skipped too. */
export function* skipPastMark(): Parser<void> {
  yield { skip: Infinity, pastMark: true }
}

/** Skips the next bytes. @returns their CRC-32, which continues that of what came before */
export function* skipWithChecksum(skip: number, before: number): Parser<number> {
  return skip === 0 ? before : (yield { skip, crc: before }).readUInt32BE()
}

/** Feeds a parser pieces of any size; nothing of them is kept but the bytes that it looks at. Bytes after its end are ignored. */
export class PushParser<Result> {
  /** How many bytes have arrived. */
  received = 0
  readonly #parser: Parser<Result>
  readonly #taken = Buffer.alloc(maxTake)
  #turn: IteratorResult<Want, Result>
  /** How many of the bytes of the current request have arrived. */
  #count = 0
  #crc = 0

  constructor(parser: Parser<Result>) {
    this.#parser = parser
    this.#turn = parser.next()
  }

  add(bytes: Uint8Array): void {
    this.received += bytes.length
    for (let at = 0; this.#turn.done !== true;) {
      const { take, skip, pastMark = false, crc } = this.#turn.value
      const wanted = take ?? skip!
      let found = pastMark ? bytes.indexOf(0xff, at) : -1
      while (found !== -1 && bytes[found + 1] === 0) found = bytes.indexOf(0xff, found + 2)
      const piece = bytes.subarray(at, found === -1 ? at + wanted - this.#count : found + 1)
      if (take !== undefined) this.#taken.set(piece, this.#count)
      else if (crc !== undefined) this.#crc = crc32(piece, this.#count === 0 ? crc : this.#crc)
      this.#count += piece.length
      at += piece.length
      if (this.#count < wanted && found === -1) return
      if (take === undefined) this.#taken.writeUInt32BE(this.#crc)
      this.#turn = this.#parser.next(Buffer.from(this.#taken.subarray(0, take ?? 4)))
      this.#count = 0
    }
  }

  /** The result; undefined while more bytes are needed. */
  get result(): Result | undefined {
    return this.#turn.done === true ? this.#turn.value : undefined
  }

  /**
   * Where the data has ended. `gap`: before optional bytes; `open`: in bytes that may end anywhere; `inside`: in
   * required bytes; `done`: behind the end of the parser.
   */
  get position(): 'gap' | 'open' | 'inside' | 'done' {
    if (this.#turn.done === true) return 'done'
    const { take, mayEnd = false } = this.#turn.value
    if (take === undefined) return mayEnd ? 'open' : 'inside'
    return mayEnd && this.#taken.subarray(0, this.#count).every((byte) => byte === 0) ? 'gap' : 'inside'
  }
}
