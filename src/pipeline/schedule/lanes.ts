import type { Clock, Timer } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import type { RunEvent } from '../../events/run-document.ts'
import { waitBefore } from '../../gateway/retry.ts'
import { lanes as laneNames, type Lane } from '../manifest/manifest.ts'
import { answerIn, createCircuit, isOfWorker, isRateLimit, mayRepeat } from './circuit.ts'

export type LaneEvent = Extract<RunEvent, { type: 'lane-change' | 'circuit-change' }>

interface LanesOptions {
  readonly clock: Clock
  /** How many requests of each lane may be under way; at least 1. */
  readonly concurrency: Readonly<Record<Lane, number>>
  /** How many requests the run has: a fifth of them, and ten, may be sent again after failures. */
  readonly jobs: number
  /** When all waiting ends, on the monotonic clock: `--timeout`. */
  readonly deadline?: number | undefined
  onChange?(event: LaneEvent): void
}

/** Gives out places for requests, and sends again what failed and cost nothing. */
export interface Lanes {
  /**
   * Waits for a place, calls `attempt`, and calls it again after a 429, and after a failure that cost nothing: one that
   * came before the gateway accepted anything, or any failed look-up of a follow-up.
   * @param order read again for each attempt: what has become a remote job is a follow-up from then on
   * @param attempt gets its number, from 1
   * @throws what the last attempt threw; the reason of `stop`; ModelgateError (exit 5) at the deadline
   */
  run<Value>(lane: Lane, order: QueueOrder, attempt: (number: number) => Promise<Value>): Promise<Value>
  /** Gives out no more places: whatever waits for one fails with the reason. What is under way goes on. */
  stop(reason: unknown): void
  /** How many requests are under way. */
  readonly inFlight: number
}

interface Task {
  readonly lane: LaneEntry
  readonly order: QueueOrder
  /** Its place among equals. */
  readonly number: number
  attempts: number
  /** Failures that were not a 429. */
  failures: number
  /** Of the last attempt. */
  error: unknown
  /** While it waits to be sent again. */
  timer: Timer | undefined
  /** Makes an attempt; resolves when the caller has got what came of it. */
  attempt(number: number): Promise<void>
  reject(reason: unknown): void
}

interface LaneEntry {
  readonly name: Lane
  readonly queue: TaskQueue<Task>
  readonly rate: LaneRate
  inFlight: number
  /** How many rest until they are sent again. */
  resting: number
}

