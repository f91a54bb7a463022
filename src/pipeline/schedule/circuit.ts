import type { Clock } from '../../context.ts'

/** So many failures in a row are an outage. */
const failuresToOpen = 5
const probeMs = 15_000

/** A request that is under way, and how often the circuit had opened before it was sent. */
export interface SentRequest {
  readonly outages: number
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
export function createCircuit(clock: Clock, onChange: (isOpen: boolean) => void): Circuit {
  let failures = 0
  let outages = 0
  let isOpen = false
  let opensAt = 0
  let probe: SentRequest | undefined

  const change = (next: boolean) => {
    isOpen = next
    failures = 0
    opensAt = isOpen ? clock.monotonic() + probeMs : 0
    if (isOpen) outages++
    onChange(isOpen)
  }

  return {
    get isOpen() {
      return isOpen
    },
    get opensAt() {
      return opensAt
    },
    begin() {
      const request = { outages }
      if (isOpen) {
        probe = request
        opensAt = Infinity
      }
      return request
    },
    end(request, answer, askedS = 0) {
      const isKnown = answer === 'failed' && request.outages < outages
      if (request === probe) {
        probe = undefined
        if (answer === 'answered') change(false)
        else opensAt = clock.monotonic() + (answer === 'failed' ? Math.max(probeMs, askedS * 1000) : 0)
      } else if (!isOpen && !isKnown) {
        if (answer === 'answered') failures = 0
        else if (answer === 'failed' && ++failures === failuresToOpen) change(true)
      }
      return isKnown
    },
  }
}
