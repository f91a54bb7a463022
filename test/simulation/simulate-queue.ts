import { ModelgateError } from '../../src/errors.ts'
import type { Lane } from '../../src/pipeline/manifest/manifest.ts'
import { newLanes, openLanes, type RequestRate } from '../../src/pipeline/queue/queue-lanes.ts'
import type { Place } from '../../src/pipeline/queue/task-document.ts'
import { createSchedule, type Schedule } from './schedule.ts'

/** Times in milliseconds. */
export interface Setting {
  readonly jobs: number
  readonly workers: number
  /** How many requests of one worker are under way at once. */
  readonly places: number
  /** How long a request takes, in the middle: half as long to twice as long. */
  readonly callMs: number
  /** How many requests at once the gateway takes, and how many in a second; more are answered with a 429. */
  readonly atOnce: number
  readonly perSecond: number
  /** `--rate`. */
  readonly rate: RequestRate | null
  /** How long a transaction occupies the queue's server, and how long one more task in it. */
  readonly transactionMs: number
  readonly taskMs: number
  /** How much longer while others have one to write: they come between each other. With sixty of them twice as much. */
  readonly contendedMs: number
  /** How long a transaction is on its way, there and back. */
  readonly wayMs: number
  /** How long a worker lives, on average; Infinity for ever. Another one takes its place at once. */
  readonly lifeMs: number
  readonly seed: number
}

export interface Figures {
  /** Until the last job is done. */
  readonly seconds: number
  /** Of what as many places could do, were there nothing but the requests. */
  readonly efficiency: number
  /** How much of the time the queue's server was busy with transactions. */
  readonly serverBusy: number
  readonly transactions: number
  readonly requests: number
  readonly refused: number
  readonly deaths: number
  /** Requests that were under way in a worker that died. */
  readonly lost: number
  /** The most requests in any second. */
  readonly peakPerSecond: number
}

/** A dead worker's delivery is given out again after its lock has ended, at the next check; then its last beat is a minute old. */
const takenOverAfterMs = 60_000
/** A worker that waits for a place asks at least so often. */
const maxAskMs = 5_000
const lane: Lane = 'text'

interface Job {
  readonly id: string
  place: Place | undefined
  /** Of the worker that is at it. */
  owner: Worker | undefined
}
interface Worker {
  isAlive: boolean
  busy: number
  /** What waits for its next transaction. */
  waiting: Step[]
  isWriting: boolean
  /** Wait for a place: only the first one asks, and more and more seldom. */
  held: Job[]
  isAsking: boolean
  askMs: number
}
type Step = { readonly kind: 'begin' | 'end'; readonly job: Job; readonly error?: ModelgateError | null }

/**
 * Plays a run with the rules of the program itself for places, 429s and rate. The server does one transaction after the
 * other; what a worker wants to write meanwhile becomes one transaction.
 */
