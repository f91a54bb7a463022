import type { Clock, Timer } from '../../context.ts'
import { amountFrom, amountText } from '../../cost/amount.ts'
import { asModelgateError, ModelgateError } from '../../errors.ts'
import { nextCommand } from '../../files/next-command.ts'
import type { Spent } from '../journal/history.ts'
import { queueDocument } from '../queue/document-shapes.ts'
import type { DocumentStore } from '../queue/document-store.ts'
import { errorFrom, lanesName, type TaskDocument } from '../queue/task-document.ts'
import { watchDeliveries } from '../queue/lost-deliveries.ts'
import type { RunLimits, RunRecord } from '../queue/run-record.ts'
import { gatherSends } from '../queue/sends.ts'
import { openRun, usedBy, withdraw } from '../queue/submissions.ts'
import { waitForTasks, type TaskNews, type TaskWait, type TaskWaits } from '../queue/task-waits.ts'
import { deadlinePassed } from '../schedule/lanes.ts'
import { leftToWorkers } from './describe-run.ts'
import type { OpenQueue, QueueCall, Attempted, Maker, Request, Run } from './run-call.ts'
import { fetchResult } from './queue-result.ts'
import { giveToQueue, type Giving } from './queue-submission.ts'
import { recordEnd } from './request-records.ts'

interface Options {
  readonly queue: OpenQueue
  readonly call: QueueCall
  readonly clock: Clock
  readonly limits: RunLimits
  /** What the run has created before, and of that what the queue has not counted. */
  readonly used: { readonly all: Spent; readonly outside: Spent }
  /** Keys of requests that the queue tells more of; this adds to it. */
  readonly inQueue: Set<string>
}

/** So many requests are readied, and so many results fetched, at once: thousands may wait. */
const atOnce = { giving: 64, fetching: 16 }

/** No worker has begun anything for so long: there may be none. */
const idleMs = 10_000

/** Has the requests of a run made by the workers of a queue. */
export function queueMaker(options: Options): Maker {
  const { queue, clock, limits, inQueue } = options
  const { documents } = queue
  let used = options.used.all
  let opened: Opened | undefined
  let stopped: { readonly reason: unknown } | undefined
  let isLeft = false
  const timers: Timer[] = []

  const takeBack = async (keys: readonly string[]) => {
    if (opened === undefined || isLeft) return
    const { run, waits } = opened
    // Whoever has taken the manifest over goes on with what the queue has.
    if (keys.length === 0 || run.project.lost?.aborted === true) return
    try {
      await waits.look(await withdraw(documents, run.journal.run, keys))
    } catch (error) {
      run.warn(
        `The requests that no worker has started could not be withdrawn: ${asModelgateError(error, false).message}`,
      )
    }
  }
  const stop = async (reason: unknown) => {
    if (stopped !== undefined) return
    stopped = { reason }
    await takeBack(opened?.waits.keys ?? [])
  }
  const leave = (errorOf: (key: string) => unknown) => {
    isLeft = true
    opened?.waits.fail(errorOf)
  }

  return {
    get used() {
      return used
    },
    get inFlight() {
      return opened?.waits.keys.length ?? 0
    },
    stopText: (inFlight, graceS) =>
      `Stopping: ${inFlight === 1 ? 'one request is' : `${inFlight} requests are`} with workers, which continue; the run waits ${graceS} s for them, and the next run collects what arrives later. Another Ctrl-C ends the run at once.`,
    async open(run) {
      const outside = { creates: options.used.outside.creates, cost: amountText(options.used.outside.cost) }
      used = spentOf(await openRun(documents, run.journal.run, limits, outside))
      const waits = await waitForTasks(documents, clock)
      const send = gatherSends(queue.sender)
      const slots = { giving: createSlots(atOnce.giving), fetching: createSlots(atOnce.fetching) }
      opened = { run, waits, slots, giving: { run, queue, send, inQueue, stored: new Map() } }
      const { signal } = run.stop
      signal.addEventListener('abort', () => leave(() => signal.reason), { once: true })
      const { timeoutS } = run.options
      if (timeoutS !== undefined) {
        const end = () => void stop(deadlinePassed()).then(() => leave(() => stillUnderWay()))
        timers.push(clock.timer(timeoutS * 1000, end))
      }
      const tell = () => {
        if (!waits.hasNews && waits.keys.length > 0) run.warn(idleText(options.call))
      }
      timers.push(
        clock.timer(idleMs, tell),
        watchCircuit(documents, clock, run.emit),
        watchDeliveries(queue, clock, () => waits.keys),
      )
    },
    async make(_, request) {
      const { key } = request
      const making: Making = {
        ...opened!,
        request,
        queue,
        inQueue,
        stopped: () => stopped,
        takeBack: () => takeBack([key]),
      }
      return await make(making)
    },
    stop,
    async close() {
      for (const timer of timers) timer.cancel()
      if (opened === undefined) return
      await opened.waits.close()
      const found = await usedBy(documents, opened.run.journal.run).catch(() => undefined)
      if (found !== undefined) used = spentOf(found)
    },
  }
}

