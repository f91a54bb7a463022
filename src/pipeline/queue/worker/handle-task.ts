import { readdir } from 'node:fs/promises'
import { asModelgateError, Interrupted, ModelgateError, UsageError } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import { executeTask, startJob } from '../../execute/execute-task.ts'
import { buildRequest } from '../../execute/task-body.ts'
import { creationOf } from '../../manifest/instance-body.ts'
import { forgetJob } from '../../execute/started-jobs.ts'
import type { Task } from '../../execute/task.ts'
import { sleep } from '../../../context.ts'
import type { Delivery, Handled } from '../delivery.ts'
import { queueDocument } from '../document-shapes.ts'
import type { Begun, TaskRef } from '../intents.ts'
import { placeInputs, type PlacedTask } from '../place-inputs.ts'
import { isFinal, requestName, taskName, type TaskDocument } from '../task-document.ts'
import { decodeTask, messageVersion, type TaskMessage } from '../task-message.ts'
import { patiently } from '../patiently.ts'
import { recordError, recordResult, told, type Ended } from './record-end.ts'
import {
  executeCall,
  keepFolder,
  makeTaskFolder,
  removeFolder,
  taskFolder,
  type TaskFolder,
} from './task-folder.ts'
import { taskGateway } from './worker-gateway.ts'
import type { Worker } from './worker-call.ts'

/** Another delivery of the same task is in progress here: this one looks again after so many milliseconds. */
const busyMs = 5_000
const refusedMs = 60_000
/** A task that is sent again after so many milliseconds is not delivered anew. */
const heldMs = 1_000
/** So long nobody would take up what this worker has left. */
const leftMs = 60_000

export interface KnownTask {
  readonly ref: TaskRef
  readonly task: TaskDocument
  readonly message: unknown
}

/**
 * Does something about a delivery. Never throws: what fails here is tried again later, here or elsewhere.
 */
export async function handleDelivery(
  worker: Worker,
  delivery: Delivery,
  handle: (known: KnownTask) => Promise<Handled>,
): Promise<Handled> {
  const { atWork, documents, stop } = worker
  const { key, attempt } = delivery
  if (stop.closing.aborted) return { againInMs: 0 }
  if (atWork.has(key)) return { againInMs: busyMs }
  atWork.add(key)
  try {
    const names = [taskName(key), requestName(key)]
    const found = await patiently(worker, stop.closing, () => documents.read(names))
    const task = queueDocument('task', found.get(names[0]!))
    if (task === undefined || task.attempt !== attempt || isFinal(task)) return 'over'
    const request = found.get(names[1]!)
    const message = isObject(request) ? request['message'] : undefined
    return await handle({ ref: { key, attempt, run: task.run }, task, message })
  } catch (thrown) {
    if (stop.closing.aborted) return { againInMs: 0 }
    const error = asModelgateError(thrown, false)
    if (error.exit === 'usage') {
      worker.warn(error.message)
      return { againInMs: refusedMs }
    }
    stop.end(error)
    return { againInMs: 0 }
  } finally {
    atWork.delete(key)
  }
}

/** Sends a task, or starts its remote job. */
export async function handleTask(worker: Worker, known: KnownTask): Promise<Handled> {
  const { ref, task, message } = known
  if (task.state === 'started') return await passOn(worker, ref)
  const decoded = decodeMessage(message)
  const folder = taskFolder(worker.ownFolder, ref)
  let isLeft = false
  try {
    makeTaskFolder(folder, { ref, message })
    // Before a place is taken: whoever has one sends at once.
    const placed = decoded instanceof ModelgateError ? decoded : await place(worker, folder, decoded)
    for (;;) {
      const { begun, askedAt } = await begin(worker, ref, task)
      if (begun.kind === 'over') return 'over'
      if (begun.kind === 'wait') return { againInMs: begun.ms }
      if (begun.kind === 'poll') return await passOn(worker, ref)
      const sent = { ref, task: begun.task, message }
      const ended = await attempt(worker, sent, folder, placed, askedAt)
      worker.turns.freed(task.lane)
      isLeft = ended.isLeft
      if (isLeft) return { againInMs: leftMs }
      if (ended.againInMs === null) return 'over'
      if (ended.againInMs > heldMs || worker.stop.closing.aborted) return { againInMs: ended.againInMs }
      await sleep(worker.context.clock, ended.againInMs, worker.stop.closing)
    }
  } finally {
    if (!isLeft) removeFolder(folder.path)
  }
}

