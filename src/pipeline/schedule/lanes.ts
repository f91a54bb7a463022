import type { Clock, Timer } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import type { RunEvent } from '../../events/run-document.ts'
import { waitBefore } from '../../gateway/retry.ts'
import type { Lock } from '../lock/lock-block.ts'
import { lanes as laneNames, type Instance, type Lane as LaneName } from '../manifest/manifest.ts'
import {
  answerIn,
  Circuit,
  isOfWorker,
  isRateLimit,
  mayRepeat,
  rateLimitPause,
  type QueueOrder,
} from './circuit.ts'

export type LaneEvent = Extract<RunEvent, { type: 'lane-change' | 'circuit-change' }>

interface LanesOptions {
  readonly clock: Clock
  /** How many requests may be under way; at least 1. */
  readonly concurrency: Readonly<Record<LaneName, number>>
  /** How many requests the run has: a fifth of them, and ten, may be sent again after failures. */
  readonly jobs: number
  /** On the monotonic clock: `--timeout`. */
  readonly deadline?: number | undefined
  onChange(event: LaneEvent): void
}

interface Waiting {
  /** Of the last attempt, if there was one. */
  readonly error: unknown
  reject(reason: unknown): void
}

/** What waits for its turn. */
interface Task extends Waiting {
  readonly order: QueueOrder
  readonly number: number
  start(request: number): void
}

export class Lanes {
  readonly #clock: Clock
  readonly #deadline: number
  readonly #lanes: readonly Lane[]
  readonly #circuit: Circuit
  /** What may not wait for its turn again before a timer has run. */
  readonly #resting = new Map<Waiting, Timer>()
  #retriesLeft: number
  #number = 0
  #sent = 0
  #wake: Timer | undefined
  #isPumping = false
  #stopped: { readonly reason: unknown } | undefined
  #lastError = ''

