import { isFinal } from '../contract/videos.ts'
import { responseStateOf } from '../contract/response-object.ts'
import { Interrupted, type ModelgateError } from '../errors.ts'
import type { TextDocument } from '../events/text.ts'
import type { JobProgress } from '../files/calls/job-record.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import { leadTo } from '../files/next-command.ts'
import {
  cancelResponse,
  createBackground,
  followResponse,
  polledResponse,
  responseStream,
  type ResponseReport,
  type StreamPlace,
} from '../gateway/responses/background.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { waitForEnd, type WaitOptions } from '../gateway/videos/wait-for-job.ts'
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
  type NamedJob,
  type RecordPlan,
  type WaitLimits,
} from './jobs.ts'
import type { Call, Outcome } from './operation.ts'

/** Starts a response. Streamed, the answer is emitted as it arrives; else only if it is complete already. */
export function startBackground(
  call: Call,
  request: TextRequest,
  plan: TextPlan & RecordPlan & WaitLimits,
): Promise<Outcome<TextDocument>> {
  const { gateway } = call
  const run = beginAnswer(call, request, plan)
  const place: StreamPlace = { id: undefined, after: -1 }
  const work = async () => {
    const wire = textGatewayRequest(gateway, request)
    const { idempotencyKey } = wire
    const checksSchema = request.answerSchema !== undefined
    const asked = { ...request, kind: 'response', idempotencyKey, checksSchema } as const
    await createJob(call, plan, asked, run.warn, async ({ stored, onReplyBytes, created }) => {
      const job = responseJob(call, run, plan, place, stored)
      const sent = { ...wire, onReplyBytes }
      if (request.streamed) return await job.follow(sent, created)
      const report = await createBackground(gateway, sent)
      place.id = report.id
      run.receiver.replied?.(report.requestId)
      await created(report.id)
      await job.take(report)
      if (report.isCut) run.warn("The gateway's reply was cut short after the id of the response.")
      else if (isFinal(report.state)) run.decoder.finish(false)
    })
    const { state } = run.decoder.result()
    if (state !== 'queued' && state !== 'in_progress') await run.finish()
  }
  return run.settle(work, (error) => withResume(call, place, plan, error, true))
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
export function waitForResponse(call: Call, named: NamedJob<'response'>, plan: WaitForResponsePlan) {
  const { answerSchema, warnings, after, streamed } = plan
  const facts = { command: 'wait', answerSchema, warnings, isRest: after >= 0 } as const
  return continueResponse(call, named, plan, after, facts, async (run, job) => {
    if (streamed) await job.follow(responseStream(call.gateway, named.id, after))
    else {
      await job.take(await job.ended())
      run.decoder.finish(false)
    }
    await run.finish()
  })
}

/** A gateway may take this long to stop a response that it has cancelled. */
const cancellationMs = 30_000

/** Cancels a response, and reports how it ended. */
export function cancelBackground(call: Call, named: NamedJob<'response'>, plan: TextPlan & WaitLimits) {
  const facts = { command: 'cancel', warnings: [], isSilent: true } as const
  const own = { ...plan, pollIntervalS: undefined }
  return continueResponse(call, named, own, -1, facts, async (run, job) => {
    const first = await cancelResponse(call.gateway, named.id)
    const deadlineMs = plan.deadlineMs ?? call.context.clock.monotonic() + cancellationMs
    const report = isFinal(first.state) ? first : await job.ended({ first, deadlineMs })
    await job.take(report)
    if (report.state !== 'cancelled') {
      run.warn(`The response ${report.id} had ended before it could be cancelled.`)
    }
  })
}

function continueResponse(
  call: Call,
  { id, stored }: NamedJob<'response'>,
  plan: TextPlan & WaitLimits,
  after: number,
  facts: Omit<AnswerFacts, 'id' | 'model' | 'createDecoder'>,
  work: (run: TextRun, job: ReturnType<typeof responseJob>) => Promise<void>,
) {
  const model = stored?.record.model || null
  const run = beginAnswer(call, { ...facts, id, model, createDecoder: createResponseDecoder }, plan)
  const place = { id, after }
  const job = responseJob(call, run, plan, place, stored)
  return run.settle(
    () => work(run, job),
    (error) => withResume(call, place, plan, error),
  )
}

/** A background response, with its record on this machine. */
function responseJob(call: Call, run: TextRun, plan: WaitLimits, place: StreamPlace, stored?: StoredJob) {
  const keep = (change: Partial<JobProgress>) => keepRecord(stored, change, run.warn)
  const onFound = (found: ResponseReport) => {
    run.saw(found.state)
    void keep(changeOf(found))
    return null
  }
  const lookUps = () => waitOptions(call, plan, stored, () => place.id!, onFound)
  return {
    ended: (options: WaitOptions<ResponseReport> = {}) =>
      waitForEnd(withoutTotal(call.gateway), polledResponse(place.id!), { ...lookUps(), ...options }),
    /** Takes its state, with what has come of its answer. */
    async take(report: ResponseReport): Promise<void> {
      run.receiver.replied?.(report.requestId)
      await keep(changeOf(report))
      call.listener.raw?.(report.text)
      run.decoder.message(report.value)
      await run.receiver.flush()
    },
    /** Streams it from its place until it ends. @param request that for its stream, or the one that creates it */
    async follow(
      request: Parameters<typeof followResponse>[1],
      onId: (id: string) => Promise<void> = async () => {},
    ): Promise<void> {
      const onReport = (report: ResponseReport) => void keep(changeOf(report))
      const receiver = { ...run.receiver, onId, onReport }
      const options = { ...lookUps(), isRest: place.after >= 0 }
      await followResponse(call.gateway, request, place, run.decoder, receiver, options).finally(() => {
        const { state, response } = run.decoder.result()
        const status = stringOf(objectOf(response)['status']) ?? null
        return state === null ? undefined : keep({ state: responseStateOf(status ?? '') ?? state, status })
      })
    },
  }
}

/** Says of a response that continues at the gateway how to wait for it. @param isStarted whether this call has started it */
function withResume(
  call: Call,
  { id, after }: StreamPlace,
  plan: Pick<TextPlan, 'resume'>,
  error: ModelgateError,
  isStarted = false,
): ModelgateError {
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
