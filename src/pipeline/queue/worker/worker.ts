import { hostname } from 'node:os'
import { randomHex, sleep } from '../../../context.ts'
import { asModelgateError } from '../../../errors.ts'
import { lanes, type Lane } from '../../manifest/manifest.ts'
import { createDeliveryHandler } from './send-task.ts'
import { notesIn, openOwnFolder, recordLeftovers } from './unfinished.ts'
import { openStop, type Worker, type WorkerCall } from './worker-context.ts'

/** In milliseconds: a worker that does not renew its locks for so long is taken for dead, at the next look. */
const usualLocks = { durationMs: 20_000, lookMs: 8_000 }
/** A queue that is empty for so long, in milliseconds, is empty: what waits for a result comes when that is written down. */
const emptyMs = 5_000
const askEmptyMs = 1_000

/**
 * Works on the tasks of a queue until it is stopped, or nothing is left to do.
 * @returns why it ended; undefined when nothing was left
 * @throws ModelgateError when it could not begin
 */
export async function runWorker(call: WorkerCall): Promise<unknown> {
  const { context, options, server, locks = usualLocks } = call
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
    const stops = lanesOf(options).map((lane) =>
      server.receive(lane, {
        concurrency: options.places[lane],
        rate: options.rate,
        locks,
        handle: createDeliveryHandler(worker, lane),
        onError: ({ message }) => warn(message),
      }),
    )
    if (options.untilEmpty) void endWhenEmpty(worker)
    await aborted(stop.closing)
    await Promise.all(stops.map((stopReceiving) => stopReceiving()))
    isLeft = (await notesIn(ownFolder.path)).length > 0
    return stop.reason() === nothingLeft ? undefined : stop.reason()
  } finally {
    stop.close()
    await ownFolder.release(isLeft)
  }
}

function lanesOf({ places }: WorkerCall['options']): readonly Lane[] {
  return lanes.filter((lane) => places[lane] > 0)
}

const nothingLeft = Symbol('nothing is left')
/** Ends the worker when there has been nothing to do for a while. */
async function endWhenEmpty(worker: Worker): Promise<void> {
  const {
    context: { clock },
    options,
    server,
    stop,
  } = worker
  try {
    for (let since: number | undefined; ;) {
      const left = await worker.ask(stop.closing, () => server.countOpen(lanesOf(options)))
      if (left > 0) since = undefined
      else since ??= clock.monotonic()
      if (since !== undefined && clock.monotonic() - since >= emptyMs) return stop.end(nothingLeft)
      await sleep(clock, askEmptyMs, stop.closing)
    }
  } catch (error) {
    if (!stop.closing.aborted) stop.end(asModelgateError(error, false))
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
