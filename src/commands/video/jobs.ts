import { stateFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { JobKind } from '../../events/video.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import { shellWord } from '../../files/shell-word.ts'
import { openJobStore, type JobStore, type StoredJob } from '../../files/jobs/job-store.ts'
import { operationPath } from '../../gateway/videos/read-job.ts'
import { jobInBeginning } from '../../gateway/videos/job-reply.ts'
import { createGate, type Gate } from '../../output/gate.ts'
import type { VideoOptions } from './video-options.ts'

/** A job as a command means it: what it is called on the gateway, and what this machine has on record. */
export interface NamedJob {
  readonly id: string
  readonly kind: JobKind
  readonly stored: StoredJob | undefined
}

/** The jobs of this machine. @param gate what is put on record goes through it */
export function openJobs(context: Context, gate: Gate = createGate(context)): JobStore {
  return openJobStore(stateFolder(context), context.clock, {
    clean: gate.document,
    readReply: jobInBeginning,
  })
}

/**
 * The job that is meant by an id, the beginning of one, or `--last`. One that is not on record is taken as it is:
 * a name with slashes is an operation's.
 * @param gate as of `openJobs`
 * @throws UsageError without a job, for an ambiguous beginning, a name that is no path, and a job of another gateway
 */
export async function findJob(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  text: string | undefined,
  gate?: Gate,
): Promise<NamedJob> {
  if (options.last && text !== undefined) throw new UsageError('Give either an id or --last, not both.')
  const store = openJobs(context, gate)
  if (options.last) return stored(options, settings, await newest(store))
  if (text === undefined || text.trim() === '') throw missingId()
  const found = await store.find(text)
  if (found !== undefined) return stored(options, settings, found)
  // What relays call videos may be base64, slashes and all (quirk 21).
  if (!text.includes('/') || /^(video|task)_/.test(text))
    return { id: text, kind: 'video', stored: undefined }
  // A remix goes by the last part alone: the name is checked whole here.
  operationPath(text)
  return { id: text, kind: 'operation', stored: undefined }
}

async function newest(store: JobStore): Promise<StoredJob> {
  const last = await store.last()
  if (last !== undefined) return last
  throw new UsageError('This machine has no job on record.', {
    code: 'no_job',
    hint: 'Name the job by its id.',
  })
}

function stored(options: VideoOptions, settings: Settings, job: StoredJob): NamedJob {
  const { id, kind, idempotency_key, is_sandbox, base_url } = job.record
  if (id === null) {
    throw new UsageError(
      `The id of the job is unknown, since the gateway's reply never came or could not be read. Its idempotency key is ${idempotency_key}.`,
      { code: 'id_unknown', hint: 'Ask the gateway whether it exists before you start it again.' },
    )
  }
  if (options.sandbox && !is_sandbox) {
    throw new UsageError(`The job ${id} was started on a gateway: leave out --sandbox.`, {
      code: 'other_gateway',
    })
  }
  const base = settings.baseUrl.value
  if (!is_sandbox && new URL(base_url).origin !== base?.origin) {
    const contrast = base === undefined ? 'and no gateway is configured' : `not on ${base.origin}`
    throw new UsageError(`The job ${id} was started on ${base_url}, ${contrast}.`, {
      code: 'other_gateway',
      hint: `Add --base-url ${shellWord(base_url)}, or the --profile of that gateway.`,
    })
  }
  return { id, kind, stored: job }
}

function missingId(): UsageError {
  return new UsageError('No job was named.', {
    code: 'id_missing',
    hint: 'Give the id of a video or the name of an operation, or --last for the job started last.',
  })
}

/** The options of a command about a job: the record knows whether it is the sandbox's. */
export function optionsFor(options: VideoOptions, { stored }: NamedJob): VideoOptions {
  return stored?.record.is_sandbox ? { ...options, sandbox: true } : options
}

/** What a command that goes on with the job has to repeat to find the same gateway. */
export function resumeFlags({ sandbox, profile, baseUrl }: VideoOptions): string[] {
  return [
    ...(sandbox ? ['--sandbox'] : []),
    ...(profile === undefined ? [] : ['--profile', profile]),
    ...(baseUrl === undefined || sandbox ? [] : ['--base-url', baseUrl]),
  ]
}

/** A plan in which the id that a gateway gave goes through the gate before it is a part of a path. */
export function withCleanIds(plan: OutputPlan, gate: Gate): OutputPlan {
  return {
    ...plan,
    pathFor: ({ id, ...video }) => plan.pathFor({ ...video, id: id === undefined ? id : gate.text(id) }),
  }
}
