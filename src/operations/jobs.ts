import { isFinal } from '../contract/video-state.ts'
import type { FileHost } from '../context.ts'
import { ModelgateError, UsageError, asModelgateError } from '../errors.ts'
import type { JobKind } from '../events/video.ts'
import { isExpired } from '../events/format-job.ts'
import type { AnyJobs, ImageJobs, JobFamily, JobRecord, ResponseJobs } from '../files/jobs/job-record.ts'
import {
  openImageStore,
  openJobStore,
  openResponseStore,
  type JobStore,
  type StoredJob,
} from '../files/jobs/job-store.ts'
import { shellWord } from '../files/file-error.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { isOwnOrigin } from '../gateway/url.ts'
import { responseInBeginning } from '../gateway/responses/background.ts'
import { jobInBeginning } from '../gateway/videos/start-job.ts'
import { operationPath } from '../gateway/videos/read-job.ts'
import type { Redactor } from './operation.ts'
import { videoCount } from './video-request.ts'

/** A job by its id on the gateway, with its record on this machine. */
export interface NamedJob {
  readonly id: string
  readonly kind: JobKind
  readonly stored: StoredJob | undefined
}

/** The gateway that jobs are looked up on. */
export interface JobGateway {
  readonly isSandbox: boolean
  /** Undefined when none is configured. */
  readonly baseUrl: URL | undefined
  readonly betaUrl: URL | undefined
}

/**
 * Opens the store of jobs on this machine.
 * @param redactor removes secrets from records
 */
export function openJobs(host: FileHost, stateFolder: string | undefined, redactor: Redactor): JobStore {
  return openJobStore(stateFolder, host.clock, {
    host,
    clean: (json) => redactor.document(json),
    readReply: jobInBeginning,
  })
}

/** Opens the store of background responses on this machine, as `openJobs` that of jobs. */
export function openResponses(
  host: FileHost,
  stateFolder: string | undefined,
  redactor: Redactor,
): JobStore<ResponseJobs> {
  return openResponseStore(stateFolder, host.clock, {
    host,
    clean: (json) => redactor.document(json),
    readReply: responseInBeginning,
  })
}

/** Opens the store of images that have not been fetched, as `openJobs` that of jobs. */
export function openImages(
  host: FileHost,
  stateFolder: string | undefined,
  redactor: Redactor,
): JobStore<ImageJobs> {
  return openImageStore(stateFolder, host.clock, { host, clean: (json) => redactor.document(json) })
}

/**
 * A job that is not on record, by its id: a name with slashes is an operation's.
 * @throws UsageError for an invalid path
 */