/** A message of another version is for another worker; what is damaged fails. @throws UsageError */
export function decodeMessage(message: unknown): TaskMessage | ModelgateError {
  try {
    return decodeTask(message)
  } catch (error) {
    const isOther = isObject(message) && message['version'] !== messageVersion
    if (error instanceof UsageError && !isOther) return error
    throw error
  }
}

/** @returns an error that is about the task and not this machine @throws ModelgateError */
async function place(
  worker: Worker,
  { path }: TaskFolder,
  message: TaskMessage,
): Promise<PlacedTask | ModelgateError> {
  const { store, stop } = worker
  try {
    return await patiently(worker, stop.closing, () => placeInputs(message, store, path))
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    // It would end every worker that takes the task.
    if (error.exit === 'bug') return error.amend({ billed: 'no' })
    if (error.code !== 'store_input_missing') throw error
    // No disk of this machine is at fault.
    return error.amend({ exit: 'usage' })
  }
}

/** Takes a place and writes the intent down. @returns what came of it, and when it was asked for, on the monotonic clock */
async function begin(
  worker: Worker,
  ref: TaskRef,
  { lane }: TaskDocument,
): Promise<{ readonly begun: Begun; readonly askedAt: number }> {
  const { context, intents, stop, turns } = worker
  let isUnsure = false
  let askedAt = 0
  try {
    const begun = await turns.begin(lane, () =>
      patiently(worker, stop.closing, async () => {
        isUnsure = true
        askedAt = context.clock.monotonic()
        const answer = await intents.begin(ref)
        isUnsure = false
        return answer
      }),
    )
    return { begun, askedAt }
  } catch (error) {
    // The intent may have been written all the same, and nothing is going to be sent.
    const unsent = new Interrupted('terminate', { phase: 'send', billed: 'no' })
    if (isUnsure) await patiently(worker, stop.lastWords, () => intents.end(ref, unsent)).catch(() => {})
    throw error
  }
}

/** Sends a request whose intent is written down. Never throws. */
async function attempt(
  worker: Worker,
  { ref, task: document, message }: KnownTask,
  folder: TaskFolder,
  placed: PlacedTask | ModelgateError,
  permitAt: number,
): Promise<Ended> {
  const { intents, listener, stop } = worker
  if (placed instanceof ModelgateError) return await recordError(worker, ref, document, placed)
  listener.event({ type: 'task-start', ...told(ref, document), attempt: document.failures + 1 })
  let isStarted = false
  const { instance, upstream } = placed
  const call = executeCall(worker, folder.path, taskGateway(worker, permitAt))
  const task: Task = {
    instance,
    creation: creationOf(instance),
    request: () => buildRequest(call.context, instance, { folder: folder.path, upstream }),
    key: ref.key,
    variant: 1,
    idempotencyKey: ref.attempt,
    folder: folder.made,
    job: null,
    made: null,
    // What cannot be fetched is an unknown outcome here.
    async onMade() {},
    async onJob(id, kind) {
      isStarted = true
      await patiently(worker, stop.lastWords, () => intents.started(ref, { id, kind }, message))
    },
    onProgress() {},
  }
  try {
    if (document.lane !== 'video') {
      return await recordResult(worker, ref, document, await executeTask(call, task))
    }
    const job = await startJob(call, task)
    await passOn(worker, ref)
    await forgetJob(call, job)
    return { againInMs: null, isLeft: false }
  } catch (thrown) {
    const error = asModelgateError(thrown, false)
    if (isStarted) {
      // The id is on record in the folder of this process; the next one writes it down.
      stop.end(error)
      return { againInMs: null, isLeft: true }
    }
    await keepWhatCame(worker, ref, folder)
    return await recordError(worker, ref, document, error)
  }
}

/** What has come of a request that failed may have been paid for, also where the error does not tell of it. */
export async function keepWhatCame(
  worker: Worker,
  { key, attempt: id }: TaskRef,
  { made }: TaskFolder,
): Promise<void> {
  if ((await readdir(made).catch(() => [])).length === 0) return
  const what = 'What has come of a request that failed'
  try {
    const kept = await keepFolder(worker, made, `${key}.${id}`)
    worker.warn(`${what} is kept in ${kept}.`)
  } catch (error) {
    worker.warn(`${what} is lost: ${asModelgateError(error, false).message}`)
  }
}

/** Has the remote job of a task looked up. */
export async function passOn(worker: Worker, { key, attempt: id }: Delivery): Promise<Handled> {
  const { sender, shared, stop } = worker
  const delivery = { key, attempt: id, priority: 0 }
  const delayMs = (shared.pollIntervalS ?? firstPollS) * 1000
  await patiently(worker, stop.lastWords, () => sender.send('poll', [delivery], delayMs))
  return 'over'
}

const firstPollS = 2
