import type { Context, Input } from '../../context.ts'
import { maxRequestBytes, maxRequestMebibytes } from '../../contract/limits.ts'
import { FileError, ModelgateError, UsageError } from '../../errors.ts'

/** Something to do when standard input has stayed silent for a time. */
export interface SilenceStep {
  readonly afterMs: number
  /** What it throws ends the reading. */
  act(): void
}

/**
 * Reads standard input to its end and releases it. The steps are called off by the first byte, or by the end;
 * after that the reading takes as long as it takes.
 * @throws UsageError `input_too_large` above `maxRequestBytes`, FileError `stdin_failed`, what a step throws,
 *   and the reason of the context's signal
 */
export async function consumeInput(context: Context, steps: readonly SilenceStep[] = []): Promise<Buffer> {
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
  // Not awaited itself: a read that hangs must not hold up the end.
  collect(context.stdin, endSilence).then(resolve, (error: unknown) => reject(readFailure(error)))
  try {
    return await promise
  } finally {
    endSilence()
    context.signal.removeEventListener('abort', onAbort)
    context.stdin.release()
  }
}

async function collect(stdin: Input, onFirstByte: () => void): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stdin.read()) {
    if (chunk.length === 0) continue
    if (bytes === 0) onFirstByte()
    bytes += chunk.length
    if (bytes > maxRequestBytes) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, bytes)
}

function tooLarge(): UsageError {
  const message = `Standard input is larger than ${maxRequestMebibytes} MiB, the most that can be sent.`
  return new UsageError(message, { code: 'input_too_large', hint: 'Send less, in several calls.' })
}

function readFailure(error: unknown): unknown {
  if (error instanceof ModelgateError) return error
  const reason =
    error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)
  return new FileError('stdin_failed', `Standard input cannot be read: ${reason}.`, {
    phase: 'input',
    cause: error,
  })
}
