import { leadTo } from '../files/next-command.ts'
import { responseStateOf } from '../contract/response-object.ts'
import { Interrupted, type ModelgateError } from '../errors.ts'
import type { TextDocument } from '../events/text.ts'
import type { JobProgress } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import {
  createBackground,
  hasEnded,
  type ResponseReport,
  responseStream,
} from '../gateway/responses/background.ts'
import { followResponse, type StreamPlace } from '../gateway/responses/follow-response.ts'
import type { WaitOptions } from '../gateway/videos/wait-for-job.ts'
import { numberOf, objectOf, stringOf } from '../json.ts'
import {
  beginAnswer,
  textGatewayRequest,
  type TextPlan,
  type TextRequest,
  type TextRun,
} from './generate-text.ts'
import { forgetOrKeep, isNew, keepRecord, recordJob, reportLookUps, type RecordPlan } from './jobs.ts'
import { promptOf, type Call, type Outcome } from './operation.ts'

export interface BackgroundPlan extends TextPlan, RecordPlan {
  /** Called when a response on record has its id, before that is reported. */
  onRecorded(id: string): Promise<void>
  /** The first interval between two look-ups, in seconds; by default the usual one. */
  readonly pollIntervalS: number | undefined
  /** When the command ends, on the monotonic clock, in milliseconds; undefined when it does not. */
  readonly deadlineMs: number | undefined
}

/** A background response that an operation is about, with its record on this machine. */
export interface FollowedResponse {
  readonly place: StreamPlace
  stored: StoredJob | undefined
}

/**
 * Starts a response in the background: on record before it is sent, its id reported before anything else of it. Streamed,
 * the answer is emitted as it arrives; else only if it is complete already.
 */
export async function startBackground(
  call: Call,
  request: TextRequest,
  plan: BackgroundPlan,
): Promise<Outcome<TextDocument>> {
  const { gateway } = call
  const run = beginAnswer(call, request, plan)
  const followed: FollowedResponse = { place: { id: undefined, after: -1 }, stored: undefined }
  const work = async () => {
    run.begin()
    const wire = textGatewayRequest(gateway, request)
    const { command, model, body, answerSchema } = request
    const facts = {
      kind: 'response',
      command,
      model: model ?? '',
      prompt: promptOf(body) ?? '',
      base_url: gateway.baseUrl.href,
      request: body,
      idempotency_key: wire.idempotencyKey!,
      checks_schema: answerSchema !== undefined,
    } as const
    followed.stored = await recordJob(call, plan, facts, (reason) =>
      run.warn(`The response is not on record on this machine: ${reason} Keep its id.`),
    )
    // If it cannot be opened, the response is still recorded and its id will be reported.
    const log = await followed.stored?.openReplyLog().catch(() => undefined)
    const sent = { ...wire, onReplyBytes: log?.add }
    const created = async (id: string) => {
      await keepState(run, followed, { id })
      log?.close()
      if (followed.stored?.record.id === id) await plan.onRecorded(id)
      call.listener.event({ type: 'job-create', id, kind: 'response' })
    }
    try {
      if (request.streamed) await follow(call, run, followed, { request: sent, isRest: false, created }, plan)
      else await take(call, run, followed, await createBackground(gateway, sent), created)
    } catch (error) {
      if (followed.place.id === undefined) await forgetOrKeep(plan.store, followed.stored, error)
      throw error
    } finally {
      log?.close()
    }
    if (hasText(run)) await run.finish()
  }
  return run.settle(work, (error) => withResume(followed, plan, error, call.hasSent()))
}

/** The reply to a request that was not streamed: usually that the response is queued. */
async function take(
  { listener }: Call,
  run: TextRun,
  followed: FollowedResponse,
  report: ResponseReport,
  created: (id: string) => Promise<void>,
): Promise<void> {
  const { id, requestId, value, text, isCut } = report
  followed.place.id = id
  run.receiver.replied?.(requestId)
  await created(id)
  await keepState(run, followed, changeOf(report))
  if (isCut) run.warn("The gateway's reply was cut short after the id of the response.")
  listener.raw?.(text)
  run.decoder.message(value)
  await run.receiver.flush()
  const verdict = hasEnded(report) && !isCut ? run.decoder.verdict(false) : undefined
  if (verdict !== undefined) throw verdict
}

