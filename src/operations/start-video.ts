import { leadTo } from '../files/next-command.ts'
import { formatState } from '../events/format-job.ts'
import { UsageError } from '../errors.ts'
import type { VideoDocument } from '../events/video.ts'
import { videoOperationEndpoint, videoRemixEndpoint } from '../contract/videos.ts'
import { rootOf } from '../gateway/url.ts'
import type { GatewayRequest } from '../gateway/gateway.ts'
import type { JobReport } from '../gateway/videos/job-fields.ts'
import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { createOperation, remixVideo } from '../gateway/videos/start-job.ts'
import { forgetOrKeep, recordJob, type NamedJob, type RecordPlan } from './jobs.ts'
import type { Call, Outcome } from './operation.ts'
import { videoGatewayRequest, type VideoRequest } from './video-request.ts'
import { beginRun, changeOf, jobFailed, keepJob, settleRun, warn, type VideoRun } from './video-run.ts'
import { waitAndSave, type WaitPlan } from './wait-for-video.ts'

export interface StartPlan extends WaitPlan, RecordPlan {
  /** Called with the id of a job once that is on record. */
  onRecorded(id: string): Promise<void>
  /** Whether the job is waited for and its videos are saved. */
  readonly waits: boolean
  /** The video that a remix starts from. */
  readonly source?: NamedJob | undefined
  /** Whether the source is looked up before it is paid for. */
  readonly checksSource: boolean
}

/** Starts a job. It is recorded before the request is sent, and its id is reported before waiting. */
export async function startVideo(
  call: Call,
  request: VideoRequest,
  plan: StartPlan,
): Promise<Outcome<VideoDocument>> {
  const { gateway, listener } = call
  const { command, model } = request
  const run = beginRun(listener, { command, model, stored: undefined })
  return settleRun(call, run, async () => {
    for (const message of request.warnings) warn(run, message)
    const wire = videoGatewayRequest(gateway, request, plan.source)
    if (plan.source !== undefined && plan.checksSource) await checkSource(call, plan.source, plan)
    const { path } = request.kind === 'video' ? videoRemixEndpoint : videoOperationEndpoint
    const facts = {
      kind: request.kind,
      command,
      model,
      prompt: request.prompt,
      base_url: rootOf(gateway, path).href,
      request: request.body,
      idempotency_key: wire.idempotencyKey,
    }
    run.stored = await recordJob(call, plan, facts, (reason) =>
      warn(run, `The job is not on record on this machine: ${reason} Keep its id.`),
    )
    const started = await send(call, run, request, plan, wire)
    const { id, kind } = started
    await keepJob(run, { id, ...changeOf(started) })
    run.job = started
    if (run.stored?.record.id === id) await plan.onRecorded(id)
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
 * A remix needs a completed video (specification, endpoint 3): look it up before paying.
 * @throws UsageError with the state of the source
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
    code: 'not_ready',
    remoteId: id,
    ...(state === 'failed'
      ? { hint: 'Choose another one; --no-check sends it anyway.' }
      : leadTo('Wait for it first: ', resume(id), ' (--no-check sends it anyway.)')),
  })
}

/** Sends the request and writes the reply to disk before parsing it. */
async function send(
  { gateway }: Call,
  { stored }: VideoRun,
  { kind }: VideoRequest,
  { store }: StartPlan,
  wire: GatewayRequest,
): Promise<JobReport> {
  // If it cannot be opened, the job is still recorded and its id will be reported.
  const log = await stored?.openReplyLog().catch(() => undefined)
  const create = kind === 'video' ? remixVideo : createOperation
  try {
    return await create(gateway, { ...wire, onReplyBytes: log?.add }).finally(() => log?.close())
  } catch (error) {
    await forgetOrKeep(store, stored, error)
    throw error
  }
}
