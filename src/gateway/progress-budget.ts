import type { Clock } from '../context.ts'
import { createWatchdog } from './watchdog.ts'

/** A reply that brings less goes nowhere: no line is so slow, and web servers hold their clients to as much. */
const leastBytesPerSecond = 256

/** The limit on a reply that comes, and gets nowhere (`--progress-timeout`); the same for every kind of reply. */
export interface ProgressBudget {
  /** Something has come whole that means something: the time starts anew. */
  completed(): void
  /** So many bytes of content have come: with enough of them the time starts anew. Comments and blanks are none. */
  received(bytes: number): void
  stop(): void
}

export interface ProgressEvents {
  onStall(): void
  /** Whether our own side keeps the reply waiting: then it is not the sender who makes no progress. */
  isOurs?(): boolean
}

/** @param limitMs within this time something has to be completed, or 256 bytes for each second of it received */
export function createProgressBudget(
  clock: Clock,
  limitMs: number | undefined,
  { onStall, isOurs }: ProgressEvents,
): ProgressBudget {
  const watchdog = createWatchdog(clock)
  const enough = ((limitMs ?? 0) / 1000) * leastBytesPerSecond
  let since = 0
  const begin = () => watchdog.watch(limitMs, () => (isOurs?.() === true ? begin() : onStall()))
  const completed = () => {
    since = 0
    watchdog.touch()
  }
  begin()
  return {
    completed,
    received(bytes) {
      since += bytes
      if (since >= enough && bytes > 0) completed()
    },
    stop: () => watchdog.stop(),
  }
}
