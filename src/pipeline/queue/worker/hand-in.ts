import { asModelgateError, billedOf, type ModelgateError } from '../../../errors.ts'
import { creatingCommands } from '../../../contract/commands.ts'
import type { TaskResult } from '../../execute/task.ts'
import type { TaskMessage } from '../message.ts'
import { errorOutcome, resultOutcome } from '../outcome.ts'
import { patiently } from '../patiently.ts'
import { isGone, stateOf, type Handled, type TaskJob, type TaskState } from '../queue-server.ts'
import { leftHere, over, type Worker } from './worker-context.ts'

/**
 * Writes what has become of a task, for as long as it takes. It needs no lock: also the outcome of a worker that was taken for
 * dead counts. Only who has won its attempt may do so.
 * @throws the reason of the worker's end
 */
export async function writeState(worker: Worker, job: TaskJob, state: TaskState): Promise<void> {
  const text = worker.redactor.document(JSON.stringify(state))
  await worker.ask(worker.stop.lastWords, async () => {
    // The run may have forgotten it.
    await job.updateData({ ...job.data, state: text }).catch((error: unknown) => {
      if (!isGone(error)) throw error
    })
  })
}

/**
 * Puts the files of a result into the store, and tells the run.
 * @returns `leftHere` when the worker has ended before
 */
export async function handIn(
  worker: Worker,
  job: TaskJob,
  message: TaskMessage,
  result: TaskResult,
): Promise<Handled> {
  const { store, stop, listener } = worker
  const { files, result: found } = result
  try {
    for (const [at, path] of files.entries()) {
      await patiently(worker, stop.lastWords, () => store.put(path, found.outputs[at]!.sha256), true)
    }
    await writeState(worker, job, { ...stateOf(job), outcome: resultOutcome(result) })
  } catch (error) {
    stop.end(asModelgateError(error, false).amend({ billed: 'yes' }))
    return leftHere
  }
  const bytes = found.outputs.reduce((sum, output) => sum + output.bytes, 0)
  listener.event({
    type: 'task-end',
    ...told(message),
    outcome: 'done',
    outputs: found.outputs.length,
    bytes,
    took_s: found.took_s,
    again_s: null,
    error: null,
  })
  return over
}

/**
 * Tells the run how an attempt has failed, unless another worker has told a result meanwhile.
 * @throws the reason of the worker's end
 */
export async function tellError(
  worker: Worker,
  job: TaskJob,
  message: TaskMessage,
  error: ModelgateError,
): Promise<void> {
  const { server, stop } = worker
  const lane = creatingCommands[message.command].creates
  const now = await worker.ask(stop.lastWords, () => server.find(lane, job.id!))
  if (now !== undefined && stateOf(now).outcome?.kind === 'result') return
  await writeState(worker, job, { ...stateOf(job), outcome: errorOutcome(error) })
  showError(worker, message, error, error.exit === 'unknown' ? 'unknown' : 'failed', null)
}

/** @param againMs after how long it is sent again, in milliseconds; null where that is not known here */
export function showError(
  { listener, redactor }: Worker,
  message: TaskMessage,
  error: ModelgateError,
  outcome: 'again' | 'failed' | 'returned' | 'unknown',
  againMs: number | null,
): void {
  listener.event({
    type: 'task-end',
    ...told(message),
    outcome,
    outputs: 0,
    bytes: 0,
    took_s: null,
    again_s: againMs === null ? null : againMs / 1000,
    error: {
      code: error.code,
      exit_code: error.exitCode,
      billed: billedOf(error),
      message: redactor.text(error.message),
    },
  })
}

/** How events name a task. */
export function told({ instance, run, key, command, count }: TaskMessage) {
  return { instance, run, key, lane: creatingCommands[command].creates, creates: count }
}
