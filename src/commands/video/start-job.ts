import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { stateText } from '../../contract/video-state.ts'
import { lastSegment } from '../../contract/last-segment.ts'
import { ModelgateError, UsageError, asModelgateError } from '../../errors.ts'
import type { StoredJob } from '../../files/jobs/job-store.ts'
import type { Gateway, GatewayRequest } from '../../gateway/gateway.ts'
import { mintIdempotencyKey } from '../../gateway/url.ts'
import {
  createOperation,
  operationRequest,
  remixRequest,
  remixVideo,
  type JobOrder,
} from '../../gateway/videos/start-job.ts'
import { lookUpJob } from '../../gateway/videos/look-up-job.ts'
import { resumeCommand } from '../../output/resume-command.ts'
import { isDryRun, printRequest } from '../shared/dry-run.ts'
import { openGateway, withBilling } from '../shared/open-gateway.ts'
import type { Gate } from '../../output/gate.ts'
import type { Output } from '../../output/output.ts'
import { failed, followJob } from './follow-job.ts'
import { isWaitedFor, type VideoOptions } from './video-options.ts'
import { findJob, openJobs, resumeFlags, withCleanIds, type NamedJob } from './jobs.ts'
import { changeOf, keepRecord, openJobOutput, reportJob, type JobSession } from './job-session.ts'
import type { VideoRequest } from './video-request.ts'

/**
 * Starts a job: on record before it is sent, its id told before anything is waited for.
 * @param source the video to remix, as it was named; undefined with `--last`, and for a job that needs none
 */
export async function startJob(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  request: VideoRequest,
  source?: string,
): Promise<void> {
  let output: Output | undefined
  const remixed = request.kind === 'video' ? await findJob(context, options, settings, source) : undefined
  if (remixed !== undefined) requireSamePlace(options, remixed)
  const { gateway, gate, hasSent, close } = await openGateway(context, options, settings, false, () => output)
  try {
    const order = { body: request.body, idempotencyKey: mintIdempotencyKey(context.clock) }
    const wire = requestFor(gateway, request, order, remixed)
    if (isDryRun(options))
      return await printRequest(context, options, { gateway, gate }, wire, { body: request.body })
    const deadlineMs = deadlineOf(context, settings)
    const waits = isWaitedFor(context, options)
    output = openJobOutput(context, options, settings, {
      result: waits ? 'files' : 'job-id',
      gate,
    })
    const { command, model } = request
    await reportJob(output, { command, model, options, hasSent }, async (report) => {
      const session: JobSession = { context, options, settings, gateway, report }
      if (remixed !== undefined && options.check !== false) await checkSource(session, remixed)
      const stored = await putOnRecord(session, request, order, gate)
      // Where it cannot be opened the job is on record all the same, and its id will be told.
      const log = await stored?.openReplyLog().catch(() => undefined)
      const started = await send(gateway, request, { ...wire, onReplyBytes: log?.add })
        .finally(() => log?.close())
        .catch(async (error: unknown) => {
          await forgetUnsent(session, stored, error)
          throw error
        })
      await keepRecord(stored, { id: started.id, ...changeOf(started) }, report)
      report.take(started)
      const { id, kind } = started
      report.output.event({ type: 'job-create', id, kind })
      await report.output.flush()
      if (!waits) return started.state === 'failed' ? failed(started) : undefined
      const { place } = request
      const plan = withCleanIds(request.plan, gate)
      const pursuit = { job: { id, kind }, stored, plan, force: place.force, first: started, deadlineMs }
      return followJob({ ...session, gateway: withoutTotal(gateway) }, pursuit)
    })
  } catch (error) {
    throw withBilling(error, hasSent(), options.debug === true)
  } finally {
    await close()
  }
}

/** A remix costs money where it is made: nothing but the call itself says that this is the sandbox. */
function requireSamePlace({ sandbox }: VideoOptions, { id, stored }: NamedJob): void {
  if (!stored?.record.is_sandbox || sandbox) return
  throw new UsageError(`The video ${id} is in the sandbox: add --sandbox.`, { code: 'other_gateway' })
}

/** `--timeout` is for the whole command; what it means for a wait is not what it means for a request. */
export function withoutTotal(gateway: Gateway): Gateway {
  return { ...gateway, limits: { ...gateway.limits, total: undefined } }
}

/** When the wait ends, on the monotonic clock; undefined when it does not. */
export function deadlineOf({ clock }: Context, { timeout }: Settings): number | undefined {
  return timeout.value === undefined ? undefined : clock.monotonic() + timeout.value * 1000
}

function requestFor(
  gateway: Gateway,
  { model }: VideoRequest,
  order: JobOrder,
  remixed: NamedJob | undefined,
): GatewayRequest {
  return remixed === undefined
    ? operationRequest(gateway, model, order)
    : remixRequest(gateway, remixed.kind === 'video' ? remixed.id : lastSegment(remixed.id), order)
}

const send = (gateway: Gateway, { kind }: VideoRequest, wire: GatewayRequest) =>
  kind === 'video' ? remixVideo(gateway, wire) : createOperation(gateway, wire)

/**
 * A remix is based on a completed video (specification, endpoint 3): one look before it is paid for.
 * @throws UsageError with the state that the source is in
 */
async function checkSource({ context, options, gateway }: JobSession, { id, kind }: NamedJob): Promise<void> {
  const found = await lookUpJob(gateway, { id, kind })
  const { state } = found
  if (state === 'completed') return
  const resume = resumeCommand(context, id, resumeFlags(options))
  throw new UsageError(`The video ${id} is ${stateText(found)}; only a completed video can be remixed.`, {
    code: 'source_not_completed',
    remoteId: id,
    hint:
      state === 'failed'
        ? 'Choose another one; --no-check sends it anyway.'
        : `Wait for it first: ${resume} (--no-check sends it anyway.)`,
  })
}

/** A disk that fails is no reason not to start: the id is told on standard error all the same. */
async function putOnRecord(
  { context, options, gateway, report }: JobSession,
  { kind, command, model, prompt, body, place }: VideoRequest,
  { idempotencyKey }: JobOrder,
  gate: Gate,
): Promise<StoredJob | undefined> {
  try {
    return await openJobs(context, gate).create({
      kind,
      command,
      model,
      prompt,
      base_url: gateway.baseUrl.href,
      is_sandbox: options.sandbox === true,
      request: body,
      idempotency_key: idempotencyKey,
      output: {
        output: place.output ?? null,
        folder: place.folder ?? null,
        force: place.force,
        cwd: context.cwd,
      },
    })
  } catch (error) {
    const { message } = asModelgateError(error, options.debug === true)
    report.warn(`The job is not on record on this machine: ${message} Keep its id.`)
    return undefined
  }
}

/** A job that was surely not started need not be remembered; of one that may exist, the key is all that is known. */
async function forgetUnsent(
  { context }: JobSession,
  stored: StoredJob | undefined,
  error: unknown,
): Promise<void> {
  if (stored === undefined) return
  const { code, message } = asModelgateError(error, false)
  if (mayExist(error)) await stored.update({ error: { code, message } }).catch(() => {})
  else await openJobs(context).forget([stored])
}

/** An error in place of a job is a refusal, under whatever status. Of what no one foresaw nobody can tell. */
function mayExist(error: unknown): boolean {
  if (!(error instanceof ModelgateError)) return true
  if (error.exit === 'failed') return false
  return error.facts.billed === 'maybe' || error.facts.billed === 'yes'
}
