import type { Clock } from '../../context.ts'

/** So many failures in a row are an outage. */
const failuresToOpen = 5
const probeMs = 15_000

/** A request that is under way, and how often the circuit had opened before it was sent. */
export interface SentRequest {
  readonly outages: number
  readonly isProbe: boolean
}

/** `neither`: it ended for a reason that says nothing of the gateway, such as a full disk. */
export type Answer = 'answered' | 'failed' | 'neither'

/**
 * Tells whether the gateway is there. Closed, everything may be sent. Open, after five failures in a row, nothing but a
 * single probe every 15 s, until one is answered.
 */
export interface Circuit {
  readonly isOpen: boolean
  /** When a request may be sent, on the monotonic clock; Infinity while the probe is under way. */
  readonly opensAt: number
  /** To be called for each request, only when it may be sent. */
  begin(): SentRequest
  /**
   * To be called when the request has ended.
   * @param askedS how many seconds the gateway asks to wait
   * @returns whether it failed of an outage that was known already: it had been sent before the circuit opened
   */
  end(request: SentRequest, answer: Answer, askedS?: number): boolean
}

/** @param onChange called when it opens or closes */
export function createCircuit(clock: Pick<Clock, 'monotonic'>, onChange: (isOpen: boolean) => void): Circuit {
  const state = { isOpen: false, failures: 0, outages: 0, opensAt: 0, isProbing: false }
  const change = (next: boolean) => {
    state.isOpen = next
    state.failures = 0
    state.opensAt = next ? clock.monotonic() + probeMs : 0
    if (next) state.outages++
    onChange(next)
  }

  return {
    get isOpen() {
      return state.isOpen
    },
    get opensAt() {
      return state.isProbing ? Infinity : state.opensAt
    },
    begin() {
      if (state.isOpen) state.isProbing = true
      return { outages: state.outages, isProbe: state.isOpen }
    },
    end(request, answer, askedS = 0) {
      const isKnown = answer === 'failed' && request.outages < state.outages
      if (request.isProbe) {
        state.isProbing = false
        if (answer === 'answered') change(false)
        else state.opensAt = clock.monotonic() + (answer === 'failed' ? Math.max(probeMs, askedS * 1000) : 0)
      } else if (!state.isOpen && !isKnown) {
        if (answer === 'answered') state.failures = 0
        else if (answer === 'failed' && ++state.failures === failuresToOpen) change(true)
      }
      return isKnown
    },
  }
}
