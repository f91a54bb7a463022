import { amountOf, shownAmount } from '../../cost/amount.ts'
import { asciiOf, drawLine } from '../job-progress.ts'
import { clockTime } from '../../quantities.ts'
import type { Styles } from '../screen.ts'
import { gap, shortened } from '../table-cells.ts'
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

interface LaneView {
  readonly name: LaneName
  readonly total: number
  readonly done: number
  readonly concurrency: number
  /** Until when nothing is sent, and why; null without a pause. */
  readonly pause: { readonly until: number; readonly reason: string } | null
  /** The longest-running first. */
  readonly running: readonly Running[]
}

interface RunView {
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

interface BoardSize {
  /** In characters, and in lines: at most so many are drawn. */
  readonly width: number
  readonly height: number
}

/** Milliseconds between two animation steps of a bar. */
const stepTime = 200

/**
 * The board of a run: a line for each lane that has something to do, and one for the whole. The line for the whole is the
 * last to go on a low terminal, and on a narrow one each line keeps what matters most.
 * @param now of the clock that the view was made with
 */
export function drawRunBoard(
  view: RunView,
  now: number,
  { width, height }: BoardSize,
  styles: Styles,
): string {
  const busy = view.lanes.filter(({ total }) => total > 0)
  const nameWidth = Math.max(0, ...busy.map(({ name }) => name.length))
  const countWidth = Math.max(0, ...busy.map((lane) => countText(lane).length))
  const laneLines = busy.map((lane) => {
    const name = lane.name.padEnd(nameWidth).slice(0, width)
    const room = width - name.length - gap.length
    const line = room < 4 ? '' : `${gap}${drawLane(lane, countWidth, now, room, styles)}`
    return `${styles.dim(name)}${line}`
  })
  const outage =
    view.outage === null ? [] : [styles.warning(shortened(`held back: ${asciiOf(view.outage)}`, width))]
  const whole = wholeText(view, width)
  const above = [...laneLines, ...outage].slice(0, Math.max(0, height - 1))
  return [...above, whole].join('\n')
}

const countText = ({ done, total }: LaneView) => `${done}/${total}`

function drawLane(lane: LaneView, countWidth: number, now: number, width: number, styles: Styles): string {
  const { total, done, concurrency, pause, running } = lane
  const paused = pause === null ? [] : [`paused ${clockTime((pause.until - now) / 1000)}`]
  const [oldest] = running
  const percent = oldest?.percent == null ? '' : ` ${Math.floor(oldest.percent)}%`
  const details = [
    ...paused,
    `${running.length} of ${concurrency} running`,
    ...(oldest === undefined
      ? []
      : [`${asciiOf(oldest.id)}${percent} ${clockTime((now - oldest.since) / 1000)}`]),
  ]
  const percentDone = Math.floor((done * 100) / total)
  const parts = {
    percent: percentDone,
    label: lane.name,
    count: countText(lane).padStart(countWidth),
    details,
  }
  return drawLine(parts, Math.floor(now / stepTime), width, styles)
}

/** The most important first: what does not fit is left out from the end. */
function wholeText(
  { lanes, failed, rejected, created, cost, estimate, left }: RunView,
  width: number,
): string {
  const total = lanes.reduce((sum, lane) => sum + lane.total, 0)
  const done = lanes.reduce((sum, lane) => sum + lane.done, 0)
  const parts = [
    `${done} of ${total} done`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(rejected === 0 ? [] : [`${rejected} rejected`]),
    ...(left === null || done === total ? [] : [`~${clockTime(left)} left`]),
    ...(cost === null ? [] : [costText(cost, estimate)]),
    `${created.made}${created.limit === null ? '' : ` of ${created.limit}`} created`,
  ]
  let line = ''
  for (const part of parts) {
    const longer = line === '' ? part : `${line}${gap}${part}`
    if (longer.length > width) break
    line = longer
  }
  return line === '' ? shortened(parts[0]!, width) : line
}

/** What was spent so far, of what was expected. */
function costText({ amount, currency }: NonNullable<RunView['cost']>, estimate: number | null): string {
  const of = estimate === null ? '' : ` of ${shownAmount(amountOf(estimate))}`
  return `about ${shownAmount(amountOf(amount))}${of} ${currency}`
}
