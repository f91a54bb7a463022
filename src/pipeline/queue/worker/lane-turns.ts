import type { Clock } from '../../../context.ts'
import type { Lane } from '../../manifest/manifest.ts'
import type { Begun } from '../intents.ts'

/** Who of a worker asks for a place in a lane that has none: all asking at once would be too much for the queue's server. */
export interface LaneTurns {
  /**
   * Asks until the answer is another one than to wait here. While one of the lane waits, the others wait behind it.
   * @returns the answer; to ask again later when the worker has been stopped
   */
  begin(lane: Lane, ask: () => Promise<Begun>): Promise<Begun>
  /** A place has become free here: whoever waits asks at once. */
  freed(lane: Lane): void
}

/** The longest wait between two questions where nothing tells when there will be a place, in milliseconds. */
const maxWaitMs = 5_000
const growth = 1.5

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
  const askUntil = async (own: Turn, ask: () => Promise<Begun>, told: number | undefined): Promise<Begun> => {
    let grownMs = told ?? 0
    let waitMs = told ?? 0
    for (;;) {
      if (waitMs > 0 && (await pause(own, waitMs)) === 'woken') grownMs = 0
      if (closing.aborted) return stopped
      const begun = await ask()
      if (!isHeld(begun)) return begun
      grownMs = grownMs === 0 ? begun.ms : Math.min(maxWaitMs, grownMs * growth)
      waitMs = Math.max(begun.ms, grownMs * (0.5 + clock.random() / 2))
    }
  }

  return {
    async begin(lane, ask) {
      const own = turns[lane]
      let told: number | undefined
      if (!own.isTaken) {
        const begun = await ask()
        if (!isHeld(begun)) return begun
        told = begun.ms
      }
      if (own.isTaken) {
        await new Promise<void>((resolve) => own.behind.push(resolve))
        told = undefined
      }
      own.isTaken = true
      try {
        return await askUntil(own, ask, told)
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