interface Opened {
  readonly run: Run
  readonly waits: TaskWaits
  readonly giving: Giving
  readonly slots: Record<'giving' | 'fetching', ReturnType<typeof createSlots>>
}

interface Making extends Opened {
  readonly request: Request
  readonly queue: OpenQueue
  readonly inQueue: Set<string>
  stopped(): { readonly reason: unknown } | undefined
  takeBack(): Promise<void>
}

/** Gives a request to the queue, and waits for what comes of it. */
async function make(making: Making): Promise<Attempted> {
  const { request, slots, inQueue } = making
  let created = 0
  try {
    for (;;) {
      let wait: TaskWait | undefined
      try {
        const given = await slots.giving(async () => {
          throwIfStopped(making)
          wait = making.waits.expect(request.key, newsOf(making))
          return await giveToQueue(making.giving, request)
        })
        created += given.created
        const task = given.ended ?? (await untilEnd(making, wait!, given.isUnderWay))
        if (task.state === 'withdrawn' && making.stopped() !== undefined) {
          created = Math.max(0, created - (await release(making)))
          throwIfStopped(making)
        }
        if (!isToGiveAgain(making, task)) return await settle(making, task, created)
      } finally {
        wait?.forget()
      }
    }
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    if (error.exit === 'unknown') inQueue.delete(request.key)
    return { task: null, error, created }
  }
}

async function untilEnd(making: Making, wait: TaskWait, isUnderWay: boolean): Promise<TaskDocument> {
  if (making.run.options.detach) throw detached()
  const end = wait.untilEnd(isUnderWay)
  if (making.stopped() !== undefined) await making.takeBack()
  return await end
}

function throwIfStopped({ stopped }: Making): void {
  const reason = stopped()
  if (reason !== undefined) throw reason.reason
}

/** Nobody has begun it, and nobody will. @returns how much is not created after all */
async function release({ run, request: { key } }: Making): Promise<number> {
  const intent = run.project.history.intents.get(key)
  if (intent === undefined) return 0
  await run.record({ type: 'release', key, reason: 'It was withdrawn before a worker started it.' })
  return intent.creates
}

/** Whether what ended it is about another run that had given it to the queue, too. */
function isToGiveAgain({ run }: Making, { state, run: giver, outcome }: TaskDocument): boolean {
  if (state === 'withdrawn') return true
  if (giver === run.journal.run || outcome?.kind !== 'error') return false
  return errorFrom(outcome.error).exit === 'limit'
}

