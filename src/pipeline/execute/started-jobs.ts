import type { Clock } from '../../context.ts'
import { videoKinds } from '../../files/calls/job-record.ts'
import type { JobStore } from '../../files/calls/job-store.ts'
import { openJobs } from '../../operations/jobs.ts'
import type { Redactor } from '../../operations/operation.ts'
import type { Project } from '../project.ts'

export interface StartedJob {
  /** The id of a video, or the name of an operation. */
  readonly id: string
  readonly kind: 'video' | 'operation'
}

/**
 * The jobs that were started in a project and whose results are not safe yet, by the idempotency keys of their requests.
 * An id is on record before the journal has it, even the one in a reply that was cut: a process may have been killed
 * between the two.
 */
export async function startedJobs(
  context: { readonly clock: Clock },
  { stateFolder }: Pick<Project, 'stateFolder'>,
  redactor: Redactor,
): Promise<ReadonlyMap<string, StartedJob>> {
  const { jobs } = await openJobs(context, stateFolder, redactor).list(videoKinds)
  const found = new Map<string, StartedJob>()
  for (const { record } of jobs) {
    const { id, kind, idempotency_key: key } = record
    // Of several requests with one key the newest that has an id; they are the same job.
    if (id !== null && !found.has(key)) found.set(key, { id, kind })
  }
  return found
}

/** Removes the record of a job whose id is safe elsewhere. Never throws. */
export async function forgetJob(store: JobStore, { id }: StartedJob): Promise<void> {
  const stored = await store.find(id).catch(() => undefined)
  if (stored !== undefined) await store.forget([stored])
}
