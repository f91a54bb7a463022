import { hostname } from 'node:os'
import { randomHex, sleep, type Timer } from '../../../context.ts'
import { asModelgateError } from '../../../errors.ts'
import { lanes } from '../../manifest/manifest.ts'
import { queues, type Delivery, type Handled, type QueueName } from '../delivery.ts'
import { openIntents } from '../intents.ts'
import { createPollHandler } from './handle-poll.ts'
import { handleDelivery, handleTask } from './handle-task.ts'
import { openLaneTurns } from './lane-turns.ts'
import { recordLeftovers } from './leftovers.ts'
import { openOwnFolder } from './own-folder.ts'
import { patiently } from '../patiently.ts'
import { notesIn } from './task-folder.ts'
import type { Worker, WorkerCall } from './worker-call.ts'
import { openStop } from './worker-stop.ts'

/** How many remote jobs are looked up, or their results fetched, at once. */
const polls = 8
const beatMs = 10_000
/** A queue that is empty for so long, in milliseconds, is empty: what waits for a result comes when that is written down. */
const emptyMs = 5_000
const askEmptyMs = 1_000

/**
 * Works on the tasks of a queue until it is stopped, or nothing is left to do.
 * @returns why it ended; undefined when nothing was left
 * @throws ModelgateError when it could not begin
 */
export async function runWorker(call: WorkerCall): Promise<unknown> {
  const { context, documents, options, redactor } = call
  const { clock } = context
  const name = `${hostname()}-${context.processes.own}-${randomHex(clock, 8)}`
  const ownFolder = await openOwnFolder(call.folder, context)
  const stop = openStop(context, options.graceS)
  const intents = openIntents(documents, {
    worker: name,
    rate: options.rate,
    isSentAgain: options.isSentAgain,
    random: () => clock.random(),
    redact: (json) => redactor.document(json),
  })
  let aheadMs = 0
  const worker: Worker = {
    ...call,
    name,
    intents,
    ownFolder: ownFolder.path,
    stop,
    turns: openLaneTurns(clock, stop.closing),
    atWork: new Set(),
    serverTime: () => clock.now() + aheadMs,
    warn: seldom(clock, (message) => call.listener.event({ type: 'warning-add', message })),
  }
  const beat = async () => {
    aheadMs = (await intents.beat()) - clock.now()
  }
  let isLeft = false
  let beats: { cancel(): void } | undefined
  try {
    // Others take what is sent by a worker without one for left behind.
    await beat()
    beats = every(beatMs, clock, beat)
    call.onStart?.(name)
    // First: what is known of a request here may be an unknown outcome for whoever takes it over.
    await Promise.all(ownFolder.adopted.map((path) => recordLeftovers(worker, path)))
    const receivers = await receiveAll(worker)
    if (options.untilEmpty) void endWhenEmpty(worker)
    await aborted(stop.closing)
    await Promise.all(receivers.map((receiver) => receiver.stop()))
    isLeft = (await notesIn(ownFolder.path)).length > 0
    return stop.reason() === nothingLeft ? undefined : stop.reason()
  } finally {
    beats?.cancel()
    stop.close()
    await ownFolder.release(isLeft)
  }
}

const nothingLeft = Symbol('nothing is left')

async function receiveAll(worker: Worker) {
  const { options, receive, stop, warn } = worker
  const onPoll = createPollHandler(worker)
  const handlers: Readonly<Record<QueueName, (delivery: Delivery) => Promise<Handled>>> = {
    ...(Object.fromEntries(
      lanes.map((lane) => [
        lane,
        (delivery: Delivery) => handleDelivery(worker, delivery, (known) => handleTask(worker, known)),
      ]),
    ) as Record<(typeof lanes)[number], (delivery: Delivery) => Promise<Handled>>),
    poll: (delivery) => handleDelivery(worker, delivery, onPoll),
  }
  const onError = (thrown: unknown) => {
    const error = asModelgateError(thrown, false)
    if (error.code === 'queue_lost') stop.end(error)
    else warn(error.message)
  }
  const taken = queues.filter((queue) => queue === 'poll' || options.places[queue] > 0)
  return await Promise.all(
    taken.map((queue) =>
      receive(queue, queue === 'poll' ? polls : options.places[queue], handlers[queue], onError),
    ),
  )
}

/** Ends the worker when there have been no deliveries for a while. */
async function endWhenEmpty(worker: Worker): Promise<void> {
  const {
    context: { clock },
    sender,
    stop,
  } = worker
  try {
    for (let since: number | undefined; ;) {
      const left = await patiently(worker, stop.closing, () => sender.left())
      if (left > 0) since = undefined
      else since ??= clock.monotonic()
      if (since !== undefined && clock.monotonic() - since >= emptyMs) return stop.end(nothingLeft)
      await sleep(clock, askEmptyMs, stop.closing)
    }
  } catch (error) {
    if (!stop.closing.aborted) stop.end(asModelgateError(error, false))
  }
}

/** Calls again and again; what fails is tried the next time. */
function every(ms: number, clock: WorkerCall['context']['clock'], work: () => Promise<void>) {
  let timer: Timer | undefined
  const schedule = () => {
    timer = clock.timer(
      ms,
      () =>
        void work()
          .catch(() => {})
          .then(() => timer !== undefined && schedule()),
      'background',
    )
  }
  schedule()
  return {
    cancel() {
      timer?.cancel()
      timer = undefined
    },
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** So long the same is not said again, in milliseconds. */
const repeatedMs = 60_000
const maxRemembered = 50

/** What is said of a server that is away is said by everybody who asks it. */
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