export function unrecordedJob(id: string): NamedJob {
  // Video ids of relays may be base64, with slashes in them.
  if (!/(?:^|\/)operations\/|^(?:models|projects|publishers)\//.test(id))
    return { id, kind: 'video', stored: undefined }
  // A remix uses only the last part, so check the whole name here.
  operationPath(id)
  return { id, kind: 'operation', stored: undefined }
}

/** The job started last on this machine. @throws UsageError without one */
export async function lastJob<Family extends JobFamily>(store: JobStore<Family>): Promise<StoredJob<Family>> {
  const last = await store.last()
  if (last !== undefined) return last
  throw new UsageError('This machine has no job on record.', {
    code: 'no_job',
    hint: 'Give the id of the job.',
  })
}

/** A job on record. @throws UsageError if its id is unknown, or it is on another gateway */
export function namedJob<Family extends JobFamily>(
  stored: StoredJob<Family>,
  { isSandbox, baseUrl, betaUrl }: JobGateway,
): { readonly id: string; readonly kind: Family['kinds'][number]; readonly stored: StoredJob<Family> } {
  const { id, kind, idempotency_key, is_sandbox, base_url } = stored.record
  if (id === null) {
    throw new UsageError(
      `The id of the job is unknown, since the gateway's reply never arrived or could not be read. Its idempotency key is ${idempotency_key}.`,
      { code: 'id_unknown', hint: 'Ask the gateway whether it exists before you start it again.' },
    )
  }
  if (isSandbox && !is_sandbox) {
    throw new UsageError(`The job ${id} was started on a gateway: leave out --sandbox.`, {
      code: 'other_gateway',
    })
  }
  const isHere = baseUrl !== undefined && isOwnOrigin({ baseUrl, betaUrl }, new URL(base_url))
  if (!is_sandbox && !isHere) {
    const contrast = baseUrl === undefined ? 'and no gateway is configured' : `not on ${baseUrl.origin}`
    throw new UsageError(`The job ${id} was started on ${base_url}, ${contrast}.`, {
      code: 'other_gateway',
      hint: `Add --base-url ${shellWord(base_url)}, or the --profile of that gateway.`,
    })
  }
  return { id, kind, stored }
}

/** A job that the gateway told of less than so many seconds ago may be missing on another of its servers (fault C11). */
const newForS = 10

/** Whether the job was started, or seen running, a moment ago, as far as there is a record of it. */
export function isNew(stored: StoredJob<AnyJobs> | undefined, { clock }: Pick<FileHost, 'clock'>): boolean {
  if (stored === undefined) return false
  const { state, checked_at, created_at } = stored.record
  return !isFinal(state) && Math.abs(clock.now() / 1000 - (checked_at ?? created_at)) < newForS
}

/** A job whose outcome is still unknown after this many days is unlikely to be resolved. */
export const unknownJobDays = 7

/**
 * Whether the record can be deleted without loss: there is no result to fetch, and none will follow. @param now Unix
 * seconds
 */
export function isPrunable(record: JobRecord, now: number): boolean {
  const { state, files, result, request, checked_at, created_at } = record
  if (state === 'failed' || isExpired(record, now)) return true
  // `result` is set once all videos have been saved.
  if (state === 'completed') return result !== undefined || files.length >= videoCount(request)
  return now - (checked_at ?? created_at) > unknownJobDays * 86_400
}

/** Whether the result of a job on record is not here yet, and may still be had. @param now Unix seconds */
export function isLeftToFetch(record: JobRecord<AnyJobs>, now: number): boolean {
  const { kind, state, result, files } = record
  if (!isFinal(state)) return true
  if (kind === 'response' || state === 'failed' || isExpired(record, now)) return false
  return kind === 'image' || (result === undefined && files.length === 0)
}

/** The jobs that have not ended, by their gateway and the profile of its settings; the newest first. */
export function jobsToRefresh<Family extends JobFamily>(
  jobs: readonly StoredJob<Family>[],
): readonly (readonly [StoredJob<Family>, ...(readonly StoredJob<Family>[])])[] {
  const open = jobs.filter(({ record: { id, state } }) => id !== null && !isFinal(state))
  const groups = Map.groupBy(open, ({ record }) =>
    record.is_sandbox ? '' : JSON.stringify([record.profile, URL.parse(record.base_url)?.origin]),
  )
  return [...groups.values()].map(([first, ...others]) => [first!, ...others])
}

/** How many jobs are looked up concurrently. */
const atOnce = 4

/**
 * Looks up jobs and updates their records.
 * @returns a warning for each look-up that failed
 * @throws the reason of the signal
 */
export async function refreshJobs<Family extends JobFamily>(
  gateway: Gateway,
  jobs: readonly StoredJob<Family>[],
  lookUp: (gateway: Gateway, job: StoredJob<Family>) => Promise<Parameters<StoredJob<Family>['update']>[0]>,
): Promise<string[]> {
  const warnings: string[] = []
  const rest = jobs.values()
  const refresh = async (job: StoredJob<Family>) => {
    const { id } = job.record
    try {
      await job.update(await lookUp(gateway, job))
    } catch (error) {
      if (gateway.signal.aborted) throw error
      warnings.push(`${id}: ${asModelgateError(error, gateway.trace !== undefined).message}`)
    }
  }
  const work = async () => {
    for (const job of rest) await refresh(job)
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return warnings
}

/**
 * Whether a job may exist after the request for it failed so: an error in place of a job is a rejection, whatever the
 * status. After an unexpected error the outcome is unknown.
 */
export function mayExist(error: unknown): boolean {
  if (!(error instanceof ModelgateError)) return true
  if (error.exit === 'failed') return false
  return error.facts.billed === 'maybe' || error.facts.billed === 'yes'
}
