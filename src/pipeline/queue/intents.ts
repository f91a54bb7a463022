import { amountFrom } from '../../cost/amount.ts'
import { asModelgateError, billedOf, ModelgateError, type ExitName } from '../../errors.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { waitBefore } from '../../gateway/retry.ts'
import { isAnswered, isRateLimit, mayRepeat } from '../schedule/attempt-error.ts'
import type { Delivery } from './delivery.ts'
import { queueDocument } from './document-shapes.ts'
import type { DocumentStore, Documents, Writes } from './document-store.ts'
import {
  errorMessage,
  isFinal,
  lanesName,
  requestName,
  runName,
  taskName,
  workerName,
  type TaskDocument,
  type TaskOutcome,
} from './task-document.ts'
import {
  askAgainMs,
  newLanes,
  openLanes,
  type LanesDocument,
  type QueueLanes,
  type RequestRate,
} from './queue-lanes.ts'
import { givenBack, moved, taken, type RunRecord } from './run-record.ts'
import { taskMessage } from './submissions.ts'

/** Which task a worker means, and whose it is. */
export interface TaskRef extends Delivery {
  readonly run: string
}

/** What a worker may do about a task. */
export type Begun =
  /** The intent is on the disk: the request is to be sent, or the remote job waited for. */
  | { readonly kind: 'send'; readonly task: TaskDocument; readonly message: unknown }
  | { readonly kind: 'poll'; readonly task: TaskDocument; readonly message: unknown }
  /** No place yet, or another worker may be at it still. */
  | { readonly kind: 'wait'; readonly ms: number; readonly isHeld: boolean }
  /** There is nothing to do about it. */
  | { readonly kind: 'over' }

/** How a request has ended. */
export type TaskEnd = Extract<TaskOutcome, { kind: 'result' }> | ModelgateError

export interface WorkerOptions {
  /** Its name, unique. */
  readonly worker: string
  /** `--rate`. */
  readonly rate: RequestRate | null
  /** Whether a request of unknown outcome is sent again under the same key: the gateway honours it. */
  readonly isSentAgain: boolean
  /** A number in [0, 1). */
  random(): number
  /** Takes secrets out of a JSON document. */
  redact(json: string): string
}

/** What workers write down of the requests that they send: nothing is sent before its intent is on the server's disk. */
export interface Intents {
  /**
   * Takes a place, the budget and the intent, all at once; or takes over what a worker has left that died. A worker that
   * asks again has not sent it: the answer to its intent was lost. So it must not ask while it is at it.
   */
  begin(delivery: Delivery): Promise<Begun>
  /**
   * The id of a remote job. It is on the disk when this resolves, and counts also where the outcome was unknown before.
   * @param message of the task, for whoever looks the job up then
   */
  started(ref: TaskRef, job: NonNullable<TaskDocument['job']>, message?: unknown): Promise<void>
  /**
   * How a request has ended; the first result that comes counts, also of a worker that was thought dead.
   * @returns after how many milliseconds it is to be sent again; null when it is over
   */
  end(ref: TaskRef, end: TaskEnd): Promise<number | null>
  /** A look-up or a download takes a place in the rate, too. @returns how many milliseconds to wait before asking again */
  beginLookUp(id: string): Promise<number>
  /**
   * To be called every few seconds: whoever does not counts as dead after a minute.
   * @returns the time of the server, in milliseconds since 1970
   */
  beat(): Promise<number>
}

/** A worker whose last sign of life is so old is dead. The same as for the owner of a manifest. */
const deadAfterMs = 60_000

/** What is read and changed at once. */
interface Scene {
  task: TaskDocument
  run: RunRecord
  readonly document: LanesDocument
  readonly lanes: QueueLanes
  readonly now: number
}

