import type { VideoDocument } from '../../events/video.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { AlreadyReported, asModelgateError, type ModelgateError } from '../../errors.ts'
import type { StoredJob } from '../../files/jobs/job-store.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { JobReport } from '../../gateway/videos/job-fields.ts'
import { createOutput } from '../../output/create-output.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { resumeFlags } from './jobs.ts'
import type { VideoOptions } from './video-options.ts'
import { createVideoReport, type VideoReport } from './video-report.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import type { Job } from '../../gateway/videos/look-up-job.ts'

/** What the steps of a command about one job share. */
export interface JobSession {
  readonly context: Context
  readonly options: VideoOptions
  readonly settings: Settings
  readonly gateway: Gateway
  readonly report: VideoReport
}

/** The renderer of a command about a job. */
export function openJobOutput(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  { result, gate }: { readonly result: 'files' | 'job' | 'job-id'; readonly gate: Gate },
): Output {
  return createOutput(context, {
    mode: options.json ? 'json' : options.jsonl ? 'jsonl' : options.raw ? 'raw' : undefined,
    result,
    resumeFlags: resumeFlags(options),
    quiet: settings.quiet.value,
    usage: false,
    gate,
  })
}

interface JobFacts {
  readonly command: VideoDocument['command']
  readonly model: string
  readonly options: VideoOptions
  /** Whether a request that costs money has gone out; only a command that starts a job sends one. */
  readonly hasSent?: () => boolean
}

/** Does the work of a command, and ends its output with what came of it. */
export async function reportJob(
  output: Output,
  { command, model, options, hasSent = () => false }: JobFacts,
  work: (report: VideoReport) => Promise<ModelgateError | undefined>,
): Promise<void> {
  const report = createVideoReport(output, command, model)
  const tellRaw = () => {
    const raw = options.raw ? report.raw() : undefined
    if (raw !== undefined) output.raw(raw)
  }
  try {
    report.start()
    const failure = await work(report)
    tellRaw()
    if (failure === undefined) return await output.end(report.document()!)
    // The document on standard output tells of every video; words do that on standard error.
    if (options.json || options.jsonl) await output.end(report.document()!)
    else await output.error(failure, report.document())
    throw new AlreadyReported(failure)
  } catch (error) {
    if (error instanceof AlreadyReported) throw error
    const known = asModelgateError(error, options.debug === true)
    const billed = hasSent() ? (report.document() === undefined ? 'maybe' : 'yes') : 'no'
    const told = known.exit === 'io' || known.exit === 'bug' ? known.supplying({ billed }) : known
    tellRaw()
    await output.error(told, report.document())
    throw new AlreadyReported(told)
  }
}

/** Puts what has been learned on record. A disk that fails must not fail the job: it is told once. */
export async function keepRecord(
  stored: StoredJob | undefined,
  change: Parameters<StoredJob['update']>[0],
  { warn }: Pick<VideoReport, 'warn'>,
): Promise<void> {
  await stored?.update(change).catch((error: unknown) => {
    warn(
      `The job's record cannot be kept up to date: ${error instanceof Error ? error.message : String(error)}`,
    )
  })
}

/** What a report adds to a record. */
export function changeOf(report: JobReport): Parameters<StoredJob['update']>[0] {
  const { state, status, progress, expiresAt, failure, requestId } = report
  return {
    state,
    status,
    progress,
    expires_at: expiresAt,
    request_id: requestId,
    error: failure === undefined ? null : { code: failure.code ?? 'failed', message: failure.message },
  }
}

/** A job that is waited for, and where its videos go. */
export interface JobWait {
  readonly job: Job
  readonly stored: StoredJob | undefined
  readonly plan: OutputPlan
  readonly force: boolean
  /** What is known already, so that it is not asked for at once. */
  readonly first?: JobReport | undefined
  /** When the wait ends (`--timeout`), in milliseconds of the monotonic clock. */
  readonly deadlineMs: number | undefined
}
