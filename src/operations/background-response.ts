import { isFinal } from '../contract/video-state.ts'
import { responseStateOf } from '../contract/response-object.ts'
import { Interrupted, type ModelgateError } from '../errors.ts'
import type { TextDocument } from '../events/text.ts'
import type { JobProgress } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { leadTo } from '../files/next-command.ts'
import {
  cancelResponse,
  createBackground,
  polledResponse,
  type ResponseReport,
  responseStream,
} from '../gateway/responses/background.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { followResponse, type StreamPlace } from '../gateway/responses/follow-response.ts'
import { waitForEnd } from '../gateway/videos/wait-for-job.ts'
import { objectOf, stringOf } from '../json.ts'
import type { AnswerSchema } from './answer-schema.ts'
import {
  beginAnswer,
  textGatewayRequest,
  type AnswerFacts,
  type TextPlan,
  type TextRequest,
  type TextRun,
} from './generate-text.ts'
import {
  changeOf,
  createJob,
  keepRecord,
  waitOptions,
  withoutTotal,
  type CreatePlan,
  type NamedJob,
  type WaitLimits,
} from './jobs.ts'
import { promptOf, type Call, type Outcome } from './operation.ts'

interface Following {
  readonly call: Call
  readonly run: TextRun
  readonly plan: Pick<TextPlan, 'resume'> & WaitLimits
  readonly place: StreamPlace
  stored: StoredJob | undefined
}

/** Starts a response. Streamed, the answer is emitted as it arrives; else only if it is complete already. */
export async function startBackground(
  call: Call,
  request: TextRequest,
  plan: TextPlan & CreatePlan & WaitLimits,
): Promise<Outcome<TextDocument>> {
  const { gateway } = call
  const run = beginAnswer(call, request, plan)
  const following: Following = { call, run, plan, place: { id: undefined, after: -1 }, stored: undefined }
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
    await createJob(call, plan, facts, run.warn, async ({ stored, onReplyBytes, created }) => {
      following.stored = stored
      const sent = { ...wire, onReplyBytes }
      if (request.streamed) return await follow(following, false, sent, created)
      const report = await createBackground(gateway, sent)
      following.place.id = report.id
      run.receiver.replied?.(report.requestId)
      await created(report.id)
      await takeState(following, report)
      if (report.isCut) run.warn("The gateway's reply was cut short after the id of the response.")
      else if (isFinal(report.state)) run.decoder.finish(false)
    })
    const { state } = run.decoder.result()
    if (state !== 'queued' && state !== 'in_progress') await run.finish()
  }
  return run.settle(work, (error) => withResume(following, error, true))
}

export interface WaitForResponsePlan extends TextPlan, WaitLimits {
  /** Whether the answer is streamed; else it is fetched when it is complete. */
  readonly streamed: boolean
  /** The stream continues after the event with this number; -1 for all of it. */
  readonly after: number
  readonly warnings: readonly string[]
  readonly answerSchema: AnswerSchema | undefined
}

/** Waits for a response that was started earlier, and emits its answer. */
export async function waitForResponse(call: Call, named: NamedJob<'response'>, plan: WaitForResponsePlan) {
  const { answerSchema, warnings, after } = plan
  const isRest = after >= 0
  const following = resume(call, named, plan, { command: 'wait', answerSchema, warnings, isRest }, after)
  const { run } = following
  const work = async () => {
    run.begin()
    if (plan.streamed) await follow(following, isRest, responseStream(call.gateway, named.id, after))
    else {
      await takeState(following, await waitForEnd(...polled(following)))
      run.decoder.finish(false)
    }
    await run.finish()
  }
  return run.settle(work, (error) => withResume(following, error))
}

/** A gateway may take this long to stop a response that it has cancelled. */
const cancellationMs = 30_000

