import { once } from 'node:events'
import { hostname } from 'node:os'
import { randomHex, sleep, type Clock } from '../../../context.ts'
import { asModelgateError } from '../../../errors.ts'
import { startedJobs } from '../../execute/task.ts'
import { lanes } from '../../manifest/manifest.ts'
import { namesIn } from '../../project.ts'
import { stopWithGrace } from '../../stop.ts'
import { createDeliveryHandler, openDelivery } from './delivery.ts'
import { openJobs } from '../../../operations/jobs.ts'
import {
  deadFolders,
  openWorkerFolder,
  projectIn,
  workIn,
  type Worker,
  type WorkerCall,
} from './worker-call.ts'

/** A worker that does not renew its locks for this long is taken for dead at the next look. */
const usualLocks = { durationMs: 20_000, lookMs: 8_000 }
/** An empty queue may fill again: what waits for a result comes when that is written down. */
const emptyMs = 5_000
const askEmptyMs = 1_000

/** @returns why it ended; undefined when nothing was left to do */
export async function runWorker(call: WorkerCall): Promise<unknown> {
  const { context, options, server, locks = usualLocks } = call
  const { clock } = context
  const folder = await openWorkerFolder(call)
  const closing = new AbortController()
  let ownReason: unknown
  const stop = stopWithGrace(context, options.graceS, undefined, (reason) => closing.abort(reason))
  const warn = seldom(clock, (message) => call.listener.event({ type: 'warning-add', message }))
  const worker: Worker = {
    ...call,
    name: `${hostname()}-${context.processes.own}-${randomHex(clock, 8)}`,
    ownFolder: folder.path,
    jobs: openJobs(context, projectIn(folder.path, false).stateFolder, call.redactor),
    closing: closing.signal,
    inFlight: stop.signal,
    end(reason) {
      ownReason ??= reason
      closing.abort(reason)
    },
    warn,
    ask: (work) =>
      server.ask(work, {
        signal: stop.signal,
        forMs: Infinity,
        onFailure: ({ message }) => warn(`${message} It is tried again.`),
      }),
  }
  const taken = lanes.filter((lane) => options.places[lane] > 0)
  let isEmpty = true
  try {
    call.onStart?.(worker.name)
    // First: what is known of a request here is an unknown outcome for whoever takes it over.
    await recoverLeftovers(worker)
    const stops = taken.map((lane) =>
      server.receive(lane, {
        concurrency: options.places[lane],
        rate: options.rate,
        locks,
        handle: createDeliveryHandler(worker, lane),
        onError: ({ message }) => warn(message),
      }),
    )
    if (options.untilEmpty) void endWhenEmpty(worker, () => server.countOpen(taken))
    if (!closing.signal.aborted) await once(closing.signal, 'abort')
    await Promise.all(stops.map((stopReceiving) => stopReceiving()))
    isEmpty = (await namesIn(workIn(folder.path))).length === 0
    // A signal goes before any other reason.
    return stop.reason() ?? ownReason
  } finally {
    stop.close()
    await folder.release(isEmpty)
  }
}

/** What cannot be reported to the run now is for the next worker. */
async function recoverLeftovers(worker: Worker): Promise<void> {
  for await (const { path, release } of deadFolders(worker)) {
    const isSafe = await recoverFolder(worker, path).catch((error: unknown) => {
      const { message } = asModelgateError(error, false)
      if (!worker.closing.aborted)
        worker.warn(`What an earlier worker left in ${path} could not be recorded: ${message}`)
      return false
    })
    await release(isSafe)
  }
}

async function recoverFolder(worker: Worker, path: string): Promise<boolean> {
  const { context, redactor, server, ask } = worker
  const jobs = await startedJobs(context, projectIn(path, false), redactor)
  let isSafe = true
  for (const name of await namesIn(workIn(path))) {
    const [laneName, id = ''] = name.split('.')
    const lane = lanes.find((one) => one === laneName)
    const job = lane && (await ask(() => server.find(lane, id)))
    if (job === undefined) continue
    const delivery = openDelivery(worker, lane!, job, path)
    isSafe = (await delivery.recover(name, jobs)) && isSafe
  }
  return isSafe
}

async function endWhenEmpty(worker: Worker, countOpen: () => Promise<number>): Promise<void> {
  const { context, closing, ask, end } = worker
  try {
    for (let emptyForMs = 0; emptyForMs <= emptyMs;) {
      emptyForMs = (await ask(countOpen)) > 0 ? 0 : emptyForMs + askEmptyMs
      await sleep(context.clock, askEmptyMs, closing)
    }
    end(undefined)
  } catch (error) {
    if (!closing.aborted) end(asModelgateError(error, false))
  }
}

/** For this long the same warning is not repeated. */
const repeatedMs = 60_000
const maxRemembered = 50

function seldom(clock: Clock, say: (message: string) => void): (message: string) => void {
  const said = new Map<string, number>()
  return (message) => {
    const now = clock.monotonic()
    if (now - (said.get(message) ?? -Infinity) < repeatedMs) return
    if (said.size >= maxRemembered) said.clear()
    said.set(message, now)
    say(message)
  }
}
