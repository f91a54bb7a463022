import type { RunEvent } from '../../events/run-document.ts'

type PlanMake = Extract<RunEvent, { type: 'plan-make' }>
type InstanceEnd = Extract<RunEvent, { type: 'instance-end' }>
type LaneName = PlanMake['lanes'][number]['lane']

/** An instance that is being made. Times are milliseconds of a monotonic clock. */
interface Running {
  readonly id: string
  readonly since: number
  readonly percent: number | null
}

export interface LaneView {
  readonly name: LaneName
  readonly total: number
  readonly done: number
  readonly concurrency: number
  /** Until when nothing is sent, and why; null without a pause. */
  readonly pause: { readonly until: number; readonly reason: string } | null
  /** The longest-running first. */
  readonly running: readonly Running[]
}

export interface RunView {
  readonly lanes: readonly LaneView[]
  readonly failed: number
  readonly rejected: number
  /** How much was created, those of earlier processes of the run included, and how much may be. */
  readonly created: { readonly made: number; readonly limit: number | null }
  /** What that costs, by estimate; null while nothing is known of it. */
  readonly cost: { readonly amount: number; readonly currency: string } | null
  /** What the whole was expected to cost when it began; null where that is not known. */
  readonly estimate: number | null
  /** Why requests are held back; null while they are not. */
  readonly outage: string | null
  /** Seconds; null while nothing like what is left has been made. */
  readonly left: number | null
}

interface LaneCount {
  readonly name: LaneName
  total: number
  done: number
  concurrency: number
  pause: LaneView['pause']
  /** Of the instances that were generated in it, in seconds. */
  took: number
  taken: number
}

/** Adds up the events of a run. */
export class RunTally {
  readonly #lanes = new Map<LaneName, LaneCount>()
  readonly #running = new Map<string, Running & { readonly lane: LaneName }>()
  #sums: Omit<RunView, 'lanes' | 'left'> = {
    failed: 0,
    rejected: 0,
    created: { made: 0, limit: null },
    cost: null,
    estimate: null,
    outage: null,
  }

  /** @param now of a monotonic clock, in milliseconds */
  add(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'plan-make': {
        const { made, limit } = event.creates
        this.#sums = { ...this.#sums, created: { made, limit }, estimate: event.estimate?.amount ?? null }
        for (const { lane: name, to_make: total, concurrency } of event.lanes) {
          this.#lanes.set(name, { name, total, done: 0, concurrency, pause: null, took: 0, taken: 0 })
        }
        return
      }
      case 'instance-start': {
        const { instance: id, lane } = event
        const key = keyOf(event)
        this.#running.set(key, { id, lane, since: this.#running.get(key)?.since ?? now, percent: null })
        return
      }
      case 'instance-progress': {
        const known = this.#running.get(keyOf(event))
        // One that waits for its next attempt is not under way.
        if (event.state === 'waiting') this.#running.delete(keyOf(event))
        else if (known !== undefined) this.#running.set(keyOf(event), { ...known, percent: event.percent })
        return
      }
      case 'instance-end':
        return this.#end(event)
      case 'lane-change': {
        const { lane, concurrency, pause_s: pause, reason } = event
        const count = this.#lanes.get(lane)
        if (count === undefined) return
        count.concurrency = concurrency
        count.pause = pause === null ? null : { until: now + pause * 1000, reason }
        return
      }
      case 'circuit-change':
        this.#sums = { ...this.#sums, outage: event.open ? event.reason : null }
    }
  }

  view(now: number): RunView {
    const lanes = [...this.#lanes.values()].map(({ name, total, done, concurrency, pause }) => ({
      name,
      total,
      done,
      concurrency,
      pause: pause !== null && pause.until > now ? pause : null,
      running: [...this.#running.values()].filter(({ lane }) => lane === name),
    }))
    return { ...this.#sums, lanes, left: secondsLeft([...this.#lanes.values()]) }
  }

  #end({ instance, lane, action, took_s: took, creates, cost: own, error }: InstanceEnd): void {
    for (const [key, { id }] of this.#running) if (id === instance) this.#running.delete(key)
    const count = this.#lanes.get(lane)
    // What is restored is not among what a lane has to make.
    if (count !== undefined && !freeActions.has(action)) count.done = Math.min(count.total, count.done + 1)
    if (count !== undefined && took !== null && error === null) {
      count.took += took
      count.taken++
    }
    const { failed, rejected, created, cost } = this.#sums
    const isPriced = own?.amount != null && own.currency !== null
    this.#sums = {
      ...this.#sums,
      failed: failed + Number(action === 'failed' || action === 'unknown'),
      rejected: rejected + Number(action === 'rejected'),
      created: { ...created, made: created.made + creates },
      cost: isPriced ? { amount: (cost?.amount ?? 0) + own.amount!, currency: own.currency! } : cost,
    }
  }
}

function keyOf({ instance, variant }: { readonly instance: string; readonly variant: number }): string {
  return `${instance} ${variant}`
}

const freeActions: ReadonlySet<InstanceEnd['action']> = new Set([
  'restored',
  'moved',
  'accepted',
  'kept',
  null,
])

/** Lanes work side by side: the slowest decides. Null if one of them has nothing to judge by. */
function secondsLeft(lanes: readonly LaneCount[]): number | null {
  const busy = lanes.filter(({ total, done }) => done < total)
  if (busy.some(({ taken }) => taken === 0)) return null
  const seconds = busy.map(({ total, done, concurrency, took, taken }) => {
    return ((total - done) * (took / taken)) / Math.max(1, Math.min(concurrency, total - done))
  })
  return Math.max(0, ...seconds)
}