export function simulateQueue(setting: Setting): Figures {
  const schedule: Schedule = createSchedule(setting.seed)
  const { random } = schedule
  const document = newLanes()
  const queue: Job[] = Array.from({ length: setting.jobs }, (_, at) => ({
    id: `${at}`,
    place: undefined,
    owner: undefined,
  })).reverse()
  const workers = new Set<Worker>()
  let done = 0
  let serverFreeAt = 0
  let serverBusyMs = 0
  /** How many transactions have been asked for. */
  let writing = 0
  let atGateway = 0
  let finishedAt = 0
  const counts = { transactions: 0, requests: 0, refused: 0, deaths: 0, lost: 0 }
  const recent: number[] = []
  let peak = 0

  const start = () => {
    const worker: Worker = {
      isAlive: true,
      busy: 0,
      waiting: [],
      isWriting: false,
      held: [],
      isAsking: false,
      askMs: 0,
    }
    workers.add(worker)
    if (setting.lifeMs !== Infinity)
      schedule.after(-Math.log(1 - random()) * setting.lifeMs, () => die(worker))
    fetch(worker)
  }
  const die = (worker: Worker) => {
    if (done === setting.jobs) return
    worker.isAlive = false
    workers.delete(worker)
    counts.deaths++
    start()
  }
  /** Takes deliveries for its free places. */
  const fetch = (worker: Worker) => {
    while (worker.busy < setting.places && queue.length > 0) {
      const job = queue.pop()!
      worker.busy++
      job.owner = worker
      if (setting.lifeMs !== Infinity) watch(worker, job)
      write(worker, { kind: 'begin', job })
    }
  }
  /** Where its worker dies, a job is found after a while. */
  const watch = (worker: Worker, job: Job) => {
    const look = () => {
      if (job.owner !== worker) return
      if (worker.isAlive) return schedule.after(takenOverAfterMs, look)
      counts.lost++
      job.owner = undefined
      if (job.place !== undefined)
        openLanes(document, schedule.now(), random).end(lane, job.id, job.place, null, setting.rate)
      job.place = undefined
      queue.push(job)
      for (const other of workers) fetch(other)
    }
    schedule.after(takenOverAfterMs, look)
  }
  const write = (worker: Worker, step: Step) => {
    worker.waiting.push(step)
    if (!worker.isWriting) transact(worker)
  }
  const transact = (worker: Worker) => {
    const steps = worker.waiting
    worker.waiting = []
    if (steps.length === 0 || !worker.isAlive) return void (worker.isWriting = false)
    worker.isWriting = true
    counts.transactions++
    const { transactionMs, taskMs, contendedMs } = setting
    const aloneMs = transactionMs + steps.length * taskMs
    const costMs = writing === 0 ? aloneMs : aloneMs + contendedMs * (1 + writing / 60)
    writing++
    const from = Math.max(schedule.now() + setting.wayMs / 2, serverFreeAt)
    serverFreeAt = from + costMs
    serverBusyMs += costMs
    schedule.after(serverFreeAt - schedule.now(), () => {
      writing--
      const answers = steps.map((step) => apply(step))
      schedule.after(setting.wayMs / 2, () => {
        if (!worker.isAlive) return
        for (const [at, step] of steps.entries()) answer(worker, step, answers[at]!)
        transact(worker)
      })
    })
  }
  /** On the server. @returns how long to wait; 0 when it may go on */
  const apply = ({ kind, job, error }: Step): number => {
    const lanes = openLanes(document, schedule.now(), random)
    if (kind === 'end') {
      if (job.place !== undefined) lanes.end(lane, job.id, job.place, error, setting.rate)
      job.place = undefined
      return 0
    }
    const place = lanes.begin(lane, job.id, setting.rate)
    if ('waitMs' in place) return Math.max(1, place.waitMs)
    job.place = place
    return 0
  }
  const answer = (worker: Worker, { kind, job, error }: Step, waitMs: number) => {
    if (kind === 'begin') {
      if (waitMs > 0) return hold(worker, job, waitMs)
      worker.askMs = 0
      ask(worker, 0)
      return send(worker, job)
    }
    if (error !== undefined) return hold(worker, job, 0)
    job.owner = undefined
    worker.busy--
    if (++done === setting.jobs) finishedAt = schedule.now()
    fetch(worker)
  }
  const hold = (worker: Worker, job: Job, waitMs: number) => {
    worker.held.push(job)
    worker.askMs = Math.min(maxAskMs, Math.max(waitMs, worker.askMs * 1.5))
    ask(worker, worker.askMs * (0.5 + random() / 2))
  }
  const ask = (worker: Worker, ms: number) => {
    if (worker.isAsking || worker.held.length === 0) return
    worker.isAsking = true
    schedule.after(ms, () => {
      worker.isAsking = false
      const job = worker.held.shift()
      if (job !== undefined && worker.isAlive) write(worker, { kind: 'begin', job })
    })
  }
  const send = (worker: Worker, job: Job) => {
    counts.requests++
    const now = schedule.now()
    while (recent.length > 0 && recent[0]! <= now - 1000) recent.shift()
    recent.push(now)
    peak = Math.max(peak, recent.length)
    if (atGateway >= setting.atOnce || recent.length > setting.perSecond) {
      counts.refused++
      const error = new ModelgateError('later', 'rate_limited', 'HTTP 429', { httpStatus: 429, billed: 'no' })
      return schedule.after(20, () => worker.isAlive && write(worker, { kind: 'end', job, error }))
    }
    atGateway++
    schedule.after(setting.callMs * 2 ** (2 * random() - 1), () => {
      atGateway--
      if (worker.isAlive) write(worker, { kind: 'end', job })
    })
  }

  for (let count = 0; count < setting.workers; count++) start()
  schedule.run(() => done < setting.jobs)
  // 2^(2x - 1) for x from 0 to 1 has this mean.
  const meanMs = (setting.callMs * 1.5) / Math.log(4)
  const places = Math.min(setting.workers * setting.places, setting.jobs)
  return {
    seconds: finishedAt / 1000,
    efficiency: (setting.jobs * meanMs) / places / finishedAt,
    serverBusy: serverBusyMs / finishedAt,
    ...counts,
    peakPerSecond: peak,
  }
}
