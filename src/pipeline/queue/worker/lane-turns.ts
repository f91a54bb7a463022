import type { Clock } from '../../../context.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { Begun } from '../intents.ts'

/** Who of a worker asks for a place in a lane that has none: all asking at once would be too much for the queue's server. */
export interface LaneTurns {
  /**
   * Asks until the answer is another one than to wait here. While one of the lane waits, the others wait behind it.
   * @returns the answer; to ask again later when it has waited for long, or the worker has been stopped
   */
  begin(lane: Lane, ask: () => Promise<Begun>): Promise<Begun>
  /** A place has become free here: whoever waits asks at once. */
  freed(lane: Lane): void
}

/** The longest wait between two questions where nothing tells when there will be a place, in milliseconds. */
const maxWaitMs = 5_000
const growth = 1.5
/**
 * Nobody waits here for longer, in milliseconds. The places may be those of tasks that a dead worker has left, and these are
 * taken over by whoever gets their deliveries: not by workers that are full of what waits.
 */
const maxHeldMs = 10_000
/** Then the delivery comes again after at least so long. */
const againMs = 1_000

interface Turn {
  /** Whether one of the lane waits for a place. */
  isTaken: boolean
  /** Those behind it. */
  readonly behind: (() => void)[]
  /** Ends its wait. */
  wake: (() => void) | undefined
}

/** @param closing ends all waits */
export function openLaneTurns(clock: Clock, closing: AbortSignal): LaneTurns {
  const turn = (): Turn => ({ isTaken: false, behind: [], wake: undefined })
  const turns: Readonly<Record<Lane, Turn>> = { text: turn(), image: turn(), video: turn() }
  closing.addEventListener(
    'abort',
    () => {
      for (const one of Object.values(turns)) one.wake?.()
    },
    { once: true },
  )

  const pause = async (own: Turn, ms: number): Promise<'woken' | 'over'> => {
    if (closing.aborted) return 'woken'
    const { promise, resolve } = Promise.withResolvers<'woken' | 'over'>()
    const timer = clock.timer(ms, () => resolve('over'), 'sleep')
    own.wake = () => resolve('woken')
    const how = await promise
    own.wake = undefined
    timer.cancel()
    return how
  }
  const askUntil = async (
    own: Turn,
    ask: () => Promise<Begun>,
    told: number | undefined,
    untilMs: number,
  ): Promise<Begun> => {
    let grownMs = told ?? 0
    let waitMs = told ?? 0
    for (;;) {
      if (clock.monotonic() + waitMs > untilMs) return later(waitMs)
      if (waitMs > 0 && (await pause(own, waitMs)) === 'woken') grownMs = 0
      if (closing.aborted) return stopped
      const begun = await ask()
      if (!isHeld(begun)) return begun
      grownMs = grownMs === 0 ? begun.ms : Math.min(maxWaitMs, grownMs * growth)
      waitMs = Math.max(begun.ms, grownMs * (0.5 + clock.random() / 2))
    }
  }

  const later = (ms: number): Begun => ({
    kind: 'wait',
    ms: Math.max(ms, againMs * (1 + clock.random())),
    isHeld: false,
  })
  /** Waits for the turn. @returns false when that has taken too long */
  const isOnTurn = async (own: Turn, untilMs: number): Promise<boolean> => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const next = () => resolve(true)
    own.behind.push(next)
    const timer = clock.timer(
      untilMs - clock.monotonic(),
      () => {
        const at = own.behind.indexOf(next)
        // Otherwise it is its turn already.
        if (at === -1) return
        own.behind.splice(at, 1)
        resolve(false)
      },
      'sleep',
    )
    const isMine = await promise
    timer.cancel()
    return isMine
  }

  return {
    async begin(lane, ask) {
      const own = turns[lane]
      const untilMs = clock.monotonic() + maxHeldMs
      let told: number | undefined
      if (!own.isTaken) {
        const begun = await ask()
        if (!isHeld(begun)) return begun
        told = begun.ms
      }
      if (own.isTaken) {
        if (!(await isOnTurn(own, untilMs))) return later(0)
        told = undefined
      }
      own.isTaken = true
      try {
        return await askUntil(own, ask, told, untilMs)
      } finally {
        const next = own.behind.shift()
        if (next === undefined) own.isTaken = false
        else next()
      }
    },
    freed: (lane) => turns[lane].wake?.(),
  }
}

/** A worker that stops gives it back: another one may have a place. */
const stopped: Begun = { kind: 'wait', ms: 0, isHeld: false }

function isHeld(begun: Begun): begun is Extract<Begun, { kind: 'wait' }> {
  return begun.kind === 'wait' && begun.isHeld
}
