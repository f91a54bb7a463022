import { isFinal } from '../contract/video-state.ts'
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
import { shellWord } from '../files/file-error.ts'
import { isOwnOrigin } from '../gateway/url.ts'
import { responseInBeginning } from '../gateway/responses/background.ts'
import { jobInBeginning } from '../gateway/videos/start-job.ts'
import { operationPath } from '../gateway/videos/read-job.ts'
import type { FailedLookUp } from '../gateway/videos/wait-for-job.ts'
import type { OutputEvent } from '../events/documents.ts'
import type { Call, Redactor } from './operation.ts'
import { videoCount } from './video-request.ts'

/** A job by its id on the gateway, with its record on this machine. */
export interface NamedJob<Kind extends RecordKind = JobKind> {
  readonly id: string
  readonly kind: Kind
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
export function openJobs(
  { clock }: { readonly clock: Clock },
  stateFolder: string | undefined,
  redactor: Redactor,
): JobStore {
  return new JobStore(stateFolder, clock, {
    clean: (json) => redactor.document(json),
    readReply: (text, kind) =>
      kind === 'response' || kind === 'image' ? responseInBeginning(text) : jobInBeginning(text, kind),
  })
}

/** Where and how the jobs of a command go on record. */
export interface RecordPlan {
  readonly store: JobStore
  readonly isSandbox: boolean
  /** The profile that the settings are from. */
  readonly profile: string
  /** `Context.terminalId` */
  readonly terminal?: string | undefined
  /** What `-o`, `output_dir` and `--force` say, so that a later command can plan it again. */
  readonly location: Omit<NewJob['output'], 'cwd'>
  /** Whether prompts are kept (`history`). */
  readonly keepsWords: boolean
}

/**
 * Puts a job on record. A failing disk does not prevent the start, since the id is reported in any case.
 * @param known what is known of it already
 * @param warn takes the reason why it is not on record
 */
export async function recordJob(
  { context, gateway }: Call,
  { store, isSandbox, profile, terminal, location, keepsWords }: RecordPlan,
  {
    prompt,
    ...job
  }: { readonly prompt: string } & Pick<
    NewJob,
    'kind' | 'command' | 'model' | 'base_url' | 'request' | 'idempotency_key' | 'checks_schema'
  >,
  warn: (reason: string) => void,
  known?: Partial<JobProgress>,
): Promise<StoredJob | undefined> {
  try {
    const output = { ...location, cwd: context.cwd }
    const rest = { profile, key_digest: digestOfKey(gateway.key), is_sandbox: isSandbox, output }
    const facts = { ...job, ...rest, ...(terminal === undefined ? {} : { terminal }) }
    return await store.create(facts, keepsWords ? prompt : undefined, known)
  } catch (error) {
    warn(asModelgateError(error, gateway.trace !== undefined).message)
    return undefined
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

/**
 * Forgets a job that was certainly not started, after the request for it failed. If it may exist, the key is all that is
 * known of it, so the record is kept. Never throws.
 */
export async function forgetOrKeep(
  store: JobStore,
  stored: StoredJob | undefined,
  error: unknown,
): Promise<void> {
  if (stored === undefined) return
  if (!mayExist(error)) return store.forget([stored])
  const { code, message } = asModelgateError(error, false)
  await stored.update({ error: { code, message } }).catch(() => {})
}

/** Reports the look-ups of a job as events: those that failed, and how it stands. */
export function reportLookUps({ context, listener }: Call, id: string, startedAt: number | undefined) {
  const sinceStartS = startedAt === undefined ? 0 : Math.max(0, context.clock.now() / 1000 - startedAt)
  return {
    /** @param remaining_s seconds that are left, if that is known */
    progress(
      {
        state,
        status,
        progress,
      }: Pick<Extract<OutputEvent, { type: 'job-progress' }>, 'state' | 'status' | 'progress'>,
      elapsedMs: number,
      remaining_s: number | null,
    ): void {
      const elapsed_s = Math.round((sinceStartS + elapsedMs / 1000) * 10) / 10
      listener.event({ type: 'job-progress', id, state, status, progress, elapsed_s, remaining_s })
    },
    onFailedLookUp({ attempt, waitS, httpStatus, reason }: FailedLookUp): void {
      listener.event({ type: 'poll-fail', id, attempt, wait_s: waitS, http_status: httpStatus, reason })
    },
  }
}

/**
 * A job that is not on record, by its id: a name with slashes is an operation's.
 * @param kinds those that it may be of
 * @throws UsageError for an invalid path, and for an image, which only this machine knows
 */
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

/** A job on record. @throws UsageError if its id is unknown, it is of another kind, or on another gateway */
export function namedJob<Kind extends RecordKind>(
  stored: StoredJob,
  kinds: readonly Kind[],
  { isSandbox, baseUrl, betaUrl }: JobGateway,
): NamedJob<Kind> {
  const { id, kind: known, idempotency_key, is_sandbox, base_url } = stored.record
  if (id === null) {
    throw new UsageError(
      `The id of the job is unknown, since the gateway's reply never arrived or could not be read. Its idempotency key is ${idempotency_key}.`,
      { code: 'unknown_id', hint: 'Ask the gateway whether it exists before you start it again.' },
    )
  }
  const kind = kinds.find((one) => one === known)
  if (kind === undefined) {
    throw new UsageError(`${id} is ${nouns[known]}.`, {
      code: 'unknown_id',
      hint:
        known === 'image' || known === 'response'
          ? `To take it: modelgate wait ${shellWord(id)}`
          : 'It cannot be cancelled: the gateway has no request for that.',
    })
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

const nouns = {
  video: 'a video',
  operation: 'the operation of a video',
  response: 'a background response',
  image: 'an image that has not been fetched',
} as const satisfies Record<RecordKind, string>

/** A job that the gateway told of less than so many seconds ago may be missing on another of its servers (fault C11). */
const newForS = 10

/** Whether the job was started, or seen running, a moment ago, as far as there is a record of it. */
export function isNew(stored: StoredJob | undefined, { clock }: { readonly clock: Clock }): boolean {
  if (stored === undefined) return false
  const { state, checked_at, created_at } = stored.record
  return !isFinal(state) && Math.abs(clock.now() / 1000 - (checked_at ?? created_at)) < newForS
}

/** A job whose outcome is still unknown after this many days is unlikely to be resolved. */
const unknownJobDays = 7

/**
 * Whether the record can be deleted without loss: there is no result to fetch, and none will follow. @param now Unix
 * seconds
 */
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

/**
 * Whether a job may exist after the request for it failed so: an error in place of a job is a rejection, whatever the
 * status. After an unexpected error the outcome is unknown.
 */
function mayExist(error: unknown): boolean {
  if (!(error instanceof ModelgateError)) return true
  if (error.exit === 'failed') return false
  return error.facts.billed === 'maybe' || error.facts.billed === 'yes'
}
