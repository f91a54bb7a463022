import { leadTo } from '../files/next-command.ts'
import { formatState } from '../events/format-job.ts'
import { UsageError, asModelgateError } from '../errors.ts'
import type { VideoDocument } from '../events/video.ts'
import { digestOfKey } from '../files/jobs/job-record.ts'
import type { JobStore, StoredJob } from '../files/jobs/job-store.ts'
import { videoOperationEndpoint, videoRemixEndpoint } from '../contract/videos.ts'
import { rootOf } from '../gateway/url.ts'
import type { GatewayRequest } from '../gateway/gateway.ts'
import type { JobReport } from '../gateway/videos/job-fields.ts'
import { lookUpJob } from '../gateway/videos/look-up-job.ts'
import { createOperation, remixVideo } from '../gateway/videos/start-job.ts'
import { mayExist, type NamedJob } from './jobs.ts'
import type { Call, Outcome } from './operation.ts'
import { videoGatewayRequest, type VideoLocation, type VideoRequest } from './video-request.ts'
import { beginRun, changeOf, jobFailed, keepRecord, settleRun, warn, type VideoRun } from './video-run.ts'
import { waitAndSave, type WaitPlan } from './wait-for-video.ts'

export interface StartPlan extends WaitPlan {
  /** The jobs recorded on this machine. */
  readonly store: JobStore
  readonly isSandbox: boolean
  /** The profile that the settings are from. */
  readonly profile: string
  /** The parameters that `output` was planned with, so that a later command can plan it again. */
  readonly location: VideoLocation
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
    run.stored = await recordJob(call, run, request, plan, wire.idempotencyKey)
    const started = await send(call, run, request, plan, wire)
    const { id, kind } = started
    await keepRecord(run, { id, ...changeOf(started) })
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
    code: 'source_not_completed',
    remoteId: id,
    ...(state === 'failed'
      ? { hint: 'Choose another one; --no-check sends it anyway.' }
      : leadTo('Wait for it first: ', resume(id), ' (--no-check sends it anyway.)')),
  })
}

/** A failing disk does not prevent the start: the id is reported in any case. */
async function recordJob(
  { context, gateway }: Call,
  run: VideoRun,
  { kind, command, model, prompt, body }: VideoRequest,
  { store, isSandbox, profile, location }: StartPlan,
  idempotencyKey: string,
): Promise<StoredJob | undefined> {
  try {
    return await store.create({
      kind,
      command,
      model,
      prompt,
      base_url: rootOf(gateway, kind === 'video' ? videoRemixEndpoint.path : videoOperationEndpoint.path)
        .href,
      profile,
      key_digest: digestOfKey(gateway.key),
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
    // Deletes the record of a job that was certainly not started. If it may exist, the key is all that is known, so
    // keep the record.
    if (stored !== undefined && !mayExist(error)) await store.forget([stored])
    else {
      const { code, message } = asModelgateError(error, false)
      await stored?.update({ error: { code, message } }).catch(() => {})
    }
    throw error
  }
}