export function createLanes(options: LanesOptions): Lanes {
  const { clock, jobs, deadline = Infinity, onChange = () => {} } = options
  const entries = laneNames.map((name) => createEntry(name, options))
  const allowed = Math.ceil(jobs / 5) + 10
  const resting = new Set<Task>()
  let used = 0
  let number = 0
  let wake: Timer | undefined
  let isPumping = false
  let stopped: { readonly reason: unknown } | undefined
  let lastError = ''

  const circuit = createCircuit(clock, (isOpen) =>
    onChange({
      type: 'circuit-change',
      open: isOpen,
      reason: isOpen ? `${lastError} One request every 15 s tries again.` : 'the gateway answers again',
    }),
  )

  /** When the lane may send, if it has a free place. */
  const sendsAt = ({ rate }: LaneEntry) => Math.max(rate.pausedUntil, circuit.opensAt)
  const hasWork = ({ queue, rate, inFlight }: LaneEntry) => queue.size > 0 && inFlight < rate.concurrency

  /** Sends what may be sent now, and sees to it that this is called again when more may be. */
  const pump = () => {
    isPumping = false
    wake?.cancel()
    const now = clock.monotonic()
    let next = Infinity
    for (const lane of entries) {
      while (hasWork(lane) && sendsAt(lane) <= now && now < deadline) void send(lane.queue.pop()!)
      if (now >= deadline || (hasWork(lane) && circuit.opensAt !== Infinity && sendsAt(lane) >= deadline)) {
        for (const task of lane.queue.clear()) task.reject(task.error ?? deadlinePassed())
      }
      if (hasWork(lane)) next = Math.min(next, sendsAt(lane))
    }
    if (next !== Infinity) wake = clock.timer(next - now, pump, 'sleep')
  }
  /** Whoever adds many tasks in one turn has them sent by their priority, not by who was first. */
  const pumpSoon = () => {
    if (isPumping) return
    isPumping = true
    queueMicrotask(pump)
  }

  const send = async (task: Task) => {
    const { lane } = task
    const request = circuit.begin()
    const place = lane.rate.begin()
    lane.inFlight++
    task.attempts++
    try {
      await task.attempt(task.attempts)
      circuit.end(request, 'answered')
      lane.rate.succeed()
    } catch (error) {
      task.error = error
      lastError = error instanceof Error ? error.message : String(error)
      const askedS = error instanceof ModelgateError ? error.facts.retryAfterS : undefined
      const isKnown = circuit.end(request, answerIn(error), askedS) || isOfWorker(error)
      if (stopped !== undefined) task.reject(error)
      else if (!mayRepeat(error, task.order.isFollowUp)) task.reject(error)
      else if (isRateLimit(error)) {
        lane.rate.refuse(place, askedS)
        enqueue(task)
      }
      // What was under way when an outage began is sent again when that is over; it was one failure, not one each. Workers
      // that die say nothing of the gateway.
      else if (isKnown || used < allowed) {
        if (!isKnown) used++
        rest(task, error, askedS)
      } else {
        task.reject(error)
        if (circuit.isOpen) giveUp(error)
      }
    } finally {
      lane.inFlight--
      pumpSoon()
    }
  }

  const enqueue = (task: Task) => task.lane.queue.push(task, task.order, task.number)
  const rest = (task: Task, error: unknown, askedS: number | undefined) => {
    const waitMs = waitBefore(task.failures++, askedS, clock.random()) * 1000
    if (clock.monotonic() + waitMs >= deadline) return task.reject(error)
    resting.add(task)
    task.lane.resting++
    const again = () => {
      wakeUp(task)
      enqueue(task)
      pumpSoon()
    }
    task.timer = clock.timer(waitMs, again, 'sleep')
  }
  const wakeUp = (task: Task) => {
    task.timer?.cancel()
    resting.delete(task)
    task.lane.resting--
  }
  const allWaiting = () => {
    const tasks = [...resting, ...entries.flatMap(({ queue }) => queue.clear())]
    for (const task of resting) wakeUp(task)
    return tasks
  }
  /** The outage has lasted for as long as the retries have: the next run does the rest. */
  const giveUp = (error: ModelgateError) => {
    const unsent = error.amend({
      message: `Not sent, because the gateway fails: ${error.message}`,
      billed: 'no',
    })
    for (const task of allWaiting()) task.reject(task.error ?? unsent)
  }
  const stop = (reason: unknown) => {
    if (stopped !== undefined) return
    stopped = { reason }
    wake?.cancel()
    for (const task of allWaiting()) task.reject(reason)
  }

  return {
    run(name, order, attempt) {
      return new Promise((resolve, reject) => {
        if (stopped !== undefined) return reject(stopped.reason as Error)
        const lane = entries.find((entry) => entry.name === name)!
        enqueue({
          lane,
          order,
          number: number++,
          attempts: 0,
          failures: 0,
          error: undefined,
          timer: undefined,
          attempt: async (count) => resolve(await attempt(count)),
          reject,
        })
        pumpSoon()
      })
    },
    stop,
    get inFlight() {
      return entries.reduce((sum, { inFlight }) => sum + inFlight, 0)
    },
  }
}

function createEntry(name: Lane, { clock, concurrency, onChange }: LanesOptions): LaneEntry {
  const rate: LaneRate = createLaneRate(clock, concurrency[name], (reason) =>
    onChange?.({
      type: 'lane-change',
      lane: name,
      concurrency: rate.concurrency,
      pause_s: pauseOf(rate, clock),
      reason,
    }),
  )
  return { name, queue: createTaskQueue(), rate, inFlight: 0, resting: 0 }
}

function pauseOf({ pausedUntil }: LaneRate, clock: Clock): number | null {
  const leftMs = pausedUntil - clock.monotonic()
  return leftMs > 0 ? leftMs / 1000 : null
}

/** The time of the run is over before a request was sent. */
export function deadlinePassed(): ModelgateError {
  return new ModelgateError(
    'later',
    'deadline',
    'The time limit for the whole run was reached (--timeout).',
    {
      phase: 'wait',
      billed: 'no',
      hint: 'Run it again: it resumes where it stopped.',
    },
  )
}