/** The end of a task, as the journal and whoever waits for it get it. */
async function settle(making: Making, task: TaskDocument, created: number): Promise<Attempted> {
  const { run, request, slots, queue, inQueue } = making
  const { outcome } = task
  const intent = run.project.history.intents.get(request.key)
  // Another run has had it made, and counts it.
  const isOwn = task.attempt === intent?.idempotencyKey
  if (outcome?.kind === 'result') {
    try {
      const found = await slots.fetching(() => fetchResult(run, request, outcome, queue.store))
      return { task: isOwn ? found : { ...found, cost: null }, error: null, created: isOwn ? created : 0 }
    } catch (thrown) {
      return { task: null, error: asModelgateError(thrown, false), created: isOwn ? created : 0 }
    }
  }
  const error = errorFrom(outcome?.error)
  if (task.state === 'unknown') inQueue.delete(request.key)
  const released = await recordEnd(run, request, error, false)
  if (error.exit === 'limit') run.endBudget(error)
  return { task: null, error, created: Math.max(0, created - released) }
}

/** Tells of a task what happens on its way. */
function newsOf({ run, request }: Making): TaskNews {
  const { instance, key, variant } = request
  const { id, lane } = instance
  const { history } = run.project
  const resumed = history.intents.has(key)
  let attempt = 0
  const onSent = () => {
    attempt++
    run.emit({ type: 'instance-start', instance: id, lane, variant, attempt, resumed })
  }
  const recordJob = async (job: NonNullable<TaskDocument['job']>) => {
    if (history.jobs.has(key) || !history.intents.has(key)) return
    await run.record({ type: 'job', key, ...job })
  }
  return {
    onSent,
    onProgress: (state, percent) =>
      run.emit({ type: 'instance-progress', instance: id, variant, state, percent }),
    onTask({ state, job }) {
      if (attempt === 0 && state !== 'waiting') onSent()
      // A journal that cannot be written shows with the next event that somebody waits for.
      if (job !== null) recordJob(job).catch(() => {})
    },
  }
}

/** The state of the gateway, as the workers know it, is looked at so often. */
const circuitMs = 15_000

/** Tells when the workers begin to hold requests back, because the gateway is not there, and when they no longer do. */
function watchCircuit(documents: DocumentStore, clock: Clock, emit: Run['emit']): Timer {
  let isOpen = false
  let isOver = false
  let timer: Timer
  const look = async () => {
    const found = (await documents.read([lanesName])).get(lanesName)
    const now = queueDocument('lanes', found)?.circuit.isOpen ?? false
    if (now === isOpen || isOver) return
    isOpen = now
    const reason = isOpen ? 'the gateway fails for the workers' : 'the gateway answers again'
    emit({ type: 'circuit-change', open: isOpen, reason })
  }
  const next = () => {
    // A queue that is away is told by those who wait for their tasks.
    const looked = look().catch(() => {})
    void looked.then(() => {
      if (!isOver) timer = clock.timer(circuitMs, next)
    })
  }
  timer = clock.timer(circuitMs, next)
  return {
    cancel() {
      isOver = true
      timer.cancel()
    },
  }
}

function spentOf({ creates, cost }: RunRecord['used']): Spent {
  return { creates, cost: amountFrom(cost) ?? 0n }
}

function detached(): ModelgateError {
  return new ModelgateError('running', leftToWorkers, 'It is with the queue.', {
    phase: 'wait',
    billed: 'maybe',
  })
}

function stillUnderWay(): ModelgateError {
  return new ModelgateError(
    'running',
    'deadline',
    'The time limit for the whole run was reached (--timeout); a worker is still working on it.',
    {
      phase: 'wait',
      billed: 'maybe',
      hint: 'Run it again: it collects what has been made.',
    },
  )
}

function idleText({ worker }: QueueCall): string {
  return `No worker has started it yet. Start one: ${nextCommand(worker).toString()}`
}

/** Lets so many pieces of work go on at once; the others wait in their order. */
function createSlots(count: number): <Value>(work: () => Promise<Value>) => Promise<Value> {
  const waiting: (() => void)[] = []
  let free = count
  return async (work) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve))
    else free--
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}