export function openIntents(documents: DocumentStore, options: WorkerOptions): Intents {
  const { worker, rate, isSentAgain, random, redact } = options

  const scene = (found: Documents, now: number, { key, run }: TaskRef): Scene | undefined => {
    const task = queueDocument('task', found.get(taskName(key)))
    const record = queueDocument('run', found.get(runName(run)))
    if (task === undefined || record === undefined) return undefined
    const document = structuredClone(queueDocument('lanes', found.get(lanesName)) ?? newLanes())
    return { task, run: record, document, lanes: openLanes(document, now, random), now }
  }
  const namesOf = ({ key, run }: TaskRef) => [taskName(key), requestName(key), runName(run), lanesName]
  const write = <Result>(
    { key, run }: TaskRef,
    { task, run: record, document }: Scene,
    result: Result,
  ): Writes<Result> => {
    const written = new Map<string, JsonObject | null>([
      [taskName(key), { ...task }],
      [runName(run), { ...record }],
      [lanesName, { ...document }],
    ])
    const messages = [taskMessage(key, { state: task.state })]
    if (!isFinal(task)) return { documents: written, expiring: [runName(run)], messages, result }
    written.set(requestName(key), null)
    return { documents: written, expiring: [taskName(key), runName(run)], messages, result }
  }

  /** Gives back the place of a task, if it has one. @returns whether it failed of an outage that was known already */
  const leave = (at: Scene, ref: TaskRef, error: ModelgateError | null | undefined): boolean => {
    const { place, lane } = at.task
    if (place === null) return false
    at.run = moved(at.run, lane, -1)
    at.task = { ...at.task, place: null }
    return at.lanes.end(lane, ref.attempt, place, error, rate)
  }
  const finish = (at: Scene, outcome: TaskOutcome | null, state: TaskDocument['state']) => {
    at.task = { ...at.task, state, since: at.now, outcome, place: null }
  }
  const fail = (at: Scene, error: ModelgateError, state: 'failed' | 'unknown' = 'failed') => {
    // An answer to the same key is one to every attempt.
    const isEarlierBilled = at.task.mayBeThere && !(isSentAgain && isAnswered(error))
    const told = isEarlierBilled && billedOf(error) === 'no' ? error.amend({ billed: 'maybe' }) : error
    finish(at, { kind: 'error', error: errorMessage(told, redact) }, state)
  }
  /** Of what was not sent, this time. */
  const failUnsent = (at: Scene, error: ModelgateError) =>
    fail(at, error, at.task.mayBeThere ? 'unknown' : 'failed')
  /** Nothing was created. */
  const uncount = (at: Scene) => {
    if (!at.task.isCounted || (isSentAgain && at.task.mayBeThere)) return
    at.run = givenBack(at.run, spendingOf(at.task))
    at.task = { ...at.task, isCounted: false }
  }
  const wait = (at: Scene, ms: number) => {
    at.task = { ...at.task, state: 'waiting', since: at.now, worker: null, notBefore: at.now + ms }
  }

  /** Takes a place, the budget and the intent. */
  const send = (at: Scene, ref: TaskRef, message: unknown): Begun => {
    const { task, run, now } = at
    const { lane, instance } = task
    if (run.gaveUp !== null) {
      failUnsent(at, notSent(run.gaveUp))
      return { kind: 'over' }
    }
    if (task.notBefore > now) return { kind: 'wait', ms: task.notBefore - now, isHeld: false }
    if (run.inFlight[lane] >= run.lanes[lane]) return { kind: 'wait', ms: askAgainMs, isHeld: true }
    try {
      const spent = task.isCounted ? run : taken(run, instance, spendingOf(task))
      const place = at.lanes.begin(lane, ref.attempt, rate)
      if ('waitMs' in place) return { kind: 'wait', ms: place.waitMs, isHeld: true }
      at.run = moved(spent, lane, 1)
      at.task = { ...task, state: 'sent', since: now, worker, isCounted: true, place }
      return { kind: 'send', task: at.task, message }
    } catch (error) {
      // The budget is reached.
      failUnsent(at, asModelgateError(error, false))
      return { kind: 'over' }
    }
  }

  /** What a worker has left that died between its intent and what came of it. */
  const takeOver = (at: Scene, ref: TaskRef) => {
    leave(at, ref, null)
    at.task = { ...at.task, mayBeThere: true }
    if (isSentAgain) return wait(at, 0)
    if (at.task.onUnknown === 'retry') {
      // It may be paid for twice, so it counts twice.
      at.task = { ...at.task, isCounted: false }
      return wait(at, 0)
    }
    fail(at, lostWithWorker(at.task), 'unknown')
  }

  /** What an error makes of a request that was sent. @returns after how many milliseconds it is sent again */
  const endWith = (at: Scene, ref: TaskRef, thrown: ModelgateError): number | null => {
    if (at.task.state === 'started') return endJobWith(at, ref, thrown)
    if (thrown.exit === 'bug') return endWithBug(at, ref, thrown)
    if (isOfWorker(thrown)) {
      if (billedOf(thrown) !== 'no') {
        takeOver(at, ref)
        return isFinal(at.task) ? null : 0
      }
      leave(at, ref, null)
      uncount(at)
      wait(at, 0)
      return 0
    }
    const isLost = !isAnswered(thrown) && billedOf(thrown) !== 'no'
    if (isLost) at.task = { ...at.task, mayBeThere: true }
    // A gateway's `x-should-retry: true` is not enough: each repetition may cost again.
    const mayRepeatLost = isSentAgain || at.task.onUnknown === 'retry'
    // What is made and could not be fetched is not made again.
    const isMade = thrown.exit === 'running'
    const isRepeated = isLost && !isMade && mayRepeatLost && thrown.facts.shouldRetry !== false
    const error = isRepeated ? thrown.amend({ exit: 'later', billed: 'no', cause: thrown }) : thrown
    const isKnown = leave(at, ref, error)
    if (isLost && !isRepeated) {
      fail(at, thrown, 'unknown')
      return null
    }
    if (billedOf(thrown) === 'no') uncount(at)
    // It may be paid for twice, so it counts twice.
    else if (isRepeated && !isSentAgain) at.task = { ...at.task, isCounted: false }
    const isRepeatable = mayRepeat(error, false)
    if (isRepeatable && isRateLimit(error)) {
      wait(at, 0)
      return 0
    }
    const waitMs = isRepeatable ? repeat(at, error, isKnown) : null
    if (waitMs !== null) wait(at, waitMs)
    else if (isLost || (isSentAgain && at.task.mayBeThere && !isAnswered(thrown))) {
      fail(at, thrown, 'unknown')
    } else fail(at, thrown)
    return waitMs
  }
  /** It is over whatever `on_unknown` says: it would end every worker that takes it. */
  const endWithBug = (at: Scene, ref: TaskRef, bug: ModelgateError): null => {
    leave(at, ref, null)
    if (billedOf(bug) === 'no') {
      uncount(at)
      failUnsent(at, bug)
    } else fail(at, bug.amend({ exit: 'unknown' }), 'unknown')
    return null
  }
  /** A look-up that failed says nothing of the job. */
  const endJobWith = (at: Scene, ref: TaskRef, error: ModelgateError): number | null => {
    const isBug = error.exit === 'bug'
    if (isOfWorker(error) && !isBug) return 0
    if (!isBug && !isAnswered(error)) {
      const waitMs = repeat(at, error, false)
      if (waitMs !== null) return waitMs
    }
    leave(at, ref, error)
    fail(at, error)
    return null
  }
  /** @returns how long to wait before it is tried again; null when the run has no retries left */
  const repeat = (at: Scene, error: ModelgateError, isKnown: boolean): number | null => {
    const { used, allowed } = at.run.retries
    if (!isKnown && used >= allowed) {
      // The outage has lasted for as long as the retries have: the next run does the rest.
      if (at.lanes.isOpen) at.run = { ...at.run, gaveUp: redactText(error.message) }
      return null
    }
    const waitMs = waitBefore(at.task.failures, error.facts.retryAfterS, random()) * 1000
    if (!isKnown) at.run = { ...at.run, retries: { used: used + 1, allowed } }
    at.task = { ...at.task, failures: at.task.failures + 1 }
    return waitMs
  }
  const redactText = (text: string): string => JSON.parse(redact(JSON.stringify(text))) as string

  return {
    async begin({ key, attempt }) {
      const before = queueDocument('task', (await documents.read([taskName(key)])).get(taskName(key)))
      if (before === undefined) return { kind: 'over' }
      const ref = { key, attempt, run: before.run }
      const beat = before.worker === null ? [] : [workerName(before.worker)]
      return await documents.transact([...namesOf(ref), ...beat], (found, now): Writes<Begun> => {
        const at = scene(found, now, ref)
        const nothing = (result: Begun) => ({ documents: new Map<string, JsonObject>(), result })
        if (at === undefined || at.task.attempt !== attempt || isFinal(at.task))
          return nothing({ kind: 'over' })
        const { task } = at
        // It has changed hands since it was read.
        if (task.worker !== before.worker || task.run !== before.run) return nothing(askAgain)
        const request = found.get(requestName(key))
        const message = isObject(request) ? request['message'] : undefined
        if (task.state === 'started') return nothing({ kind: 'poll', task, message })
        if (task.state === 'sent' && task.worker === worker) return nothing({ kind: 'send', task, message })
        if (task.state === 'sent') {
          const lastBeat = queueDocument('worker', found.get(workerName(task.worker ?? '')))?.beat ?? 0
          const leftMs = Math.max(lastBeat, task.since) + deadAfterMs - now
          if (leftMs > 0) return nothing({ kind: 'wait', ms: leftMs, isHeld: false })
          takeOver(at, ref)
        }
        const begun: Begun = isFinal(at.task) ? { kind: 'over' } : send(at, ref, message)
        return at.task === task ? nothing(begun) : write(ref, at, begun)
      })
    },
    async started(ref, job, message) {
      await documents.transact(namesOf(ref), (found, now) => {
        const at = scene(found, now, ref)
        const nothing = { documents: new Map<string, JsonObject>(), result: undefined }
        if (at === undefined || at.task.attempt !== ref.attempt || at.task.state === 'started') return nothing
        const isKnownNow = at.task.state === 'unknown' && message !== undefined
        if (isFinal(at.task) && !isKnownNow) return nothing
        const { place, lane } = at.task
        const answered = place === null ? null : at.lanes.answered(lane, ref.attempt, place, rate)
        at.task = {
          ...at.task,
          state: 'started',
          since: now,
          job,
          place: answered,
          failures: 0,
          outcome: null,
        }
        const writes = write(ref, at, undefined)
        if (!isKnownNow) return writes
        return { ...writes, documents: new Map(writes.documents).set(requestName(ref.key), { message }) }
      })
    },
    async end(ref, end) {
      return await documents.transact(namesOf(ref), (found, now): Writes<number | null> => {
        const at = scene(found, now, ref)
        const nothing = { documents: new Map<string, JsonObject>(), result: null }
        if (at === undefined || at.task.attempt !== ref.attempt) return nothing
        const { state } = at.task
        if (end instanceof ModelgateError) {
          const isMine = state === 'started' || (state === 'sent' && at.task.worker === worker)
          if (isMine) return write(ref, at, endWith(at, ref, end))
          // It was written down before, and the answer was lost.
          return state === 'waiting' ? { ...nothing, result: Math.max(0, at.task.notBefore - now) } : nothing
        }
        if (state === 'done' || state === 'withdrawn') return nothing
        leave(at, ref, undefined)
        finish(at, end, 'done')
        return write(ref, at, null)
      })
    },
    async beginLookUp(id) {
      if (rate === null) return 0
      return await documents.transact([lanesName], (found, now) => {
        const document = structuredClone(queueDocument('lanes', found.get(lanesName)) ?? newLanes())
        const { waitMs } = openLanes(document, now, random).beginLookUp(id, rate)
        return { documents: new Map(waitMs > 0 ? [] : [[lanesName, { ...document }]]), result: waitMs }
      })
    },
    async beat() {
      const name = workerName(worker)
      return await documents.transact([name], (_, now) => ({
        documents: new Map([[name, { beat: now }]]),
        expiring: [name],
        result: now,
      }))
    },
  }
}

const askAgain: Begun = { kind: 'wait', ms: askAgainMs, isHeld: false }

/**
 * Whether an error says something of the worker alone: it was stopped, has no valid key, has reached its own limit, or had a
 * disk that takes nothing before anything was sent.
 */
export function isOfWorker(error: ModelgateError): boolean {
  return workerExits.has(error.exit) || (error.exit === 'io' && billedOf(error) === 'no')
}

const workerExits: ReadonlySet<ExitName> = new Set([
  'interrupt',
  'hangup',
  'terminate',
  'ok',
  'key',
  'limit',
  'bug',
])

function spendingOf({ creates, cost }: Pick<TaskDocument, 'creates' | 'cost'>) {
  return { creates, cost: cost === null ? null : (amountFrom(cost) ?? 0n) }
}

function notSent(reason: string): ModelgateError {
  return new ModelgateError('later', 'gateway_fails', `Not sent, because the gateway fails: ${reason}`, {
    phase: 'send',
    billed: 'no',
  })
}

function lostWithWorker({ worker }: TaskDocument): ModelgateError {
  const message = `The worker ${worker} died after it had sent the request: its outcome is unknown.`
  return new ModelgateError('unknown', 'worker_lost', message, { phase: 'wait', billed: 'maybe' })
}
