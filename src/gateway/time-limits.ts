import type { Clock, Timer } from '../context.ts'
import { DeadlinePassed, ExchangeError } from './exchange-error.ts'
import type { Reply } from './exchange.ts'
import type { Gateway } from './gateway.ts'
import { stalledError } from './reply-errors.ts'

/** A timer that fires so much too late was not waiting: the process was suspended, or busy. */
const lateMs = 1_000
/** How long it may then take to catch up with what came, or could have been sent, meanwhile. */
const catchUpMs = 5_000

/**
 * Calls back when it has not been touched for a while; re-armed only when it fires. A process that was suspended or busy for
 * longer than the limit first gets to look at what came meanwhile (fault F19).
 */
export function createWatchdog(clock: Clock) {
  let timer: Timer | undefined
  let limit = 0
  let touched = 0
  let expire = () => {}
  let due = 0
  let hasLooked = false

  const arm = (left: number) => {
    // So often that a suspension hardly longer than the limit is noticed.
    const wait = Math.min(left, limit / 4)
    due = clock.monotonic() + wait
    timer = clock.timer(wait, check)
  }
  const check = () => {
    const now = clock.monotonic()
    if (now - due > lateMs) touched = Math.max(touched, now - limit + Math.min(limit, catchUpMs))
    const left = Math.ceil(touched + limit - now)
    const isOver = left <= 0
    if (isOver && hasLooked) return expire()
    hasLooked = isOver
    arm(Math.max(0, left))
  }

  return {
    /** Cheap enough to be called for every chunk. */
    touch() {
      touched = clock.monotonic()
    },
    watch(limitMs: number | undefined, onExpire: () => void) {
      timer?.cancel()
      timer = undefined
      if (limitMs === undefined) return
      limit = limitMs
      expire = onExpire
      touched = clock.monotonic()
      hasLooked = false
      arm(limit)
    },
    stop() {
      timer?.cancel()
      timer = undefined
    },
  }
}

/** The clock of `--timeout`, for a request with its retries and its body. @returns `end`: to be called once that is read */
export function startTotalLimit({
  clock,
  signal,
  limits: { total = Infinity, deadline = Infinity },
}: {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly limits: { readonly total?: number | undefined; readonly deadline?: number | undefined }
}): { readonly signal: AbortSignal; readonly end?: () => void } {
  const left = deadline - clock.monotonic()
  if (total === Infinity && left === Infinity) return { signal }
  const controller = new AbortController()
  const message =
    left < total
      ? 'The time limit for the whole command was reached (--timeout).'
      : `The request took longer than ${total / 1000} s (--timeout).`
  const timer = clock.timer(Math.max(0, Math.min(total, left)), () => {
    controller.abort(new DeadlinePassed(message))
  })
  return { signal: AbortSignal.any([signal, controller.signal]), end: () => timer.cancel() }
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
