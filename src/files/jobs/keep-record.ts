import { ModelgateError } from '../../errors.ts'
import { mergeRecords, newRecord } from './job-record.ts'
import type { JobRecord, NewJob } from './job-record.ts'
import type { JobHandle, JobStore } from './job-store.ts'

type Warn = (message: string) => void

/**
 * Puts a job on record as far as that can be done: a disk that cannot be written is told once, and is no reason not
 * to start a job, nor to give up one that is paid for. What is learned is then kept in memory.
 * @param now Unix seconds
 */
export async function keepRecord(
  store: JobStore,
  job: NewJob,
  { now, warn }: { readonly now: number; readonly warn: Warn },
): Promise<JobHandle> {
  const tell = tellOnce(warn)
  const handle = await store.create(job).catch(tell)
  return tolerant(handle, handle?.record ?? newRecord(job, now), tell)
}

/** The same for a job that is on record already. */
export function keepUpdating(job: JobHandle, warn: Warn): JobHandle {
  return tolerant(job, job.record, tellOnce(warn))
}

function tellOnce(warn: Warn): (error: unknown) => undefined {
  let isTold = false
  return (error) => {
    if (!(error instanceof ModelgateError)) throw error
    if (!isTold) warn(`The record of this job cannot be kept, so note its id. ${error.message}`)
    isTold = true
  }
}

function tolerant(
  handle: JobHandle | undefined,
  known: JobRecord,
  tell: (error: unknown) => undefined,
): JobHandle {
  let record = known
  return {
    get record() {
      return record
    },
    async update(change) {
      record = mergeRecords(record, { ...record, ...change })
      await handle?.update(change).then(() => void (record = mergeRecords(record, handle.record)), tell)
    },
  }
}
