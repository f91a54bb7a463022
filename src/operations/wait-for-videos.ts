import { leadTo, type NextCommand } from '../files/next-command.ts'
import { lastSegment, videoStateOf } from '../contract/video-state.ts'
import { ModelgateError, type Billed } from '../errors.ts'
import { outputVersion } from '../events/version.ts'
import type { OutputEvent } from '../events/documents.ts'
import type { AwaitedVideo, SavedVideo, VideoDocument, VideosDocument } from '../events/video.ts'
import type { NamedJob } from './jobs.ts'
import type { Call, Listener, Outcome } from './operation.ts'
import { reportSavedVideos } from './save-videos.ts'
import { waitForVideo, type WaitPlan } from './wait-for-video.ts'

/** One of several jobs that are waited for. */
export interface AwaitedJob {
  readonly named: NamedJob
  readonly plan: WaitPlan
  /** Its videos if earlier commands have saved all of them: then its gateway is not asked. */
  readonly saved: readonly SavedVideo[] | undefined
}

/** How many jobs save their videos at the same time. */
const savingAtOnce = 4

/**
 * Waits for several jobs at once and saves the videos of each as it completes. What becomes of one does not touch the
 * others.
 * @param callOf what a job that was not saved earlier needs, its gateway among it
 * @param resume the command that waits for jobs, by their ids
 */
export async function waitForVideos<Job extends AwaitedJob>(
  { listener, signal }: { readonly listener: Listener; readonly signal: AbortSignal },
  jobs: readonly Job[],
  callOf: (job: Job) => Call,
  resume: (...ids: readonly string[]) => NextCommand,
): Promise<Outcome<VideosDocument>> {
  const warnings: string[] = []
  listener.event({ type: 'start', version: outputVersion, command: 'wait', model: null })
  const takeTurn = createTurns(savingAtOnce)
  const waitFor = async (job: Job): Promise<AwaitedOutcome> => {
    const { named, plan, saved } = job
    const event = (one: OutputEvent) => {
      if (one.type === 'start') return
      if (one.type !== 'warning-add') return listener.event(one)
      const message = `${lastSegment(named.id)}: ${one.message}`
      warnings.push(message)
      listener.event({ ...one, message })
    }
    const own = { ...listener, event }
    const outcome =
      saved === undefined
        ? await waitForVideo({ ...callOf(job), listener: own }, 'wait', named, {
            ...plan,
            takeTurn,
          })
        : reportSavedVideos(own, 'wait', named, saved, plan)
    const error = outcome.kind === 'failed' ? outcome.error : outcome.failure
    if (error !== undefined && !signal.aborted && error.exit !== 'running') {
      listener.event({ type: 'job-fail', id: named.id, code: error.code, message: error.message })
    }
    return { job, document: outcome.document, error }
  }
  const outcomes = await Promise.all(jobs.map(waitFor))
  const document = {
    version: outputVersion,
    command: 'wait',
    videos: outcomes.map(awaitedVideo),
    warnings,
  } as const
  if (!signal.aborted) return { kind: 'ended', document, failure: failureOf(outcomes, resume) }
  const reason = signal.reason as ModelgateError
  const open = outcomes.filter(({ error }) => error !== undefined).map(({ job }) => job.named.id)
  const next = leadTo('To continue waiting: ', resume(...open))
  return { kind: 'failed', document, error: reason.amend({ phase: 'wait', billed: 'yes', ...next }) }
}

interface AwaitedOutcome {
  readonly job: AwaitedJob
  readonly document: VideoDocument | undefined
  readonly error: ModelgateError | undefined
}

/** Lets so many do their work at the same time; the others wait for their turn. */
function createTurns(most: number) {
  const waiting: (() => void)[] = []
  let busy = 0
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (busy === most) await new Promise<void>((resolve) => waiting.push(resolve))
    else busy++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) busy--
      else next()
    }
  }
}

function awaitedVideo({ job: { named }, document, error }: AwaitedOutcome): AwaitedVideo {
  const record = named.stored?.record
  const {
    version: _,
    cost: ___,
    command: __,
    ...known
  } = document ?? {
    version: outputVersion,
    command: 'wait',
    model: record?.model ?? null,
    id: named.id,
    kind: named.kind,
    state: videoStateOf(record?.state ?? '') ?? 'unknown',
    status: record?.status ?? null,
    progress: record?.progress ?? null,
    seconds: null,
    size: null,
    remixed_from_video_id: null,
    created_at: record?.created_at ?? null,
    completed_at: record?.completed_at ?? null,
    expires_at: record?.expires_at ?? null,
    video: null,
    operation: null,
    files: [],
    failures: [],
    mismatches: [],
    request_id: null,
    warnings: [],
  }
  return {
    ...known,
    error: error === undefined ? null : { code: error.code, message: error.message },
  }
}

/** 11 if any job is still running, else the exit code that all have in common, else 12. */
function failureOf(
  outcomes: readonly AwaitedOutcome[],
  resume: (...ids: readonly string[]) => NextCommand,
): ModelgateError | undefined {
  const failed = outcomes.filter(({ error }) => error !== undefined && error.exit !== 'running')
  const running = outcomes.filter(({ error }) => error?.exit === 'running')
  const first = failed[0]?.error
  const of = `of ${outcomes.length} jobs`
  const facts = { phase: 'wait', billed: billedOf(outcomes) } as const
  if (running.length > 0) {
    const also = failed.length === 0 ? '' : `, and ${failed.length} failed`
    const message = `${running.length} ${of} ${running.length === 1 ? 'is' : 'are'} still running${also}.`
    const next = leadTo('To continue waiting: ', resume(...running.map(({ job }) => job.named.id)))
    return new ModelgateError('running', 'still_running', message, { ...facts, ...next })
  }
  if (first === undefined) return undefined
  const isOneReason =
    failed.length === outcomes.length && failed.every(({ error }) => error!.exit === first.exit)
  return new ModelgateError(
    isOneReason ? first.exit : 'partial',
    'some_failed',
    `${failed.length} ${of} failed.`,
    facts,
  )
}

/** The most that any of them may have cost. */
function billedOf(outcomes: readonly AwaitedOutcome[]): Billed {
  const all = new Set(outcomes.map(({ error }) => error?.facts.billed))
  return all.has('yes') ? 'yes' : all.has('maybe') ? 'maybe' : 'no'
}
