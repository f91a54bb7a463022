import { formatState } from '../events/video-state.ts'
import { ModelgateError, UsageError, asModelgateError } from '../errors.ts'
import type { VideoDocument } from '../events/video.ts'
import type { JobStore, StoredJob } from '../files/jobs/job-store.ts'
import type { GatewayRequest } from '../gateway/gateway.ts'
import type { JobReport } from '../gateway/videos/job-fields.ts'
import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { createOperation, remixVideo } from '../gateway/videos/start-job.ts'
import type { NamedJob } from './jobs.ts'
import type { Call, Outcome } from './operation.ts'
import { videoGatewayRequest, type VideoLocation, type VideoRequest } from './video-request.ts'
import { beginRun, changeOf, jobFailed, keepRecord, settleRun, warn, type VideoRun } from './video-run.ts'
import { waitAndSave, type WaitPlan } from './wait-for-video.ts'

export interface StartPlan extends WaitPlan {
  /** The jobs of this machine. */
  readonly store: JobStore
  readonly isSandbox: boolean
  /** What the names of `output` were planned from, so that a later command can plan them again. */
  readonly location: VideoLocation
  /** Whether the job is waited for and its videos are saved. */
  readonly waits: boolean
  /** The video that a remix starts from. */
  readonly source?: NamedJob | undefined
  /** Whether the source is looked up before it is paid for. */
  readonly checksSource: boolean
}

/** Starts a job: on record before it is sent, its id reported before anything is waited for. */
export async function startVideo(
  call: Call,
  request: VideoRequest,
  plan: StartPlan,
): Promise<Outcome<VideoDocument>> {
  const { gateway, listener } = call
  const { command, model } = request
  const run = beginRun(listener, { command, model, stored: undefined })
  return settleRun(call, run, async () => {
    const wire = videoGatewayRequest(gateway, request, plan.source)
    if (plan.source !== undefined && plan.checksSource) await checkSource(call, plan.source, plan)
    run.stored = await recordJob(call, run, request, plan, wire.idempotencyKey)
    const started = await send(call, run, request, plan, wire)
    const { id, kind } = started
    await keepRecord(run, { id, ...changeOf(started) })
    run.job = started
    listener.event({ type: 'job-create', id, kind })
    if (started.isCut) {
      warn(run, "The gateway's reply was cut short after the id of the job; the rest of it is missing.")
    }
    await listener.flush()
    if (plan.waits) return waitAndSave(call, run, plan, { id, kind }, started)
    return started.state === 'failed' ? jobFailed(started) : undefined
  })
}

/**
 * A remix is based on a completed video (specification, endpoint 3): one look before it is paid for.
 * @throws UsageError with the state that the source is in
 */
async function checkSource(
  { gateway }: Call,
  { id, kind }: NamedJob,
  { resume }: Pick<StartPlan, 'resume'>,
): Promise<void> {
  const found = await lookUpJob(gateway, { id, kind })
  const { state } = found
  if (state === 'completed') return
  throw new UsageError(`The video ${id} is ${formatState(found)}; only a completed video can be remixed.`, {
    code: 'source_not_completed',
    remoteId: id,
    hint:
      state === 'failed'
        ? 'Choose another one; --no-check sends it anyway.'
        : `Wait for it first: ${resume(id)} (--no-check sends it anyway.)`,
  })
}

/** A disk that fails is no reason not to start: the id is reported all the same. */
async function recordJob(
  { context, gateway }: Call,
  run: VideoRun,
  { kind, command, model, prompt, body }: VideoRequest,
  { store, isSandbox, location }: StartPlan,
  idempotencyKey: string,
): Promise<StoredJob | undefined> {
  try {
    return await store.create({
      kind,
      command,
      model,
      prompt,
      base_url: gateway.baseUrl.href,
      is_sandbox: isSandbox,
      request: body,
      idempotency_key: idempotencyKey,
      output: { ...location, cwd: context.cwd },
    })
  } catch (error) {
    const { message } = asModelgateError(error, gateway.trace !== undefined)
    warn(run, `The job is not on record on this machine: ${message} Keep its id.`)
    return undefined
  }
}

/** Sends the request; what comes of the reply is on disk before it is read. */
async function send(
  { gateway }: Call,
  { stored }: VideoRun,
  { kind }: VideoRequest,
  { store }: StartPlan,
  wire: GatewayRequest,
): Promise<JobReport> {
  // Where it cannot be opened the job is on record all the same, and its id will be reported.
  const log = await stored?.openReplyLog().catch(() => undefined)
  const create = kind === 'video' ? remixVideo : createOperation
  try {
    return await create(gateway, { ...wire, onReplyBytes: log?.add }).finally(() => log?.close())
  } catch (error) {
    // A job that was surely not started need not be remembered; of one that may exist, the key is all that is known.
    if (stored !== undefined && !mayExist(error)) await store.forget([stored])
    else {
      const { code, message } = asModelgateError(error, false)
      await stored?.update({ error: { code, message } }).catch(() => {})
    }
    throw error
  }
}

/** An error in place of a job is a refusal, under whatever status. After an unexpected error nobody knows. */
function mayExist(error: unknown): boolean {
  if (!(error instanceof ModelgateError)) return true
  if (error.exit === 'failed') return false
  return error.facts.billed === 'maybe' || error.facts.billed === 'yes'
}
