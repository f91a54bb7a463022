import type { Sink } from '../../src/context.ts'

/** A stream kept in memory. */
export interface MemorySink extends Sink {
  /** Everything written, decoded. */
  readonly text: string
  readonly bytes: Buffer
  /** How many times `write` was called. */
  readonly writes: number
  /** How many times `drain` was called. */
  readonly drains: number
  /** From now on the reader takes nothing: `needsDrain` is true and `drain` waits for `release`. */
  hold(): void
  release(): void
  /** From now on, or after so many bytes, every write is lost and `drain` throws, as after `EPIPE` or `ENOSPC`. */
  fail(error: Error, afterBytes?: number): void
}

/** A sink in memory; not a terminal unless told so. */
export function memorySink({ isTerminal = false, columns = 80 } = {}): MemorySink {
  const chunks: Buffer[] = []
  let failure: Error | undefined
  let failing: { readonly error: Error; bytesLeft: number } | undefined
  let gate: PromiseWithResolvers<void> | undefined
  const sink = {
    isTerminal,
    columns,
    isClosed: false,
    stream: undefined,
    write(chunk: string | Uint8Array) {
      if (failure !== undefined) return
      const bytes = Buffer.from(chunk as string).subarray(0, failing?.bytesLeft)
      sink.writes = chunks.push(bytes)
      if (failing !== undefined && (failing.bytesLeft -= bytes.length) === 0) failure = failing.error
    },
    get needsDrain() {
      return gate !== undefined || failure !== undefined
    },
    get isIdle() {
      return gate === undefined && failure === undefined
    },
    writes: 0,
    drains: 0,
    async drain() {
      sink.drains++
      await gate?.promise
      if (failure !== undefined) throw failure
    },
    hold() {
      gate ??= Promise.withResolvers()
    },
    release() {
      gate?.resolve()
      gate = undefined
    },
    fail(error: Error, afterBytes = 0) {
      failing = { error, bytesLeft: afterBytes }
      if (afterBytes === 0) failure = error
      gate?.resolve()
    },
    get text() {
      return Buffer.concat(chunks).toString('utf8')
    },
    get bytes() {
      return Buffer.concat(chunks)
    },
  }
  return sink
}
