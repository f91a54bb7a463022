import type { Clock } from '../context.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Reply } from './exchange.ts'
import type { Gateway } from './gateway.ts'
import { stalledError } from './reply-errors.ts'
import { createWatchdog } from './time-limits.ts'

export function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}

/** Keep-alives do not count. */
interface Progress {
  readonly messages: number
  /** Of content, in messages that are not complete or altogether. */
  readonly bytes: number
}

interface BodyReading {
  /** By default the error of a request that creates something. */
  stalled?(seconds: number): Error
  /** Called after each chunk. Without it every byte counts as progress. */
  progress?(): Progress
  /** How long the body may stay open once everything has come: something may still follow (fault E11). */
  graceMs?(): number | undefined
}

/** If the consumer takes longer than this for a chunk, in milliseconds, it has blocked the sender. */
const noticeableMs = 100
/** A body that brings less makes no progress: no line is so slow, and web servers hold their clients to as much. */
const minBytesPerSecond = 256

/**
 * The chunks of a body, as long as it makes progress: within the limit (`--progress-timeout`) a message has to be completed, or
 * 256 bytes for each second of it received. The time that the consumer takes, such as a slow disk, is not counted.
 * @throws what `stalled` returns; ExchangeError when the connection breaks
 */
export async function* readBody(
  { clock, limits }: Pick<Gateway, 'clock'> & { readonly limits: Pick<Gateway['limits'], 'progress'> },
  reply: Pick<Reply, 'body' | 'close'>,
  { stalled = stalledError, progress, graceMs }: BodyReading,
): AsyncGenerator<Uint8Array> {
  const limitS = (limits.progress ?? 0) / 1000
  let stall: Error | undefined
  let isTaken = false
  let known: Progress = { messages: 0, bytes: 0 }
  /** Bytes since the last progress. */
  let received = 0
  const watchdog = createWatchdog(clock)
  const watch = () => watchdog.watch(limits.progress, () => (isTaken ? watch() : giveUp()))
  const giveUp = () => {
    stall = stalled(limitS)
    reply.close()
  }
  const grace = createWatchdog(clock)
  const allow = (ms: number) => grace.watch(ms, () => (isTaken ? allow(ms) : reply.close()))
  watch()
  try {
    for await (const chunk of reply.body) {
      const begun = clock.monotonic()
      isTaken = true
      yield chunk
      isTaken = false
      const before = known
      known = progress?.() ?? { messages: 0, bytes: before.bytes + chunk.length }
      const isCompleted = known.messages > before.messages
      const bytes = Math.max(0, known.bytes - before.bytes)
      received += bytes
      const isEnough = bytes > 0 && received >= limitS * minBytesPerSecond
      if (isCompleted || isEnough || clock.monotonic() - begun > noticeableMs) {
        received = 0
        watchdog.touch()
      }
      const patience = graceMs?.()
      if (patience === undefined) grace.stop()
      // Keep-alives may never end: they do not prolong the grace.
      else if (isCompleted || bytes > 0) allow(patience)
    }
    if (stall !== undefined) throw stall
  } finally {
    watchdog.stop()
    grace.stop()
    reply.close()
  }
}

/** An error body is read up to this size, for at most this long (fault C27). */
const errorBodyBytes = 1_048_576
const errorBodyMs = 5_000

export async function readErrorText(reply: Reply, clock: Clock): Promise<string> {
  const decoder = new TextDecoder()
  const timer = clock.timer(errorBodyMs, () => reply.close())
  let text = ''
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      text += decoder.decode(chunk, { stream: true })
      if ((bytes += chunk.length) > errorBodyBytes) break
    }
  } catch (error) {
    // The status alone suffices; what was read of the body may help.
    if (!(error instanceof ExchangeError)) throw error
  } finally {
    timer.cancel()
    reply.close()
  }
  return text
}