/** Cancels a response, and reports how it ended. */
export async function cancelBackground(call: Call, named: NamedJob<'response'>, plan: TextPlan & WaitLimits) {
  const facts = { command: 'cancel', warnings: [], isSilent: true } as const
  const following = resume(call, named, { ...plan, pollIntervalS: undefined }, facts)
  const { run } = following
  const work = async () => {
    run.begin()
    const first = await cancelResponse(call.gateway, named.id)
    const deadlineMs = plan.deadlineMs ?? call.context.clock.monotonic() + cancellationMs
    const [gateway, job, usual] = polled(following)
    const options = { ...usual, first, deadlineMs }
    const report = isFinal(first.state) ? first : await waitForEnd(gateway, job, options)
    await takeState(following, report)
    if (report.state !== 'cancelled') {
      run.warn(`The response ${report.id} had ended before it could be cancelled.`)
    }
  }
  return await run.settle(work, (error) => withResume(following, error))
}

function resume(
  call: Call,
  { id, stored }: NamedJob<'response'>,
  plan: TextPlan & WaitLimits,
  facts: Omit<AnswerFacts, 'id' | 'model' | 'createDecoder'>,
  after = -1,
): Following {
  const model = stored?.record.model || null
  const run = beginAnswer(call, { ...facts, id, model, createDecoder: createResponseDecoder }, plan)
  return { call, run, plan, place: { id, after }, stored }
}

function polled(following: Following) {
  const { call, place } = following
  return [withoutTotal(call.gateway), polledResponse(place.id!), lookUps(following)] as const
}

async function takeState(following: Following, report: ResponseReport): Promise<void> {
  const { call, run } = following
  run.receiver.replied?.(report.requestId)
  await keepState(following, changeOf(report))
  call.listener.raw?.(report.text)
  run.decoder.message(report.value)
  await run.receiver.flush()
}

/** Streams a response from its place until it ends. @param request that for its stream, or the one that creates it */
async function follow(
  following: Following,
  isRest: boolean,
  request: Parameters<typeof followResponse>[1],
  onId: (id: string) => Promise<void> = async () => {},
): Promise<void> {
  const { call, run, place } = following
  const receiver = {
    ...run.receiver,
    onId,
    onReport: (report: ResponseReport) => void keepState(following, changeOf(report)),
  }
  const options = { ...lookUps(following), isRest }
  await followResponse(call.gateway, request, place, run.decoder, receiver, options).finally(() =>
    keepState(following, streamedChange(run)),
  )
}

function lookUps(following: Following) {
  const { call, run, plan, place, stored } = following
  return waitOptions<ResponseReport>(
    call,
    plan,
    stored,
    () => place.id!,
    (found) => {
      run.saw(found.state)
      void keepState(following, changeOf(found))
      return null
    },
  )
}

/** Says of a response that continues at the gateway how to wait for it. @param isStarted whether this call has started it */
function withResume({ call, place, plan }: Following, error: ModelgateError, isStarted = false) {
  const { id, after } = place
  if (id === undefined || plan.resume === undefined) return error
  // What was not sent has cost nothing, and the call may be repeated as it is.
  if (error.exit === 'notSent' && !isStarted) return error.amend({ remoteId: id })
  const goesOn = error instanceof Interrupted || ['running', 'later', 'notSent'].includes(error.exit)
  if (!goesOn)
    return error.amend({ remoteId: id, ...error.facts, ...(call.hasSent() ? {} : { billed: 'no' }) })
  const command = plan.resume(id, after < 0 ? undefined : after)
  const next = leadTo('The response continues at the gateway; to wait for it: ', command)
  const phase = error instanceof Interrupted ? 'wait' : undefined
  // What runs has not been paid for yet, and who only looks pays nothing.
  const billed = error.exit === 'running' ? 'maybe' : call.hasSent() ? 'yes' : 'no'
  const known = error.amend({ remoteId: id, billed, ...next, phase })
  // The response was accepted: this must not look like a call that is safe to repeat.
  return error.exit === 'notSent' ? known.amend({ exit: 'later' }) : known
}

function keepState({ run, stored }: Following, change: Partial<JobProgress>): Promise<void> {
  return keepRecord(stored, change, run.warn)
}

function streamedChange({ decoder }: TextRun): Partial<JobProgress> {
  const { state, response } = decoder.result()
  const status = stringOf(objectOf(response)['status']) ?? null
  return state === null ? {} : { state: responseStateOf(status ?? '') ?? state, status }
}
