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
  total: number
  done: number
  concurrency: number
  pause: LaneView['pause']
  /** Of the instances that were generated in it, in seconds. */
  took: number
  taken: number
}

/** Adds up the events of a run. */
export interface RunTally {
  add(event: RunEvent, now: number): void
  view(now: number): RunView
}

export function createRunTally(): RunTally {
  const lanes = new Map<LaneName, LaneCount>()
  const running = new Map<string, Running & { readonly lane: LaneName }>()
  let created: RunView['created'] = { made: 0, limit: null }
  let cost: RunView['cost'] = null
  let estimate: number | null = null
  let [failed, rejected] = [0, 0]
  let outage: string | null = null

  const plan = (event: PlanMake) => {
    created = { made: event.creates.made, limit: event.creates.limit }
    estimate = event.estimate?.amount ?? null
    for (const { lane, to_make: total, concurrency } of event.lanes) {
      lanes.set(lane, { total, done: 0, concurrency, pause: null, took: 0, taken: 0 })
    }
  }
  const end = ({ instance, lane, action, took_s: took, creates, cost: own, error }: InstanceEnd) => {
    for (const [key, { id }] of running) if (id === instance) running.delete(key)
    const count = lanes.get(lane)
    // What is restored is not among what a lane has to make.
    if (count !== undefined && !freeActions.has(action)) count.done = Math.min(count.total, count.done + 1)
    if (count !== undefined && took !== null && error === null) {
      count.took += took
      count.taken++
    }
    if (action === 'failed' || action === 'unknown') failed++
    if (action === 'rejected') rejected++
    created = { ...created, made: created.made + creates }
    if (own?.amount != null && own.currency !== null) {
      cost = { amount: (cost?.amount ?? 0) + own.amount, currency: own.currency }
    }
  }
  return {
    add(event, now) {
      switch (event.type) {
        case 'plan-make':
          return plan(event)
        case 'instance-start': {
          const { instance: id, lane, variant } = event
          const key = `${id} ${variant}`
          running.set(key, { id, lane, since: running.get(key)?.since ?? now, percent: null })
          return
        }
        case 'instance-progress': {
          const key = `${event.instance} ${event.variant}`
          const known = running.get(key)
          // One that waits for its next attempt is not under way.
          if (event.state === 'waiting') running.delete(key)
          else if (known !== undefined) running.set(key, { ...known, percent: event.percent })
          return
        }
        case 'instance-end':
          return end(event)
        case 'lane-change': {
          const { lane, concurrency, pause_s: pause, reason } = event
          const count = lanes.get(lane)
          if (count === undefined) return
          count.concurrency = concurrency
          count.pause = pause === null ? null : { until: now + pause * 1000, reason }
          return
        }
        case 'circuit-change':
          outage = event.open ? event.reason : null
      }
    },
    view: (now) => ({
      lanes: [...lanes].map(([name, { total, done, concurrency, pause }]) => ({
        name,
        total,
        done,
        concurrency,
        pause: pause !== null && pause.until > now ? pause : null,
        running: [...running.values()].filter(({ lane }) => lane === name),
      })),
      failed,
      rejected,
      created,
      cost,
      estimate,
      outage,
      left: secondsLeft([...lanes.values()]),
    }),
  }
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
