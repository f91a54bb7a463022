import { lstatSync, mkdirSync } from 'node:fs'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileHost } from '../../context.ts'
import { creatingCommands } from '../../contract/commands.ts'
import type { OutputDocument } from '../../events/documents.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder, renameFile } from '../../files/write-target.ts'
import { rootOf } from '../../gateway/url.ts'
import type { JobReport } from '../../gateway/videos/read-job.ts'
import { withoutSecrets, type Redactor } from '../../operations/operation.ts'
import { asideName, recordName, writeRecord, type TaskResult } from '../store/results.ts'
import {
  beginRun,
  recoverResult,
  type ExecuteCall,
  type Made,
  type StartedJob,
  type Task,
  type TaskRun,
} from './task.ts'

/**
 * Makes one request, whose results are saved, verified, in the task's folder. What an earlier attempt has begun is
 * continued with. All but a whole result is an error, which names in `rescued` what has been kept.
 * @param report how the job stood a moment ago: one that has ended is not looked up again
 */
export async function executeTask(shared: ExecuteCall, task: Task, report?: JobReport): Promise<TaskResult> {
  const { context, gateway, project } = shared
  const left = task.job === null ? undefined : await recoverResult(context, task)
  if (left !== undefined) return { ...left, result: { ...left.result, job_id: task.job!.id } }
  const began = context.clock.monotonic()
  await prepareFolder(context, task)
  const { outputs, model, document, text } = await runTask(beginRun(shared, task), report)
  const provenance = {
    model,
    request_id: document.request_id,
    job_id: 'operation' in document ? document.id : null,
    usage: 'usage' in document ? document.usage : null,
  }
  const seconds = Math.round(context.clock.monotonic() - began) / 1000
  const done: TaskResult = {
    result: {
      outputs,
      // The gateway's own words go into the lock, and it may quote the key.
      ...withoutSecrets(provenance, shared.redactor),
      // The address of a sandbox is another one each time.
      origin: project.isSandbox
        ? null
        : rootOf(gateway, creatingCommands[task.instance.command].endpoint.path).origin,
      // Of a job that was started earlier only a part of the time was spent here.
      took_s: task.job === null ? seconds : null,
    },
    cost: await costOf(shared, task, document),
    warnings: document.warnings,
    text,
  }
  recordResult(task, done, shared.redactor)
  return done
}

/** It comes last: with it a later process can take the result over. Best effort. */
export function recordResult(task: Task, result: TaskResult, redactor: Redactor): void {
  const { key, variant, instance, folder } = task
  try {
    const hide = (text: string) => redactor.document(text)
    writeRecord(folder, { key, variant, instance: instance.id, ...result }, hide)
  } catch {}
}

export async function startJob(shared: ExecuteCall, task: Task): Promise<StartedJob> {
  await prepareFolder(shared.context, task)
  const { startVideoJob } = await import('./video-task.ts')
  return await startVideoJob(beginRun(shared, task))
}

async function runTask(run: TaskRun, report: JobReport | undefined): Promise<Made> {
  const { command, lane } = run.task.instance
  if (command === 'generate' || command === 'respond') return (await import('./text-task.ts')).makeText(run)
  if (lane === 'image') return (await import('./image-task.ts')).makeImage(run)
  return (await import('./video-task.ts')).makeVideo(run, report)
}

/** Makes the folder of a task. What an earlier attempt has left is moved aside: it may have been paid for. */
export async function prepareFolder(
  host: FileHost,
  { folder, job, made }: Pick<Task, 'folder' | 'job' | 'made'>,
): Promise<void> {
  try {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    // At once, which is faster than in another thread.
    if (found === undefined) return void mkdirSync(folder, { recursive: true, mode: 0o700 })
    // Where a link leads nothing is moved aside.
    if (found.isSymbolicLink()) await unlink(folder)
    await makeFolder(folder)
    if (job !== null || made !== null) return
    const names = await readdir(folder)
    const left = names.filter((name) => !name.startsWith(asideName))
    if (left.length === 0) return
    const aside = join(folder, `${asideName}${names.length - left.length + 1}`)
    await makeFolder(aside)
    // First, so that what is left is not taken for a whole result.
    const ordered = left.toSorted((one, other) => Number(other === recordName) - Number(one === recordName))
    for (const name of ordered) await renameFile(host, join(folder, name), join(aside, name))
  } catch (error) {
    const known = writeError(error, folder)
    // Of a job that was started earlier it says nothing.
    throw job === null && made === null ? known.amend({ billed: 'no' }) : known
  }
}

async function costOf({ prices, project }: ExecuteCall, { creation }: Task, document: OutputDocument) {
  if (project.isSandbox || Object.keys(prices).length === 0) return null
  const { costOfDocument } = await import('../../operations/document-cost.ts')
  const cost = costOfDocument(prices, document, creation)
  return cost === undefined || cost.amount === null ? null : { amount: cost.amount, currency: cost.currency }
}