interface Following {
  /** The request that creates the response; left out, that for its stream. */
  readonly request?: Parameters<typeof followResponse>[1]
  readonly isRest: boolean
  created?(id: string): Promise<void>
}

/** Streams a response from its place until it ends. */
export async function follow(
  call: Call,
  run: TextRun,
  followed: FollowedResponse,
  { request, isRest, created = async () => {} }: Following,
  plan: Pick<BackgroundPlan, 'pollIntervalS' | 'deadlineMs'>,
): Promise<void> {
  const { gateway } = call
  const { place } = followed
  const first = request ?? responseStream(gateway, place.id!, place.after)
  const receiver = {
    ...run.receiver,
    onId: created,
    onReport: (report: ResponseReport) => void keepState(run, followed, changeOf(report)),
  }
  await followResponse(gateway, first, place, run.decoder, receiver, {
    ...waitOptions(call, run, followed, plan),
    isRest,
  }).finally(() => keepState(run, followed, streamedChange(run)))
}

/** How look-ups are made and reported. */
export function waitOptions(
  call: Call,
  run: TextRun,
  followed: FollowedResponse,
  { pollIntervalS, deadlineMs }: Pick<BackgroundPlan, 'pollIntervalS' | 'deadlineMs'>,
): WaitOptions<ResponseReport> {
  const { stored, place } = followed
  let reports: ReturnType<typeof reportLookUps> | undefined
  // The id of a response that is being started is not known yet.
  const report = () => (reports ??= reportLookUps(call, place.id!, stored?.record.created_at))
  return {
    firstWaitS: pollIntervalS,
    deadlineMs,
    isNew: isNew(stored, call.context),
    isUnverified: stored === undefined,
    isOwn: call.hasSent(),
    onReport(found, { elapsedMs }) {
      report().progress(found, elapsedMs, null)
      run.saw(found.state)
      void keepState(run, followed, changeOf(found))
    },
    onFailedLookUp: (failed) => report().onFailedLookUp(failed),
  }
}

/** Whether the answer has ended, so that there is something to check. */
function hasText({ decoder }: TextRun): boolean {
  const { state } = decoder.result()
  return state !== 'queued' && state !== 'in_progress'
}

/**
 * The error for a response that goes on at the gateway, with the command that waits for it, from where its text has come
 * to.
 */
export function withResume(
  { place }: FollowedResponse,
  { resume }: Pick<BackgroundPlan, 'resume'>,
  error: ModelgateError,
  isOwn: boolean,
): ModelgateError {
  const { id, after } = place
  if (id === undefined || resume === undefined) return error
  const goesOn = error instanceof Interrupted || ['running', 'later', 'notSent'].includes(error.exit)
  if (!goesOn) return error.amend({ remoteId: id, ...error.facts })
  const command = resume(id, after < 0 ? undefined : after)
  const next = leadTo('The response continues at the gateway; to wait for it: ', command)
  const phase = error instanceof Interrupted ? 'wait' : undefined
  // What runs has not been paid for yet, and who only looks pays nothing.
  const billed = error.exit === 'running' ? 'maybe' : isOwn ? 'yes' : 'no'
  const known = error.amend({ remoteId: id, billed, ...next, phase })
  // The response was accepted: this must not look like a call that is safe to repeat.
  return error.exit === 'notSent' ? known.amend({ exit: 'later' }) : known
}

/** Updates the record of the response, as `keepRecord` does. */
export async function keepState(
  run: TextRun,
  { stored }: FollowedResponse,
  change: Partial<JobProgress>,
): Promise<void> {
  await keepRecord(stored, change, run.warn)
}

/** The fields of a report that are recorded. */
export function changeOf({ state, status, requestId, value }: ResponseReport): Partial<JobProgress> {
  const completedAt = numberOf(value['completed_at'])
  const times = completedAt === null ? {} : { completed_at: Math.floor(completedAt) }
  return { state, status, request_id: requestId, ...times }
}

/** The same of a stream. */
function streamedChange({ decoder }: TextRun): Partial<JobProgress> {
  const { state, response } = decoder.result()
  const status = stringOf(objectOf(response)['status']) ?? null
  return state === null ? {} : { state: responseStateOf(status ?? '') ?? state, status }
}
