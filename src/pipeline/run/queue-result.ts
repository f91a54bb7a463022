import { join } from 'node:path'
import { amountFrom } from '../../cost/amount.ts'
import { FileError } from '../../errors.ts'
import { prepareFolder } from '../execute/execute-task.ts'
import { writeRecord } from '../execute/task-record.ts'
import type { TaskResult } from '../execute/task.ts'
import type { TaskOutcome } from '../queue/task-document.ts'
import type { SharedStore } from '../store/shared-store.ts'
import { folderOf } from './request-records.ts'
import type { Request, Run } from './run-call.ts'

/**
 * Fetches the files of a result that a worker has made into the work folder of its key.
 * @throws FileError `shared_file_lost` for bytes that the store does not have as they were; whatever the store throws
 */
export async function fetchResult(
  run: Run,
  { instance, key }: Request,
  { result, cost: known, warnings }: Extract<TaskOutcome, { kind: 'result' }>,
  store: SharedStore,
): Promise<TaskResult> {
  const folder = folderOf(run, key)
  const names = result.outputs.map(({ path }) => path)
  // What stands in a queue must not choose where it is written.
  if (!names.every((name) => /^\d+\.\w+$/.test(name))) throw lost(instance.id, 'names no files of a result')
  await prepareFolder(run.call.context, { folder, job: null, made: null })
  const amount = known === null ? undefined : amountFrom(known.amount)
  const done: TaskResult = {
    result,
    files: names.map((name) => join(folder, name)),
    cost: amount === undefined || known === null ? null : { amount, currency: known.currency },
    warnings,
  }
  // First: files without it could be taken for a result of which nothing else is known.
  writeRecord({ folder, key }, done, run.call.redactor)
  for (const [at, { sha256 }] of result.outputs.entries()) {
    if (await store.fetch(sha256, done.files[at]!)) continue
    throw lost(
      instance.id,
      `is not in the store ${store.shown}, or differs from what was made: ${names[at]}, SHA-256 ${sha256}`,
    )
  }
  return done
}

function lost(id: string, clause: string): FileError {
  return new FileError('shared_file_lost', `The result of ${id} ${clause}.`, {
    phase: 'result',
    billed: 'yes',
    hint: `When the store has it again, run it again: the queue knows the result for a week. If it is gone, generate it again with --regenerate ${id}.`,
  })
}
