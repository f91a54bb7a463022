import { isFinal, videoOperationEndpoint } from '../contract/videos.ts'
import type { Clock } from '../context.ts'
import { ModelgateError, UsageError, asModelgateError } from '../errors.ts'
import type { JobKind } from '../events/video.ts'
import { isExpired } from '../events/format-job.ts'
import {
  digestOfKey,
  type JobProgress,
  type JobRecord,
  type NewJob,
  type RecordKind,
} from '../files/calls/job-record.ts'
import { JobStore, type StoredJob } from '../files/calls/job-store.ts'
import type { Gateway } from '../gateway/gateway.ts'
import { rootOf } from '../gateway/url.ts'
import { lookUpResponse, responseInBeginning, type ResponseReport } from '../gateway/responses/background.ts'
import { type JobReport, operationPath } from '../gateway/videos/read-job.ts'
import { jobInBeginning, lookUpJob } from '../gateway/videos/job-requests.ts'
import type { WaitOptions } from '../gateway/videos/wait-for-job.ts'
import { promptOf, type Body, type Call, type Redactor } from './operation.ts'
import { videoCount } from './video-request.ts'

/** A job by its id on the gateway, with its record on this machine. */
export interface NamedJob<Kind extends RecordKind = JobKind> {
  readonly id: string
  readonly kind: Kind
  readonly stored: StoredJob | undefined
}

/** The store of jobs on this machine. @param redactor removes secrets from records */
export function openJobs(
  { clock }: { readonly clock: Clock },
  folder: string | undefined,
  redactor: Redactor,
) {
  return new JobStore(folder, clock, {
    clean: (json) => redactor.document(json),
    readReply: (text, kind) =>
      kind === 'response' || kind === 'image' ? responseInBeginning(text) : jobInBeginning(text, kind),
  })
}

export interface RecordPlan {
  readonly store: JobStore
  readonly start: Pick<NewJob, 'is_sandbox' | 'profile' | 'terminal'>
  /** What `-o`, `output_dir` and `--force` say, so that a later command can plan it again. */
  readonly place: Omit<NewJob['output'], 'cwd'>
  /** Whether prompts are kept (`history`). */
  readonly keepsWords: boolean
  /** Called with the id of a job once that is on record, before it is reported. */
  onRecorded?(id: string): Promise<void>
}

/** What is asked of the gateway, as far as it is recorded. */
interface AskedJob extends Pick<NewJob, 'kind' | 'command'> {
  readonly model: string | null
  readonly body: Body
  /** Left out, it is that of the body. */
  readonly prompt?: string
  readonly idempotencyKey: string | undefined
  readonly checksSchema?: boolean
}

/** Puts a job on record. A failing disk does not prevent the start, since the id is reported in any case. */
export async function recordJob(
  { context, gateway }: Call,
  { store, start, place, keepsWords }: RecordPlan,
  { kind, command, model, body, prompt, idempotencyKey, checksSchema }: AskedJob,
  warn: (reason: string) => void,
  known?: Partial<JobProgress>,
): Promise<StoredJob | undefined> {
  try {
    const facts: NewJob = {
      ...start,
      kind,
      command,
      model: model ?? '',
      base_url: rootOf(gateway, kind === 'operation' ? videoOperationEndpoint.path : '').href,
      request: body,
      idempotency_key: idempotencyKey ?? '',
      checks_schema: checksSchema,
      key_digest: digestOfKey(gateway.key),
      output: { ...place, cwd: context.cwd },
    }
    return await store.create(facts, keepsWords ? (prompt ?? promptOf(body)) : undefined, known)
  } catch (error) {
    warn(asModelgateError(error, gateway.trace !== undefined).message)
    return undefined
  }
}

interface JobCreation {
  readonly stored: StoredJob | undefined
  /** Takes the bytes of the reply, which are on disk before they are parsed. */
  readonly onReplyBytes: ((bytes: Uint8Array) => void) | undefined
  /** Called as soon as the id is known, with what else is. */
  created(id: string, change?: Partial<JobProgress>): Promise<void>
}

