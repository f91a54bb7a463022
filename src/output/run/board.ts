import { amountOf, shownAmount } from '../../cost/amount.ts'
import type { RunEvent } from '../../events/run-document.ts'
import { clockTime } from '../../quantities.ts'
import { asciiOf, drawLine } from '../job-progress.ts'
import type { Styles } from '../screen.ts'
import { gap, shortened } from '../table-cells.ts'

type PlanMake = Extract<RunEvent, { type: 'plan-make' }>
type InstanceEnd = Extract<RunEvent, { type: 'instance-end' }>
type LaneName = PlanMake['lanes'][number]['lane']

interface Lane {
  readonly name: LaneName
  readonly total: number
  done: number
  concurrency: number
  pausedUntil: number
  took: number
  taken: number
}

interface Running {
  readonly id: string
  readonly lane: LaneName
  readonly since: number
  percent: number | null
}

/** A line for each lane, and one for the whole. Times are of a monotonic clock. */
export class RunBoard {
  readonly #lanes = new Map<LaneName, Lane>()
  readonly #running = new Map<string, Running>()
  #failed = 0
  #rejected = 0
  /** Those of earlier processes of the run included. */
  #created: { readonly made: number; readonly limit: number | null } = { made: 0, limit: null }
  #cost: { readonly amount: number; readonly currency: string } | undefined
  #estimate: number | undefined

  add(event: RunEvent, now: number): void {
    switch (event.type) {
      case 'plan-make': {
        const { made, limit } = event.creates
        this.#created = { made, limit }
        this.#estimate = event.estimate?.amount ?? undefined
        for (const { lane: name, to_make: total, concurrency } of event.lanes) {
          this.#lanes.set(name, { name, total, done: 0, concurrency, pausedUntil: 0, took: 0, taken: 0 })
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
        const running = this.#running.get(keyOf(event))
        // One that waits for its next attempt is not under way.
        if (event.state === 'waiting') this.#running.delete(keyOf(event))
        else if (running !== undefined) running.percent = event.percent
        return
      }
      case 'lane-change': {
        const { concurrency, pause_s: pause } = event
        const pausedUntil = pause === null ? 0 : now + pause * 1000
        Object.assign(this.#lanes.get(event.lane) ?? {}, { concurrency, pausedUntil })
        return
      }
      case 'instance-end':
        this.#end(event)
    }
  }

  #end({ instance, lane: name, action, took_s: took, creates, cost, error }: InstanceEnd): void {
    for (const [key, { id }] of this.#running) if (id === instance) this.#running.delete(key)
    const lane = this.#lanes.get(name)
    // What is restored is not among what a lane has to make.
    const isFree = action === null || ['restored', 'moved', 'accepted', 'kept'].includes(action)
    if (lane !== undefined && !isFree) lane.done = Math.min(lane.total, lane.done + 1)
    if (lane !== undefined && took !== null && error === null) {
      lane.took += took
      lane.taken++
    }
    if (action === 'failed' || action === 'unknown') this.#failed++
    if (action === 'rejected') this.#rejected++
    this.#created = { ...this.#created, made: this.#created.made + creates }
    if (cost?.amount != null && cost.currency !== null) {
      this.#cost = { amount: (this.#cost?.amount ?? 0) + cost.amount, currency: cost.currency }
    }
  }

  /** On a low terminal, the line for the whole is the last to be dropped. */
  draw(now: number, width: number, height: number, styles: Styles): string {
    const busy = [...this.#lanes.values()].filter(({ total }) => total > 0)
    const nameWidth = Math.max(0, ...busy.map(({ name }) => name.length))
    const countWidth = Math.max(0, ...busy.map((lane) => countText(lane).length))
    const laneLines = busy.map((lane) => {
      const name = lane.name.padEnd(nameWidth).slice(0, width)
      const room = width - name.length - gap.length
      const line = room < 4 ? '' : `${gap}${this.#lane(lane, countWidth, now, room, styles)}`
      return `${styles.dim(name)}${line}`
    })
    return [...laneLines.slice(0, Math.max(0, height - 1)), this.#whole(width)].join('\n')
  }

  #lane(lane: Lane, countWidth: number, now: number, width: number, styles: Styles): string {
    const { name, total, done, concurrency, pausedUntil } = lane
    const running = [...this.#running.values()].filter((one) => one.lane === name)
    const [oldest] = running
    const percent = oldest?.percent == null ? '' : ` ${Math.floor(oldest.percent)}%`
    const details = [
      ...(pausedUntil > now ? [`paused ${clockTime((pausedUntil - now) / 1000)}`] : []),
      // After a 429 fewer may start than still run.
      `${running.length} ${running.length > concurrency ? '' : `of ${concurrency} `}running`,
      ...(oldest === undefined
        ? []
        : [`${asciiOf(oldest.id)}${percent} ${clockTime((now - oldest.since) / 1000)}`]),
    ]
    const count = countText(lane).padStart(countWidth)
    const parts = { percent: Math.floor((done * 100) / total), label: name, count, details }
    return drawLine(parts, now, width, styles)
  }

  /** The most important first: what does not fit is left out from the end. */
  #whole(width: number): string {
    const lanes = [...this.#lanes.values()]
    const total = lanes.reduce((sum, lane) => sum + lane.total, 0)
    const done = lanes.reduce((sum, lane) => sum + lane.done, 0)
    const { made, limit } = this.#created
    const left = secondsLeft(lanes)
    const parts = [
      `${done} of ${total} done`,
      ...(this.#failed === 0 ? [] : [`${this.#failed} failed`]),
      ...(this.#rejected === 0 ? [] : [`${this.#rejected} rejected`]),
      ...(left === undefined || done === total ? [] : [`~${clockTime(left)} left`]),
      ...this.#costText(),
      `${made}${limit === null ? '' : ` of ${limit}`} created`,
    ]
    while (parts.length > 1 && parts.join(gap).length > width) parts.pop()
    return shortened(parts.join(gap), width)
  }

  #costText(): string[] {
    if (this.#cost === undefined) return []
    const of = this.#estimate === undefined ? '' : ` of ${shownAmount(amountOf(this.#estimate))}`
    return [`about ${shownAmount(amountOf(this.#cost.amount))}${of} ${this.#cost.currency}`]
  }
}

function keyOf({ instance, variant }: { readonly instance: string; readonly variant: number }): string {
  return `${instance} ${variant}`
}

function countText({ done, total }: Lane): string {
  return `${done}/${total}`
}

/** Lanes work side by side: the slowest decides. Undefined while one of them has nothing to judge by. */
function secondsLeft(lanes: readonly Lane[]): number | undefined {
  const busy = lanes.filter(({ total, done }) => done < total)
  if (busy.some(({ taken }) => taken === 0)) return undefined
  const seconds = busy.map(({ total, done, concurrency, took, taken }) => {
    return ((total - done) * (took / taken)) / Math.max(1, Math.min(concurrency, total - done))
  })
  return Math.max(0, ...seconds)
}
