import type { Clock } from '../context.ts'
import { ExchangeError } from './exchange-error.ts'
import type { Reply } from './exchange.ts'
import type { Gateway } from './gateway.ts'
import { createWatchdog } from './time-limits.ts'

/** White space of JSON and HTML. */
export function isBlank(byte: number): boolean {
  return byte === 32 || (byte >= 9 && byte <= 13)
}

/** The progress made by one chunk; keep-alives do not count. */
interface ChunkProgress {
  /** Whether a message was completed. */
  readonly completed: boolean
  /** Bytes of content. */
  readonly bytes: number
}

interface BodyReading {
  /** The error for a body that keeps arriving but makes no progress. */
  stalled(seconds: number): Error
  /** Called after each chunk. Without it every byte counts as progress. */
  progress?(chunk: Uint8Array): ChunkProgress
  /**
   * How long the body may stay open once everything has come, in milliseconds: something may still follow (fault E11).
   * Undefined as long as more is expected.
   */
  graceMs?(): number | undefined
}

/** If the consumer takes longer than this for a chunk, in milliseconds, it has blocked the sender. */
const noticeableMs = 100

/**
 * The chunks of a reply's body, as long as it makes progress (`--progress-timeout`). The time that the consumer takes for
 * a chunk is not counted: a slow disk or terminal is not the sender's silence.
 * Closes the reply, however it ends.
 * @throws what `stalled` returns; ExchangeError when the connection breaks
 */
export async function* readBody(
  { clock, limits }: Pick<Gateway, 'clock' | 'limits'>,
  reply: Reply,
  { stalled, progress, graceMs }: BodyReading,
): AsyncGenerator<Uint8Array> {
  let stall: Error | undefined
  let isTaken = false
  const budget = createProgressBudget(clock, limits.progress, {
    onStall() {
      stall = stalled((limits.progress ?? 0) / 1000)
      reply.close()
    },
    isOurs: () => isTaken,
  })
  const grace = createWatchdog(clock)
  const allow = (ms: number) => grace.watch(ms, () => (isTaken ? allow(ms) : reply.close()))
  try {
    for await (const chunk of reply.body) {
      const begun = clock.monotonic()
      isTaken = true
      yield chunk
      isTaken = false
      const { completed, bytes } = progress?.(chunk) ?? { completed: false, bytes: chunk.length }
      if (completed || clock.monotonic() - begun > noticeableMs) budget.completed()
      else budget.received(bytes)
      const patience = graceMs?.()
      if (patience === undefined) grace.stop()
      // Keep-alives may go on forever: they do not prolong the grace.
      else if (completed || bytes > 0) allow(patience)
    }
    if (stall !== undefined) throw stall
  } finally {
    budget.stop()
    grace.stop()
    reply.close()
  }
}

/** A body that brings less makes no progress: no line is so slow, and web servers hold their clients to as much. */
const minBytesPerSecond = 256

/**
 * The limit on a body that goes on coming and makes no progress; the same for every kind of reply.
 * @param limitMs within this time something has to be completed, or 256 bytes for each second of it received
 * @param isOurs whether our own side keeps the sender waiting
 */
export function createProgressBudget(
  clock: Clock,
  limitMs: number | undefined,
  { onStall, isOurs }: { onStall(): void; isOurs?(): boolean },
) {
  const watchdog = createWatchdog(clock)
  const enough = ((limitMs ?? 0) / 1000) * minBytesPerSecond
  let since = 0
  const begin = () => watchdog.watch(limitMs, () => (isOurs?.() === true ? begin() : onStall()))
  const completed = () => {
    since = 0
    watchdog.touch()
  }
  begin()
  return {
    completed,
    received(bytes: number) {
      since += bytes
      if (since >= enough && bytes > 0) completed()
    },
    stop: () => watchdog.stop(),
  }
}

/** An error body is read up to this size, for at most this long (fault C27). */
const errorBodyBytes = 1_048_576
const errorBodyMs = 5_000

/** The body of an error reply, possibly truncated. */
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
