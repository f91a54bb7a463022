import { join } from 'node:path'
import { billedOf, type ExitName, type ModelgateError } from '../../../errors.ts'
import type { ExecuteCall } from '../../execute/task-run.ts'
import { projectOf } from '../../project.ts'
import type { Handled } from '../queue-server.ts'
import { makeTaskFolder, removeFolder, type TaskFolder } from './unfinished.ts'
import { leftHere, over, type Delivery, type Worker } from './worker-context.ts'

/** Works in a folder of the task's own, which is removed afterwards, unless its files are left here. */
export async function inFolder(
  worker: Worker,
  { lane, job }: Pick<Delivery, 'lane' | 'job'>,
  work: (folder: TaskFolder) => Promise<Handled>,
): Promise<Handled> {
  const folder = makeTaskFolder(worker.ownFolder, lane, job)
  let handled: Handled = over
  try {
    handled = await work(folder)
    return handled
  } finally {
    if (handled !== leftHere) removeFolder(folder.path)
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
