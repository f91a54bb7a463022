import type { Clock } from '../../context.ts'
import { billedOf, ModelgateError, type ExitName } from '../../errors.ts'
import { waitBefore } from '../../gateway/retry.ts'

const failuresToOpen = 5
const probeMs = 15_000

/** `neither`: it ended for a reason that says nothing of the gateway, such as a full disk. */
export type Answer = 'answered' | 'failed' | 'neither'

/** Open, after five failures in a row, a single probe is sent every 15 s, until one is answered. */
export class Circuit {
  isOpen = false
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #onChange: (isOpen: boolean) => void
  #failures = 0
  #opensAt = 0
  #newest = 0
  /** Requests up to it had been sent when the last outage showed. */
  #lastBefore = 0
  #probe: number | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, onChange: (isOpen: boolean) => void) {
    this.#clock = clock
    this.#onChange = onChange
  }

  /** When a request may be sent, on the monotonic clock; Infinity while the probe is under way. */
  get opensAt(): number {
    return this.#probe === undefined ? this.#opensAt : Infinity
  }

  /** Only when it may be sent. @param number larger than that of any before */
  begin(number: number): void {
    this.#newest = number
    if (this.isOpen) this.#probe = number
  }

  /** @returns whether it failed of an outage that was known already: it had been sent before the circuit opened */
  end(number: number, answer: Answer, askedS = 0): boolean {
    const isKnown = answer === 'failed' && number <= this.#lastBefore
    if (number === this.#probe) {
      this.#probe = undefined
      const waitMs = answer === 'failed' ? Math.max(probeMs, askedS * 1000) : 0
      if (answer === 'answered') this.#change(false)
      else this.#opensAt = this.#clock.monotonic() + waitMs
    } else if (!this.isOpen && !isKnown) {
      if (answer === 'answered') this.#failures = 0
      else if (answer === 'failed' && ++this.#failures === failuresToOpen) this.#change(true)
    }
    return isKnown
  }

  #change(isOpen: boolean): void {
    this.isOpen = isOpen
    this.#failures = 0
    this.#opensAt = isOpen ? this.#clock.monotonic() + probeMs : 0
    if (isOpen) this.#lastBefore = this.#newest
    this.#onChange(isOpen)
  }
}

/** A spent quota comes with the same status, and waiting does not help. */
export function isRateLimit(error: unknown): boolean {
  return error instanceof ModelgateError && error.exit === 'later' && error.facts.httpStatus === 429
}

/**
 * How many milliseconds to wait after a 429; at least a short pause when the gateway asks for 0 s, so that it is not asked
 * in a loop. @param earlier how many 429s in a row came before it @param askedS how many seconds the gateway asks to wait
 */
export function rateLimitPause(earlier: number, askedS: number | undefined, clock: Pick<Clock, 'random'>) {
  return Math.max(100, waitBefore(earlier, askedS, clock.random()) * 1000)
}

/** What no wait mends: a certificate, a proxy's answer, the end of the time, a queue that has been waited for. */
function isFinal({ exit, code }: ModelgateError): boolean {
  if (code === 'deadline') return exit === 'notSent'
  return /^(?:not_sent_(?:certificate|tls|proxy)|queue_unreachable)$/.test(code)
}

/** What says nothing of the gateway: the queue, its store, and its workers, whose versions may differ. */
const otherServer = /^(?:(?:queue|store|worker)_|other_version$)/

export interface QueueOrder {
  /** It continues what has been paid for already: before everything that is new. */
  readonly isFollowUp: boolean
  /** Also when nobody knows what became of it. */
  readonly repeatsUnknown?: boolean
  /** In seconds, how long it and what waits for it will take: the longest first. */
  readonly priority: number
}

/** It cost nothing, or looks up what was started before. What the gateway says of it (`x-should-retry`) comes first. */
export function mayRepeat(
  error: unknown,
  { isFollowUp, repeatsUnknown }: QueueOrder,
): error is ModelgateError {
  if (!(error instanceof ModelgateError) || isFinal(error)) return false
  const { shouldRetry } = error.facts
  if (error.exit === 'unknown' && repeatsUnknown && shouldRetry !== false) return true
  if (!isFollowUp && billedOf(error) !== 'no') return false
  if (shouldRetry !== undefined && !isFollowUp) return shouldRetry
  return shouldRetry === true || error.exit === 'later' || error.exit === 'notSent'
}

/** A worker died over the request, or stood still for too long: as often as machines come and go. */
export function isOfWorker(error: unknown): boolean {
  return error instanceof ModelgateError && error.code.startsWith('worker_')
}

export function answerIn(error: unknown): Answer {
  if (!(error instanceof ModelgateError) || otherServer.test(error.code)) return 'neither'
  if (isRateLimit(error)) return 'answered'
  const { exit, facts } = error
  if (exit === 'later' || exit === 'notSent' || exit === 'unknown') return 'failed'
  const isAnswer = facts.httpStatus !== undefined || exit === 'failed' || exit === 'contract'
  return isAnswer ? 'answered' : 'neither'
}

export function isAnswered({ exit }: Pick<ModelgateError, 'exit'>): boolean {
  return answeredExits.has(exit)
}

const answeredExits: ReadonlySet<ExitName> = new Set(['rejected', 'failed', 'contract', 'partial', 'schema'])