/** The order in which what waits for a place in a lane gets one. */
export interface QueueOrder {
  /** Whether it goes on with what has been paid for already: before everything that is new. */
  readonly isFollowUp: boolean
  /** In seconds, how long it and what waits for it will take: the longest first. */
  readonly priority: number
}

interface Entry<Task> {
  readonly task: Task
  readonly isFollowUp: boolean
  readonly priority: number
  readonly number: number
}

/** What waits for a place: a binary heap, so that each of ten thousand costs little. */
export interface TaskQueue<Task> {
  readonly size: number
  /** @param number the order of those that are equal otherwise */
  push(task: Task, order: QueueOrder, number: number): void
  /** Takes the first one out. */
  pop(): Task | undefined
  /** Takes all out, in no order. */
  clear(): Task[]
}

export function createTaskQueue<Task>(): TaskQueue<Task> {
  // Each entry comes before those at twice its place, plus one and plus two.
  let heap: Entry<Task>[] = []

  const rise = (at: number) => {
    const entry = heap[at]!
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(entry, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = entry
  }
  const sink = (entry: Entry<Task>) => {
    let at = 0
    for (;;) {
      const left = 2 * at + 1
      if (left >= heap.length) break
      const right = left + 1
      const next = right < heap.length && isBefore(heap[right]!, heap[left]!) ? right : left
      if (!isBefore(heap[next]!, entry)) break
      heap[at] = heap[next]!
      at = next
    }
    heap[at] = entry
  }

  return {
    get size() {
      return heap.length
    },
    push(task, { isFollowUp, priority }, number) {
      heap.push({ task, isFollowUp, priority, number })
      rise(heap.length - 1)
    },
    pop() {
      const first = heap[0]
      const last = heap.pop()
      if (last !== undefined && last !== first) sink(last)
      return first?.task
    },
    clear() {
      const all = heap.map(({ task }) => task)
      heap = []
      return all
    },
  }
}

function isBefore(one: Entry<unknown>, other: Entry<unknown>): boolean {
  if (one.isFollowUp !== other.isFollowUp) return one.isFollowUp
  return one.priority === other.priority ? one.number < other.number : one.priority > other.priority
}

/** So many requests in a row without a 429 give one place back. */
const cleanToGrow = 20

/** When the gateway asks for less, in milliseconds: a gateway that says "0 s" each time must not be asked in a loop. */
const minPauseMs = 100

/** How many requests of a lane may be under way, and from when on: it follows the gateway's 429s. */
export interface LaneRate {
  /** How many at once; at least 1. */
  readonly concurrency: number
  /** When the lane may send again, on the monotonic clock. */
  readonly pausedUntil: number
  /** To be called for each request when it is sent. @returns its number */
  begin(): number
  /** The request went well. */
  succeed(): void
  /**
   * The request was answered with a 429.
   * @param askedS how many seconds the gateway asks to wait; else the pauses grow, with jitter
   */
  refuse(request: number, askedS: number | undefined): void
}

/**
 * @param configured the highest concurrency
 * @param onChange called when the concurrency changes or a pause begins
 */
function createLaneRate(
  clock: Pick<Clock, 'monotonic' | 'random'>,
  configured: number,
  onChange: (reason: string) => void,
): LaneRate {
  // Requests up to `lastOfBurst` were sent before the lane slowed down: their 429s are of the same burst.
  const state = { concurrency: configured, pausedUntil: 0, sent: 0, lastOfBurst: 0, bursts: 0, clean: 0 }
  return {
    get concurrency() {
      return state.concurrency
    },
    get pausedUntil() {
      return state.pausedUntil
    },
    begin: () => ++state.sent,
    succeed() {
      state.bursts = 0
      if (++state.clean < cleanToGrow || state.concurrency === configured) return
      state.clean = 0
      state.concurrency++
      onChange(`${cleanToGrow} requests in a row went well`)
    },
    refuse(request, askedS) {
      const now = clock.monotonic()
      const isNew = request > state.lastOfBurst
      if (isNew) {
        state.concurrency = Math.max(1, Math.floor(state.concurrency / 2))
        state.lastOfBurst = state.sent
        state.bursts++
      }
      state.clean = 0
      const waitMs = waitBefore(state.bursts - 1, askedS, clock.random()) * 1000
      state.pausedUntil = Math.max(state.pausedUntil, now + Math.max(minPauseMs, waitMs))
      if (isNew) onChange('the gateway asks for fewer requests (HTTP 429)')
    },
  }
}
