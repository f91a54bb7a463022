import type { Context } from '../context.ts'
import { hasEnded } from '../contract/video-state.ts'
import { UsageError, asModelgateError } from '../errors.ts'
import type { JobKind } from '../events/video.ts'
import { isExpired, type JobRecord } from '../files/jobs/job-record.ts'
import { openJobStore, type JobStore, type StoredJob } from '../files/jobs/job-store.ts'
import { shellWord } from '../files/file-error.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { jobInBeginning } from '../gateway/videos/start-job.ts'
import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { operationPath } from '../gateway/videos/read-job.ts'
import type { Redactor } from './operation.ts'
import { videoCount } from './video-request.ts'
import { changeOf } from './video-run.ts'

/** A job by what it is called on the gateway, with what this machine has on record. */
export interface NamedJob {
  readonly id: string
  readonly kind: JobKind
  readonly stored: StoredJob | undefined
}

/** The gateway that is asked for jobs. */
export interface JobGateway {
  readonly isSandbox: boolean
  /** Undefined when none is configured. */
  readonly baseUrl: URL | undefined
}

/**
 * The jobs of this machine, below its state folder.
 * @param redactor what is put on record goes through it
 */
export function openJobs(
  { clock }: Pick<Context, 'clock'>,
  stateFolder: string | undefined,
  redactor: Redactor,
): JobStore {
  return openJobStore(stateFolder, clock, {
    clean: (json) => redactor.document(json),
    readReply: jobInBeginning,
  })
}

/**
 * The job that is meant by an id, or the beginning of one. One that is not on record is taken as it is: a name with
 * slashes is an operation's.
 * @throws UsageError for an ambiguous beginning, a name that is no path, and a job of another gateway
 */
export async function findJob(store: JobStore, text: string, gateway: JobGateway): Promise<NamedJob> {
  const found = await store.find(text)
  if (found !== undefined) return namedJob(found, gateway)
  // What relays call videos may be base64, slashes and all (quirk 21).
  if (!text.includes('/') || /^(video|task)_/.test(text)) {
    return { id: text, kind: 'video', stored: undefined }
  }
  // A remix goes by the last part alone: the name is checked whole here.
  operationPath(text)
  return { id: text, kind: 'operation', stored: undefined }
}

/** The job that was started last on this machine. @throws UsageError without one, and for a job of another gateway */
export async function lastJob(store: JobStore, gateway: JobGateway): Promise<NamedJob> {
  const last = await store.last()
  if (last !== undefined) return namedJob(last, gateway)
  throw new UsageError('This machine has no job on record.', {
    code: 'no_job',
    hint: 'Give the id of the job.',
  })
}

function namedJob(stored: StoredJob, { isSandbox, baseUrl }: JobGateway): NamedJob {
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
  if (!is_sandbox && new URL(base_url).origin !== baseUrl?.origin) {
    const contrast = baseUrl === undefined ? 'and no gateway is configured' : `not on ${baseUrl.origin}`
    throw new UsageError(`The job ${id} was started on ${base_url}, ${contrast}.`, {
      code: 'other_gateway',
      hint: `Add --base-url ${shellWord(base_url)}, or the --profile of that gateway.`,
    })
  }
  return { id, kind, stored }
}

/** A job whose outcome is still unknown after this many days is unlikely to be resolved. */
export const unknownJobDays = 7

/** Whether nothing is lost with the record: no result is left to be fetched, and none is to come. @param now Unix seconds */
export function isPrunable(record: JobRecord, now: number): boolean {
  const { state, files, result, request, checked_at, created_at } = record
  if (state === 'failed' || isExpired(record, now)) return true
  // A result is on record once all of its videos are saved.
  if (state === 'completed') return result !== undefined || files.length >= videoCount(request)
  return now - (checked_at ?? created_at) > unknownJobDays * 86_400
}

/** The jobs that have not ended and are of the gateway that is asked, and a warning for those of each other one. */
export function jobsToRefresh(
  jobs: readonly StoredJob[],
  { isSandbox, baseUrl }: JobGateway,
): { readonly jobs: readonly StoredJob[]; readonly warnings: string[] } {
  const open = jobs.filter(
    ({ record: { id, state } }) => id !== null && (state === 'unknown' || !hasEnded(state)),
  )
  const inSandbox = open.filter(({ record }) => record.is_sandbox)
  const outside = open.filter(({ record }) => !record.is_sandbox)
  if (isSandbox) {
    const warning = `${counted(outside)} not in the sandbox, and not looked up with --sandbox.`
    return { jobs: inSandbox, warnings: outside.length > 0 ? [warning] : [] }
  }
  const warnings: string[] = []
  if (inSandbox.length > 0) {
    const them = inSandbox.length === 1 ? 'it' : 'them'
    warnings.push(`${counted(inSandbox)} in the sandbox: add --sandbox to look ${them} up.`)
  }
  const here = baseUrl?.origin
  const byOrigin = Map.groupBy(outside, ({ record }) => originOf(record))
  const own = here === undefined ? outside : (byOrigin.get(here) ?? [])
  for (const [origin, there] of byOrigin) {
    if (here === undefined || origin === here) continue
    warnings.push(`${counted(there)} at ${origin}, and not looked up at ${here}.`)
  }
  return { jobs: own, warnings }
}

function originOf({ base_url }: JobRecord): string {
  return URL.parse(base_url)?.origin ?? 'an unknown address'
}

function counted({ length }: readonly StoredJob[]): string {
  return length === 1 ? '1 job is' : `${length} jobs are`
}

/** So many jobs are asked for at once. */
const atOnce = 4

/**
 * Looks jobs up, and puts on record what comes.
 * @returns a warning for each look-up that failed
 * @throws the reason of the signal
 */
export async function refreshJobs(gateway: Gateway, jobs: readonly StoredJob[]): Promise<string[]> {
  const warnings: string[] = []
  const rest = jobs.values()
  const refresh = async (job: StoredJob) => {
    const { id, kind } = job.record
    try {
      await job.update(changeOf(await lookUpJob(gateway, { id: id!, kind })))
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