  constructor(options: LanesOptions) {
    const { clock, jobs, deadline = Infinity, onChange } = options
    this.#clock = clock
    this.#deadline = deadline
    this.#retriesLeft = Math.ceil(jobs / 5) + 10
    this.#lanes = laneNames.map((name) => new Lane(name, options))
    this.#circuit = new Circuit(clock, (isOpen) => {
      const held = `${this.#lastError} One request every 15 s tries again.`
      onChange({
        type: 'circuit-change',
        open: isOpen,
        reason: isOpen ? held : 'the gateway answers again',
      })
    })
  }

  get inFlight(): number {
    return this.#lanes.reduce((sum, { inFlight }) => sum + inFlight, 0)
  }

  /**
   * Calls `attempt` in its turn, and again after a 429, and after a failure that may be repeated.
   * @param order read again for each attempt: what has become a remote job is a follow-up from then on
   * @throws what the last attempt threw; the reason of `stop`; ModelgateError (exit 5) at the deadline
   */
  async run<Value>(
    name: LaneName,
    order: QueueOrder,
    attempt: (number: number) => Promise<Value>,
  ): Promise<Value> {
    const lane = this.#lanes.find((one) => one.name === name)!
    const number = this.#number++
    let last: unknown
    /** That were not a 429. */
    let failures = 0
    for (let attempts = 1; ; attempts++) {
      const request = await this.#turn(lane, order, number, last)
      let restMs = 0
      try {
        const value = await attempt(attempts)
        this.#circuit.end(request, 'answered')
        lane.succeed()
        return value
      } catch (error) {
        last = error
        this.#lastError = error instanceof Error ? error.message : String(error)
        const askedS = error instanceof ModelgateError ? error.facts.retryAfterS : undefined
        const isOfOutage = this.#circuit.end(request, answerIn(error), askedS)
        if (this.#stopped !== undefined || !mayRepeat(error, order)) throw error
        if (isRateLimit(error)) lane.refuse(request, askedS)
        else {
          // What was under way when an outage began is sent again when that is over; it was one failure, not one each.
          // Workers that die say nothing of the gateway.
          if (!isOfOutage && !isOfWorker(error)) this.#countRetry(error)
          restMs = waitBefore(failures++, askedS, this.#clock.random()) * 1000
          if (this.#clock.monotonic() + restMs >= this.#deadline) throw error
        }
      } finally {
        lane.inFlight--
        this.#pumpSoon()
      }
      if (restMs > 0) await this.#rest(last, restMs)
    }
  }

  /** Whatever waits for a place fails with the reason. What is under way continues. */
  stop(reason: unknown): void {
    if (this.#stopped !== undefined) return
    this.#stopped = { reason }
    this.#wake?.cancel()
    for (const task of this.#takeWaiting()) task.reject(reason)
  }

  /** @returns the number of the request that may be sent now */
  #turn(lane: Lane, order: QueueOrder, number: number, error: unknown): Promise<number> {
    return new Promise((start, reject) => {
      if (this.#stopped !== undefined) return reject(this.#stopped.reason as Error)
      lane.add({ order, number, error, start, reject })
      this.#pumpSoon()
    })
  }

  #rest(error: unknown, ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiting = { error, reject }
      const onTime = () => {
        this.#resting.delete(waiting)
        resolve()
      }
      this.#resting.set(waiting, this.#clock.timer(ms, onTime, 'sleep'))
    })
  }

  /** Whoever adds many tasks in one turn has them sent by their priority, not by who was first. */
  #pumpSoon(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    queueMicrotask(() => this.#pump())
  }

  /** Sends what may be sent now, and is called again when more may be. */
  #pump(): void {
    this.#isPumping = false
    this.#wake?.cancel()
    const now = this.#clock.monotonic()
    const isLate = now >= this.#deadline
    let next = Infinity
    for (const lane of this.#lanes) {
      const sendsAt = () => Math.max(lane.pausedUntil, this.#circuit.opensAt)
      while (lane.hasWork && sendsAt() <= now && !isLate) {
        const request = ++this.#sent
        this.#circuit.begin(request)
        lane.begin(request).start(request)
      }
      const isTooLate = this.#circuit.opensAt !== Infinity && sendsAt() >= this.#deadline
      if (isLate || (lane.hasWork && isTooLate)) {
        for (const task of lane.takeAll()) task.reject(task.error ?? deadlinePassed())
      }
      if (lane.hasWork) next = Math.min(next, sendsAt())
    }
    if (next !== Infinity) this.#wake = this.#clock.timer(next - now, () => this.#pump(), 'sleep')
  }

  /** @throws the error when the retries are used up: if the outage has lasted as long, the next run does the rest */
  #countRetry(error: ModelgateError): void {
    if (this.#retriesLeft-- > 0) return
    if (this.#circuit.isOpen) {
      const message = `Not sent, because the gateway fails: ${error.message}`
      const unsent = error.amend({
        message,
        billed: 'no',
        exit: error.exit === 'unknown' ? 'later' : error.exit,
      })
      for (const task of this.#takeWaiting()) task.reject(task.error ?? unsent)
    }
    throw error
  }

  #takeWaiting(): Waiting[] {
    for (const timer of this.#resting.values()) timer.cancel()
    const waiting = [...this.#resting.keys(), ...this.#lanes.flatMap((lane) => lane.takeAll())]
    this.#resting.clear()
    return waiting
  }
}

/** This many requests in a row without a 429 give one place back. */
const cleanToGrow = 20

/** What waits for a place, and how many places there are: that follows the gateway's 429s. */
class Lane {
  readonly name: LaneName
  concurrency: number
  pausedUntil = 0
  inFlight = 0
  readonly #options: LanesOptions
  readonly #queue: Task[] = []
  #newest = 0
  /** Requests up to it were sent before the lane slowed down: their 429s are of the same burst. */
  #lastOfBurst = 0
  #bursts = 0
  #clean = 0

  constructor(name: LaneName, options: LanesOptions) {
    this.name = name
    this.concurrency = options.concurrency[name]
    this.#options = options
  }

  get hasWork(): boolean {
    return this.#queue.length > 0 && this.inFlight < this.concurrency
  }

  add(task: Task): void {
    let [from, to] = [0, this.#queue.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (isBefore(task, this.#queue[middle]!)) from = middle + 1
      else to = middle
    }
    this.#queue.splice(from, 0, task)
  }

  takeAll(): Task[] {
    return this.#queue.splice(0)
  }

  /** The task whose turn it is; only where there is work. */
  begin(request: number): Task {
    this.inFlight++
    this.#newest = request
    return this.#queue.pop()!
  }

  succeed(): void {
    this.#bursts = 0
    if (++this.#clean < cleanToGrow || this.concurrency === this.#options.concurrency[this.name]) return
    this.#clean = 0
    this.concurrency++
    this.#changed(`${cleanToGrow} requests in a row went well`)
  }

  /** @param askedS how many seconds the gateway asks to wait; else the pauses grow, with jitter */
  refuse(request: number, askedS: number | undefined): void {
    const isNew = request > this.#lastOfBurst
    if (isNew) {
      this.concurrency = Math.max(1, Math.floor(this.concurrency / 2))
      this.#lastOfBurst = this.#newest
      this.#bursts++
    }
    this.#clean = 0
    const { clock } = this.#options
    const pauseMs = rateLimitPause(this.#bursts - 1, askedS, clock)
    this.pausedUntil = Math.max(this.pausedUntil, clock.monotonic() + pauseMs)
    if (isNew) this.#changed('the gateway asks for fewer requests (HTTP 429)')
  }

  #changed(reason: string): void {
    const { clock, onChange } = this.#options
    const leftMs = this.pausedUntil - clock.monotonic()
    const pause_s = leftMs > 0 ? leftMs / 1000 : null
    onChange({ type: 'lane-change', lane: this.name, concurrency: this.concurrency, pause_s, reason })
  }
}

function isBefore({ order, number }: Task, other: Task): boolean {
  if (order.isFollowUp !== other.order.isFollowUp) return order.isFollowUp
  const urgency = order.priority - other.order.priority
  return urgency === 0 ? number < other.number : urgency > 0
}

export function deadlinePassed(): ModelgateError {
  const message = 'The time limit for the whole run was reached (--timeout).'
  const hint = 'Run it again: it resumes where it stopped.'
  return new ModelgateError('later', 'deadline', message, { phase: 'wait', billed: 'no', hint })
}

const usualSeconds: Readonly<Record<LaneName, number>> = { text: 5, image: 20, video: 90 }

/** How long a request of an instance takes, in seconds: as it took last, else as the middle one of its lane. */
export function estimateSeconds(
  instances: Iterable<Pick<Instance, 'id' | 'lane'>>,
  lock: Lock,
): (instance: Pick<Instance, 'id' | 'lane'>) => number {
  const lastOf = (id: string) => lock.get(id)?.took_s ?? null
  const byLane = Map.groupBy(instances, ({ lane }) => lane)
  const usual = { ...usualSeconds }
  for (const [lane, own] of byLane) {
    usual[lane] = medianOf(own.flatMap(({ id }) => lastOf(id) ?? [])) ?? usual[lane]
  }
  return ({ id, lane }) => lastOf(id) ?? usual[lane]
}

/** An instance and the longest chain of those that wait for it: what is started first, so that all ends soonest. */
export function longestPaths<Of extends Pick<Instance, 'id' | 'references'>>(
  instances: ReadonlyMap<string, Of>,
  seconds: (instance: Of) => number,
): Map<string, number> {
  const after = new Map<string, number>()
  const paths = new Map<string, number>()
  for (const instance of [...instances.values()].toReversed()) {
    const path = seconds(instance) + (after.get(instance.id) ?? 0)
    paths.set(instance.id, path)
    for (const { instance: id } of instance.references) after.set(id, Math.max(path, after.get(id) ?? 0))
  }
  return paths
}

function medianOf(values: readonly number[]): number | undefined {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)]
}
