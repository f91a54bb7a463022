import { join } from 'node:path'
import { DelayedError } from 'bullmq'
import { billedOf, type ExitName, type ModelgateError } from '../../../errors.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import { projectOf } from '../../project.ts'
import type { TaskJob } from '../queue-server.ts'
import { makeTaskFolder, removeFolder, type TaskFolder } from './unfinished.ts'
import type { Delivery, Worker } from './worker-context.ts'

/** Has the task delivered again. If its lock is lost, another worker has it by now. */
export async function later(
  { context: { clock } }: Worker,
  job: TaskJob,
  token: string,
  ms: number,
): Promise<never> {
  await job.moveToDelayed(clock.now() + ms, token).catch(() => {})
  throw new DelayedError()
}

/** @param work returns whether its files stay here for the next process, or a text that is passed on */
export async function inFolder(
  worker: Worker,
  { lane, job }: Pick<Delivery, 'lane' | 'job'>,
  work: (folder: TaskFolder) => Promise<boolean | string>,
): Promise<string | undefined> {
  const folder = makeTaskFolder(worker.ownFolder, lane, job)
  let done: boolean | string = false
  try {
    done = await work(folder)
    return typeof done === 'string' ? done : undefined
  } finally {
    if (done !== true) removeFolder(folder.path)
  }
}

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

/** How the requests of a task are executed: its folder is the project's. */
export function executeCall(
  { context, shared, redactor, isSandbox, ownFolder, stop }: Worker,
  path: string,
): ExecuteCall {
  return {
    ...shared,
    gateway: { ...shared.gateway, signal: stop.inFlight },
    context: { ...context, cwd: path, signal: stop.inFlight },
    project: { ...projectOf(join(path, 'modelgate.yaml'), isSandbox), stateFolder: ownFolder },
    redactor,
    timeoutMs: undefined,
  }
}
