import { hostname } from 'node:os'
import { Worker as Receiver } from 'bullmq'
import { randomHex, sleep } from '../../../context.ts'
import { asModelgateError, type ModelgateError } from '../../../errors.ts'
import { lanes, type Lane } from '../../manifest/manifest.ts'
import type { TaskData } from '../queue-server.ts'
import { reasonOf, unreachable } from '../queue-url.ts'
import { createDeliveryHandler } from './send-task.ts'
import { openOwnFolder } from './own-folder.ts'
import { notesIn, recordLeftovers } from './unfinished.ts'
import type { Worker, WorkerCall } from './worker-context.ts'
import { openStop } from './worker-stop.ts'

/** In milliseconds: a worker that does not renew its locks for so long is taken for dead, at the next look. */
const usualLocks = { durationMs: 20_000, lookMs: 8_000 }
/** How long closing may take before connections are cut, in milliseconds. */
const closingMs = 2_000
/** A queue that is empty for so long, in milliseconds, is empty: what waits for a result comes when that is written down. */
const emptyMs = 5_000
const askEmptyMs = 1_000

/**
 * Works on the tasks of a queue until it is stopped, or nothing is left to do.
 * @returns why it ended; undefined when nothing was left
 * @throws ModelgateError when it could not begin
 */
export async function runWorker(call: WorkerCall): Promise<unknown> {
  const { context, options, server } = call
  const { clock } = context
  const name = `${hostname()}-${context.processes.own}-${randomHex(clock, 8)}`
  const ownFolder = await openOwnFolder(call.folder, context)
  const stop = openStop(context, options.graceS)
  const warn = seldom(clock, (message) => call.listener.event({ type: 'warning-add', message }))
  const worker: Worker = {
    ...call,
    name,
    ownFolder: ownFolder.path,
    stop,
    warn,
    ask: (until, work) =>
      server.ask(work, {
        signal: until,
        forMs: Infinity,
        onFailure: (error) => warn(`${error.message} It is tried again.`),
      }),
  }
  let isLeft = false
  try {
    call.onStart?.(name)
    // First: what is known of a request here is an unknown outcome for whoever takes it over.
    await Promise.all(ownFolder.adopted.map((path) => recordLeftovers(worker, path)))
    const receivers = lanes.filter((lane) => options.places[lane] > 0).map((lane) => receive(worker, lane))
    if (options.untilEmpty) void endWhenEmpty(worker)
    await aborted(stop.closing)
    await Promise.all(receivers.map((receiver) => receiver.stop()))
    isLeft = (await notesIn(ownFolder.path)).length > 0
    return stop.reason() === nothingLeft ? undefined : stop.reason()
  } finally {
    stop.close()
    await ownFolder.release(isLeft)
  }
}

const nothingLeft = Symbol('nothing is left')
/** A lane without a rate has a limiter all the same: only such a one rests after a 429. */
const unlimited = { max: 2 ** 31 - 1, duration: 1_000 }

/** Takes the tasks of a lane. */
function receive(worker: Worker, lane: Lane): { stop(): Promise<void> } {
  const { context, options, server, warn, locks = usualLocks } = worker
  const { rate } = options
  const inProgress = new Set<Promise<unknown>>()
  const deliver = createDeliveryHandler(worker, lane)
  const receiver = new Receiver<TaskData>(
    server.nameOf(lane),
    (job, token) => {
      const delivery = deliver(job, token ?? '')
      inProgress.add(delivery)
      return delivery.finally(() => inProgress.delete(delivery))
    },
    {
      ...server.backend.options,
      concurrency: options.places[lane],
      limiter: rate === null ? unlimited : { max: rate.requests, duration: rate.perMs },
      lockDuration: locks.durationMs,
      stalledInterval: locks.lookMs,
      // How often workers died over a task is no reason to forget it.
      maxStalledCount: 1_000_000_000,
      runRetryDelay: 1_000,
      // A lane that has rested is looked at when this is over.
      drainDelay: 1,
    },
    server.backend.factory,
  )
  receiver.on('error', (error) => {
    // A lock that was lost is no failure of the server: the task is with another worker.
    if (/lock|missing job|not in the active state/i.test(error.message)) return
    warn(unreachable(server.url, reasonOf(error, server.url)).message)
  })
  return {
    async stop() {
      const closed = receiver.close().catch(() => {})
      await Promise.allSettled(inProgress)
      await Promise.race([closed, sleep(context.clock, closingMs)])
    },
  }
}

/** Ends the worker when there has been nothing to do for a while. */
async function endWhenEmpty(worker: Worker): Promise<void> {
  const {
    context: { clock },
    options,
    server,
    stop,
  } = worker
  const taken = lanes.filter((lane) => options.places[lane] > 0)
  try {
    for (let since: number | undefined; ;) {
      const counts = await worker.ask(stop.closing, () =>
        Promise.all(
          taken.map((lane) =>
            server.lane(lane).getJobCountByTypes('waiting', 'prioritized', 'delayed', 'active'),
          ),
        ),
      )
      if (counts.some((count) => count > 0)) since = undefined
      else since ??= clock.monotonic()
      if (since !== undefined && clock.monotonic() - since >= emptyMs) return stop.end(nothingLeft)
      await sleep(clock, askEmptyMs, stop.closing)
    }
  } catch (error) {
    if (!stop.closing.aborted) stop.end(asModelgateError(error, false) satisfies ModelgateError)
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** So long the same is not said again, in milliseconds. */
const repeatedMs = 60_000
const maxRemembered = 50

/** Every caller reports an outage; it is said once. */
function seldom(
  clock: WorkerCall['context']['clock'],
  say: (message: string) => void,
): (message: string) => void {
  const said = new Map<string, number>()
  return (message) => {
    const now = clock.monotonic()
    if (now - (said.get(message) ?? -Infinity) < repeatedMs) return
    if (said.size >= maxRemembered) said.clear()
    said.set(message, now)
    say(message)
  }
}