/**
 * Starts a job: on record before it is sent, its id on record and reported before anything else of it. One that was
 * certainly not started is forgotten; of one that may exist the key is all that is known, so the record is kept.
 */
export async function createJob<Result>(
  call: Call,
  plan: RecordPlan,
  asked: AskedJob & { readonly kind: Exclude<RecordKind, 'image'> },
  warn: (message: string) => void,
  send: (creation: JobCreation) => Promise<Result>,
): Promise<Result> {
  const { kind } = asked
  const noun = kind === 'response' ? 'response' : 'job'
  const stored = await recordJob(call, plan, asked, (reason) =>
    warn(`The ${noun} is not on record on this machine: ${reason} Keep its id.`),
  )
  // If it cannot be opened, the job is still recorded and its id will be reported.
  const log = await stored?.openReplyLog().catch(() => undefined)
  let isCreated = false
  const created = async (id: string, change: Partial<JobProgress> = {}) => {
    isCreated = true
    log?.close()
    await keepRecord(stored, { ...change, id }, warn)
    if (stored?.record.id === id) await plan.onRecorded?.(id)
    call.listener.event({ type: 'job-create', id, kind })
  }
  try {
    return await send({ stored, onReplyBytes: log?.add, created })
  } catch (error) {
    const { code, message } = asModelgateError(error, false)
    if (stored === undefined || isCreated) throw error
    if (mayExist(error)) await stored.update({ error: { code, message } }).catch(() => {})
    else await plan.store.forget([stored])
    throw error
  } finally {
    log?.close()
  }
}

/** Updates a record. A failing disk must not fail the command: it causes a warning. */
export async function keepRecord(
  stored: StoredJob | undefined,
  change: Partial<JobProgress>,
  warn: (message: string) => void,
): Promise<void> {
  await stored?.update(change).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    warn(`The record of the job cannot be kept up to date: ${reason}`)
  })
}

type AnyReport = JobReport | ResponseReport

export function changeOf(report: AnyReport): Partial<JobProgress> {
  const { state, status, progress, completedAt, expiresAt, failure, requestId } = report
  return {
    ...(isFinal(state) && completedAt !== null ? { completed_at: Math.floor(completedAt) } : {}),
    state,
    status,
    progress,
    expires_at: expiresAt,
    request_id: requestId,
    error: failure === undefined ? null : { code: failure.code ?? 'failed', message: failure.message },
  }
}

/** How long, and how often, a job is looked up. */
export interface WaitLimits {
  /** The first interval between two look-ups, in seconds; by default the usual one. */
  readonly pollIntervalS: number | undefined
  /** When the wait ends, on the monotonic clock, in milliseconds; undefined when it does not. */
  readonly deadlineMs: number | undefined
}

/**
 * How a job is looked up until it ends. Every look-up is an event.
 * @param idOf gives its id, which may not be known before the first look-up
 * @param startedAt Unix seconds
 * @param onReport takes what a look-up has found; returns the seconds that are left, if that is known
 */
export function waitOptions<Report extends AnyReport>(
  { context, listener, hasSent }: Call,
  { pollIntervalS, deadlineMs }: WaitLimits,
  stored: StoredJob | undefined,
  idOf: () => string,
  onReport: (report: Report, elapsedMs: number) => number | null,
  startedAt = stored?.record.created_at,
): WaitOptions<Report> {
  const sinceStartS = startedAt === undefined ? 0 : Math.max(0, context.clock.now() / 1000 - startedAt)
  return {
    firstWaitS: pollIntervalS,
    deadlineMs,
    isNew: isNew(stored, context),
    isUnverified: stored === undefined,
    isOwn: hasSent(),
    onReport(report, { elapsedMs }) {
      const { state, status, progress } = report
      const elapsed_s = Math.round((sinceStartS + elapsedMs / 1000) * 10) / 10
      const remaining_s = onReport(report, elapsedMs)
      listener.event({ type: 'job-progress', id: idOf(), state, status, progress, elapsed_s, remaining_s })
    },
    onFailedLookUp: (failed) => listener.event({ type: 'poll-fail', id: idOf(), ...failed }),
  }
}

