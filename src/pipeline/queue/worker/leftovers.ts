import { asModelgateError, ModelgateError } from '../../../errors.ts'
import { startedJobs } from '../../execute/started-jobs.ts'
import { recoverResult } from '../../execute/task-record.ts'
import { queueDocument } from '../document-shapes.ts'
import { taskName } from '../task-document.ts'
import { decodeMessage, passOn } from './handle-task.ts'
import { patiently } from '../patiently.ts'
import { recordResult } from './record-end.ts'
import { notesIn, removeFolder } from './task-folder.ts'
import type { Worker } from './worker-call.ts'

/**
 * Writes down what processes of this machine have left: results that are whole, and the ids of remote jobs that are on record
 * under the key of their request. What is nothing of that is removed. Never throws.
 * @param path of such a process
 * @returns whether something is left still
 */
export async function recordLeftovers(worker: Worker, path: string): Promise<boolean> {
  const { context, redactor, stop } = worker
  try {
    const jobs = await startedJobs(context, { stateFolder: path }, redactor)
    let isLeft = false
    for (const { folder, note } of await notesIn(path)) {
      const { ref, message } = note
      const decoded = decodeMessage(message)
      const found = await patiently(worker, stop.closing, () => worker.documents.read([taskName(ref.key)]))
      const task = queueDocument('task', found.get(taskName(ref.key)))
      if (decoded instanceof ModelgateError || task === undefined || task.attempt !== ref.attempt) continue
      const job = jobs.get(ref.attempt)
      const request = { instance: decoded.instance, key: ref.key, folder: folder.made }
      const left = await recoverResult(context, request)
      if (left !== undefined && task.state !== 'done') {
        const result = { ...left.result, job_id: left.result.job_id ?? task.job?.id ?? null }
        const ended = await recordResult(worker, ref, task, { ...left, result })
        isLeft ||= ended.isLeft
      } else if (job !== undefined && (task.state === 'sent' || task.state === 'unknown')) {
        await patiently(worker, stop.closing, () => worker.intents.started(ref, job, message))
        await passOn(worker, ref)
      }
    }
    if (!isLeft) removeFolder(path)
    return isLeft
  } catch (error) {
    if (!stop.closing.aborted) {
      const { message } = asModelgateError(error, false)
      worker.warn(`What an earlier worker left in ${path} could not be recorded: ${message}`)
    }
    return true
  }
}
