import type { JsonObject } from '../../json.ts'
import { queueDocument } from './document-shapes.ts'
import type { DocumentStore } from './document-store.ts'
import { errorFrom, requestName, runName, taskName, type TaskDocument } from './task-document.ts'
import { isAnswered } from '../schedule/attempt-error.ts'
import { openRecord, type RunLimits, type RunRecord } from './run-record.ts'

/** A request that a run gives to the queue. */
export interface Submission extends Pick<
  TaskDocument,
  'attempt' | 'instance' | 'lane' | 'creates' | 'cost' | 'onUnknown'
> {
  readonly key: string
  /** Whether a result that there is already does not count: it is to be made anew. */
  readonly isFresh: boolean
  /** Whether a request of unknown outcome is sent again under the same key: the gateway honours it. */
  readonly isSentAgain: boolean
  /** A remote job that was started before, without the queue: it is waited for, and nothing is sent. */
  readonly job: TaskDocument['job']
  /** The task message. */
  readonly message: JsonObject
}

export type Submitted =
  /** To be delivered, perhaps once more: under the attempt that is told, which may be another run's. */
  | { readonly kind: 'waiting'; readonly attempt: string; readonly isStarted: boolean }
  /** A worker is at it. */
  | { readonly kind: 'under way' }
  | { readonly kind: 'ended'; readonly task: TaskDocument }

/** So many tasks are read and written at once. */
const chunkSize = 100

/**
 * Tells all workers the limits of a run, which is about to submit.
 * @param used what it has created before, without a queue; once there is a record, that counts
 * @returns what it has created by now
 */
export async function openRun(
  documents: DocumentStore,
  run: string,
  limits: RunLimits,
  used: RunRecord['used'],
): Promise<RunRecord['used']> {
  const name = runName(run)
  return await documents.transact([name], (found) => {
    const record = openRecord(queueDocument('run', found.get(name)), limits, used)
    return { documents: new Map([[name, { ...record }]]), expiring: [name], result: record.used }
  })
}

/**
 * Gives tasks to the queue. Each may be given any number of times, by any number of runs: there is one for each key.
 * @returns what became of each, in their order; what is `waiting` has yet to be delivered
 */
export async function submit(
  documents: DocumentStore,
  run: string,
  submissions: readonly Submission[],
): Promise<Submitted[]> {
  const all: Submitted[] = []
  for (let from = 0; from < submissions.length; from += chunkSize) {
    const chunk = submissions.slice(from, from + chunkSize)
    const names = chunk.flatMap(({ key }) => [taskName(key), requestName(key)])
    all.push(
      ...(await documents.transact(names, (found, now) => {
        const written = new Map<string, JsonObject>()
        const result = chunk.map((submission) => {
          const { key, message } = submission
          const before = queueDocument('task', found.get(taskName(key)))
          const known = before === undefined ? undefined : joined(before, submission)
          if (known !== undefined) return known
          const task = goesOn(before, submission)
            ? { ...before, run, state: stateToGoOn(before), outcome: null, failures: 0, since: now }
            : newTask(submission, run, before, now)
          written.set(taskName(key), { ...task })
          written.set(requestName(key), { message })
          return {
            kind: 'waiting' as const,
            attempt: task.attempt,
            isStarted: task.state === 'started',
          }
        })
        return { documents: written, result }
      })),
    )
  }
  return all
}

/** What is known of a key that has a task already; undefined where that one does not count, or is to go on. */
function joined(task: TaskDocument, submission: Submission): Submitted | undefined {
  const own = isOwn(task, submission)
  switch (task.state) {
    case 'waiting':
      return { kind: 'waiting', attempt: task.attempt, isStarted: false }
    case 'sent':
    case 'started':
      return { kind: 'under way' }
    case 'withdrawn':
      return undefined
    case 'failed':
      return own && !goesOn(task, submission) ? { kind: 'ended', task } : undefined
    case 'unknown':
      if (goesOn(task, submission)) return undefined
      return own || !submission.isFresh ? { kind: 'ended', task } : undefined
    case 'done':
      return own || !submission.isFresh ? { kind: 'ended', task } : undefined
  }
}

/** Whether a task that has ended is taken up where it was, under its old attempt. */
function goesOn(task: TaskDocument | undefined, submission: Submission): task is TaskDocument {
  if (task === undefined || (submission.isFresh && !isOwn(task, submission))) return false
  return isOpenJob(task) || (task.state === 'unknown' && submission.isSentAgain)
}

function stateToGoOn(task: TaskDocument): 'started' | 'waiting' {
  return task.job === null ? 'waiting' : 'started'
}

function isOwn({ attempt, earlier }: TaskDocument, submission: Submission): boolean {
  return attempt === submission.attempt || earlier.includes(submission.attempt)
}

/** Whether only the look-ups of a remote job have failed: it is not known how the job itself has ended. */
function isOpenJob(task: TaskDocument): boolean {
  if (task.state !== 'failed' || task.job === null || task.outcome?.kind !== 'error') return false
  return !isAnswered(errorFrom(task.outcome.error))
}

function newTask(
  { attempt, instance, lane, creates, cost, onUnknown, job }: Submission,
  run: string,
  before: TaskDocument | undefined,
  now: number,
): TaskDocument {
  const earlier = before === undefined ? [] : [...before.earlier, before.attempt]
  return {
    attempt,
    earlier: earlier.filter((other) => other !== attempt),
    run,
    instance,
    lane,
    creates,
    cost,
    onUnknown,
    state: job === null ? 'waiting' : 'started',
    since: now,
    worker: null,
    // What the run has created before it was given to the queue, the budget has.
    isCounted: job !== null,
    mayBeThere: false,
    failures: 0,
    notBefore: 0,
    place: null,
    job,
    outcome: null,
  }
}

/** The tasks of keys, by key. What is not there is left out. */
export async function lookAt(
  documents: DocumentStore,
  keys: readonly string[],
): Promise<ReadonlyMap<string, TaskDocument>> {
  const found = new Map<string, TaskDocument>()
  for (let from = 0; from < keys.length; from += chunkSize) {
    const chunk = keys.slice(from, from + chunkSize)
    const read = await documents.read(chunk.map(taskName))
    for (const key of chunk) {
      const task = queueDocument('task', read.get(taskName(key)))
      if (task !== undefined) found.set(key, task)
    }
  }
  return found
}

/** Tells that there is something new about a task. */
export function taskMessage(key: string, news: JsonObject = {}): string {
  return JSON.stringify({ key, ...news })
}