/** `--timeout` limits a whole wait, and not each request of it. */
export function withoutTotal({ limits, ...gateway }: Gateway): Gateway {
  return { ...gateway, limits: { ...limits, total: undefined } }
}

const atOnce = 4

/** Looks up jobs and updates their records. @returns a warning for each look-up that failed */
export async function refreshJobs(gateway: Gateway, jobs: readonly StoredJob[]): Promise<string[]> {
  const warnings: string[] = []
  const rest = jobs.values()
  const work = async () => {
    for (const job of rest) {
      const { kind } = job.record
      const id = job.record.id!
      try {
        const isVideo = kind === 'video' || kind === 'operation'
        const look = isVideo ? lookUpJob(gateway, { id, kind }) : lookUpResponse(gateway, id)
        await job.update(changeOf(await look))
      } catch (error) {
        if (gateway.signal.aborted) throw error
        warnings.push(`${id}: ${asModelgateError(error, gateway.trace !== undefined).message}`)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return warnings
}

/** A job that is not on record: a name with slashes is an operation's. @throws UsageError also for an image */
export function unrecordedJob<Kind extends RecordKind>(id: string, kinds: readonly Kind[]): NamedJob<Kind> {
  const named = (kind: RecordKind) => ({
    id,
    kind: kinds.find((one) => one === kind) ?? kinds[0]!,
    stored: undefined,
  })
  if (id.startsWith('resp_')) return named('response')
  if (id.startsWith('image_') && named('image').kind === 'image') {
    throw new UsageError(`There is no image ${id} on record: it has been fetched, or forgotten.`)
  }
  // Video ids of relays may be base64, with slashes in them.
  if (!/(?:^|\/)operations\/|^(?:models|projects|publishers)\//.test(id)) return named('video')
  // A remix uses only the last part, so check the whole name here.
  operationPath(id)
  return named('operation')
}

/** A job seen fewer seconds ago may be missing on another of the gateway's servers. */
const newForS = 10

/** Whether the job was started, or seen running, a moment ago, as far as there is a record of it. */
export function isNew(stored: StoredJob | undefined, { clock }: { readonly clock: Clock }): boolean {
  if (stored === undefined) return false
  const { state, checked_at, created_at } = stored.record
  return !isFinal(state) && Math.abs(clock.now() / 1000 - (checked_at ?? created_at)) < newForS
}

/** A job whose outcome is still unknown after this many days is unlikely to be resolved. */
const unknownJobDays = 7

/** Whether a record can be deleted: there is no result to fetch, and none will follow. @param now Unix seconds */
export function isPrunable(record: JobRecord, now: number): boolean {
  const { kind, state, files, result, request, checked_at, created_at } = record
  if (kind === 'image') return !isLeftToFetch(record, now)
  if (kind === 'response' ? isFinal(state) : state === 'failed' || isExpired(record, now)) return true
  // `result` is set once all videos have been saved.
  if (state === 'completed') return result !== undefined || files.length >= videoCount(request)
  return now - (checked_at ?? created_at) > unknownJobDays * 86_400
}

/** Whether the result of a job on record is not here yet, and may still be had. @param now Unix seconds */
export function isLeftToFetch(record: JobRecord, now: number): boolean {
  const { kind, state, result, files } = record
  if (!isFinal(state)) return true
  if (kind === 'response' || state === 'failed' || isExpired(record, now)) return false
  return kind === 'image' || (result === undefined && files.length === 0)
}

/** Whether a job may exist after its request failed: an error in place of a job is a rejection, whatever the status. */
function mayExist(error: unknown): boolean {
  if (!(error instanceof ModelgateError)) return true
  if (error.exit === 'failed') return false
  return error.facts.billed === 'maybe' || error.facts.billed === 'yes'
}
