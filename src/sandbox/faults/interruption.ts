import { sleep } from '../../context.ts'
import type { Line } from '../http/line.ts'
import type { FaultPoint } from './actions.ts'
import { usualEvent } from './change-frames.ts'
import type { FaultRule } from './rule.ts'

/** A fault that strikes at one point of the reply. */
export interface Interruption {
  readonly action: 'reset' | 'close' | 'cut' | 'stall'
  readonly at: FaultPoint
  readonly event: number
  /** Length of a stall; for good when left out. */
  readonly ms: number | undefined
}

export function interruptionOf({ action, at, event, ms }: FaultRule): Interruption | undefined {
  if (action !== 'reset' && action !== 'close' && action !== 'cut' && action !== 'stall') return undefined
  const usual = action === 'reset' ? 'before-headers' : 'mid-event'
  return { action, at: at ?? usual, event: event ?? usualEvent, ms }
}

/** A cut ends a message properly, so it needs headers first. */
export function isBeforeHeaders({ action, at }: Interruption): boolean {
  return action !== 'cut' && (at === 'before-headers' || at === 'before-body')
}

/** Long enough for the client to read what was sent: a reset may discard bytes still on their way. */
const linger = 20

/** Does it. `over` when the connection has come to its end, `resumed` after a stall that passed. */
export async function strike(line: Line, { action, at, ms }: Interruption): Promise<'over' | 'resumed'> {
  const { outgoing, clock, signal } = line
  switch (action) {
    case 'reset':
      if (at !== 'before-headers' && at !== 'before-body') await sleep(clock, linger, signal)
      outgoing.socket?.resetAndDestroy()
      return 'over'
    case 'close':
      outgoing.socket?.destroySoon()
      return 'over'
    case 'cut':
      outgoing.end()
      return 'over'
    case 'stall':
      if (ms === undefined) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
        return 'over'
      }
      await sleep(clock, ms, signal)
      return 'resumed'
  }
}
