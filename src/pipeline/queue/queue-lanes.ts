import type { Lane } from '../manifest/manifest.ts'
import { answerIn, isRateLimit } from '../schedule/attempt-error.ts'
import { createCircuit, newCircuit, type CircuitState } from '../schedule/circuit.ts'
import { createLaneRate, newLaneRate, type LaneRateState } from '../schedule/lane-rate.ts'
import type { Place } from './task-document.ts'
import type { ModelgateError } from '../../errors.ts'

/**
 * What all workers of a queue have to know of the gateway before they send anything: one document, `lanes`. Times are in
 * milliseconds since 1970, by the clock of the queue's server.
 */
export interface LanesDocument {
  readonly lanes: Readonly<Record<Lane, LaneRateState & { inFlight: number }>>
  readonly circuit: CircuitState
  /** Until when each of the newest requests counts against the rate, by its id. */
  sent: [id: string, until: number][]
}

/** A lane without a limit: only a 429 gives it one. JSON has no Infinity. */
const unlimited = Number.MAX_SAFE_INTEGER

export function newLanes(): LanesDocument {
  const lane = () => ({ ...newLaneRate(unlimited), inFlight: 0 })
  return { lanes: { text: lane(), image: lane(), video: lane() }, circuit: newCircuit(), sent: [] }
}

/** At most so many requests in any time of that length. */
export interface RequestRate {
  readonly requests: number
  readonly perMs: number
}

/**
 * A request that has not been answered counts for so much longer than the period: it may take so long on its way from here
 * to the gateway. Then there are never more in any period, even where one arrives late and the next ones at once.
 */
const wayMs = 250

/** Where nothing else tells when there will be a place, a worker asks again after so many milliseconds. */
export const askAgainMs = 200

/** Reads and changes the document, which the caller then writes. */
export interface QueueLanes {
  /** Takes a place for a request, or tells after how many milliseconds to ask again. */
  begin(lane: Lane, id: string, rate: RequestRate | null): Place | { readonly waitMs: number }
  /** Takes a place in the rate alone, for a look-up or a download. */
  beginLookUp(id: string, rate: RequestRate): { readonly waitMs: number }
  /** The gateway has accepted a remote job: the place stays taken, for it. */
  answered(lane: Lane, id: string, place: Place, rate: RequestRate | null): Place
  /**
   * Gives the place back.
   * @param error undefined when it went well; null when that is not known
   * @returns whether it failed of an outage that was known already
   */
  end(
    lane: Lane,
    id: string,
    place: Place,
    error: ModelgateError | null | undefined,
    rate: RequestRate | null,
  ): boolean
  readonly isOpen: boolean
}

/** @param random a number in [0, 1) for the jitter of pauses */
export function openLanes(document: LanesDocument, now: number, random: () => number): QueueLanes {
  const clock = { monotonic: () => now, random }
  const circuit = createCircuit(clock, () => {}, document.circuit)
  const rateOf = (lane: Lane) => createLaneRate(clock, unlimited, () => {}, document.lanes[lane])

  /** Zero when it may be sent now: then it counts. */
  const takeSlot = (id: string, { requests, perMs }: RequestRate): number => {
    document.sent = document.sent.filter(([, until]) => until > now)
    if (document.sent.length < requests) {
      document.sent.push([id, now + perMs + wayMs])
      return 0
    }
    const ends = document.sent.map(([, until]) => until).toSorted((one, other) => one - other)
    return ends[document.sent.length - requests]! - now
  }
  const shortenSlot = (id: string, rate: RequestRate | null) => {
    if (rate === null) return
    document.sent = document.sent.map(([other, until]) =>
      other === id ? [other, Math.min(until, now + rate.perMs)] : [other, until],
    )
  }
  const endAnswered = (lane: Lane, place: Place, error: ModelgateError | null | undefined) => {
    const askedS = error?.facts.retryAfterS
    const answer = error === null ? 'neither' : error === undefined ? 'answered' : answerIn(error)
    const isKnown = circuit.end(place, answer, askedS)
    if (error === undefined) rateOf(lane).succeed()
    else if (isRateLimit(error)) rateOf(lane).refuse(place.number, askedS, document.lanes[lane].inFlight)
    return isKnown
  }

  return {
    begin(lane, id, rate) {
      const { pausedUntil, concurrency, inFlight } = document.lanes[lane]
      if (circuit.opensAt === Infinity) return { waitMs: askAgainMs }
      const waitMs = Math.max(pausedUntil, circuit.opensAt) - now
      if (waitMs > 0) return { waitMs }
      if (inFlight >= concurrency) return { waitMs: askAgainMs }
      const slotMs = rate === null ? 0 : takeSlot(id, rate)
      if (slotMs > 0) return { waitMs: slotMs }
      const { outages, isProbe } = circuit.begin()
      document.lanes[lane].inFlight++
      return { number: rateOf(lane).begin(), outages, isProbe, isAnswered: false }
    },
    beginLookUp: (id, rate) => ({ waitMs: takeSlot(id, rate) }),
    answered(lane, id, place, rate) {
      shortenSlot(id, rate)
      endAnswered(lane, place, undefined)
      return { ...place, isAnswered: true }
    },
    end(lane, id, place, error, rate) {
      shortenSlot(id, rate)
      const isKnown = place.isAnswered ? false : endAnswered(lane, place, error)
      document.lanes[lane].inFlight = Math.max(0, document.lanes[lane].inFlight - 1)
      return isKnown
    },
    get isOpen() {
      return circuit.isOpen
    },
  }
}
