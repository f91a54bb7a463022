import type { Context } from '../context.ts'

/** Bytes that come when they come: standard input, a pipe. */
export interface ByteSource {
  /** The bytes, to the end. */
  read(): AsyncIterable<Uint8Array>
  /** Stops reading, so that an open pipe does not keep the program alive. */
  release(): void
}

/** Something to do when a source has stayed silent for a time. */
export interface SilenceStep {
  readonly afterMs: number
  /** What it throws ends the reading. */
  act(): void
}

export interface ConsumeOptions {
  readonly maxBytes: number
  /** What is thrown above `maxBytes`. */
  readonly tooLarge: () => Error
  /** Called off by the first byte, or by the end; after that the reading takes as long as it takes. */
  readonly steps?: readonly SilenceStep[]
}

/**
 * Reads a source to its end and releases it.
 * @throws what it throws itself, `tooLarge`, what a step throws, and the reason of the context's signal
 */
export async function consumeInput(
  context: Pick<Context, 'clock' | 'signal'>,
  source: ByteSource,
  { maxBytes, tooLarge, steps = [] }: ConsumeOptions,
): Promise<Buffer> {
  context.signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const onAbort = () => reject(context.signal.reason)
  context.signal.addEventListener('abort', onAbort, { once: true })
  const timers = steps.map(({ afterMs, act }) =>
    context.clock.timer(afterMs, () => {
      try {
        act()
      } catch (error) {
        reject(error)
      }
    }),
  )
  const endSilence = () => {
    for (const timer of timers) timer.cancel()
  }
  const collect = async () => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of source.read()) {
      if (chunk.length === 0) continue
      if (bytes === 0) endSilence()
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, bytes)
  }
  // Not awaited itself: a read that hangs must not hold up the end.
  collect().then(resolve, reject)
  try {
    return await promise
  } finally {
    endSilence()
    context.signal.removeEventListener('abort', onAbort)
    source.release()
  }
}
