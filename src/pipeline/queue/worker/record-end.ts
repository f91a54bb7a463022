import { amountText } from '../../../cost/amount.ts'
import { asModelgateError, billedOf, type ModelgateError } from '../../../errors.ts'
import { withoutSecrets } from '../../../operations/operation.ts'
import type { TaskResult } from '../../execute/task.ts'
import { isOfWorker, type TaskEnd, type TaskRef } from '../intents.ts'
import { patiently } from '../patiently.ts'
import type { TaskDocument } from '../task-document.ts'
import type { Worker } from './worker-call.ts'

/** What became of an attempt, for this worker. */
export interface Ended {
  /** After how many milliseconds it is to be sent again; null when it is over. */
  readonly againInMs: number | null
  /** Whether what it made, or started, is not written down yet: the files stay for the next process. */
  readonly isLeft: boolean
}

export type TaskFacts = Pick<TaskDocument, 'instance' | 'lane' | 'run' | 'creates'>

/**
 * Puts the files of a result into the store, and writes it down, for as long as it takes.
 * @param tookS how long it took here; null where that is not known
 */
export async function recordResult(
  worker: Worker,
  ref: TaskRef,
  facts: TaskFacts,
  task: TaskResult,
): Promise<Ended> {
  const { intents, store, stop, redactor, listener } = worker
  const { result, files, warnings } = task
  const cost =
    task.cost === null ? null : { amount: amountText(task.cost.amount), currency: task.cost.currency }
  const end: TaskEnd = { kind: 'result', result, cost, warnings: withoutSecrets([...warnings], redactor) }
  try {
    for (const [at, path] of files.entries()) {
      await patiently(worker, stop.lastWords, () => store.put(path, result.outputs[at]!.sha256), true)
    }
    await patiently(worker, stop.lastWords, () => intents.end(ref, end))
  } catch (error) {
    stop.end(asModelgateError(error, false).amend({ billed: 'yes' }))
    return { againInMs: null, isLeft: true }
  }
  const bytes = result.outputs.reduce((sum, output) => sum + output.bytes, 0)
  listener.event({
    type: 'task-end',
    ...told(ref, facts),
    outcome: 'done',
    outputs: result.outputs.length,
    bytes,
    took_s: result.took_s,
    again_s: null,
    error: null,
  })
  return { againInMs: null, isLeft: false }
}

/** Writes down how an attempt has failed. An error of the worker's own ends the worker, too. */
export async function recordError(
  worker: Worker,
  ref: TaskRef,
  facts: TaskFacts,
  error: ModelgateError,
): Promise<Ended> {
  const { intents, stop, listener, redactor } = worker
  const own = isOfWorker(error)
  if (own) stop.end(error)
  let againInMs: number | null
  try {
    againInMs = await patiently(worker, stop.lastWords, () => intents.end(ref, error))
  } catch (thrown) {
    stop.end(thrown)
    return { againInMs: null, isLeft: true }
  }
  listener.event({
    type: 'task-end',
    ...told(ref, facts),
    outcome:
      againInMs !== null ? (own ? 'returned' : 'again') : error.exit === 'unknown' ? 'unknown' : 'failed',
    outputs: 0,
    bytes: 0,
    took_s: null,
    again_s: againInMs === null ? null : againInMs / 1000,
    error: {
      code: error.code,
      exit_code: error.exitCode,
      billed: billedOf(error),
      message: redactor.text(error.message),
    },
  })
  return { againInMs, isLeft: false }
}

/** How events name a task. */
export function told({ key, run }: TaskRef, { instance, lane, creates }: TaskFacts) {
  return { instance, run, key, lane, creates }
}
