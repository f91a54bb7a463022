import { formatState } from '../events/format-job.ts'
import { ModelgateError } from '../errors.ts'
import type { TextDocument } from '../events/text.ts'
import type { ResponseJobs } from '../files/jobs/job-record.ts'
import type { StoredJob } from '../files/jobs/job-store.ts'
import {
  cancelResponse,
  hasEnded,
  lookUpResponse,
  polledResponse,
  type ResponseReport,
} from '../gateway/responses/background.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { lookUpOnce } from '../gateway/videos/look-up-job.ts'
import { waitForEnd } from '../gateway/videos/wait-for-job.ts'
import { isNew } from './jobs.ts'
import type { AnswerSchema } from './answer-schema.ts'
import {
  changeOf,
  follow,
  keepRecord,
  waitOptions,
  withResume,
  type BackgroundPlan,
  type FollowedResponse,
} from './background-response.ts'
import { beginAnswer, type TextPlan, type TextRun } from './generate-text.ts'
import type { Call, Outcome } from './operation.ts'

/** A response by its id on the gateway, with its record on this machine. */
export interface NamedResponse {
  readonly id: string
  readonly stored: StoredJob<ResponseJobs> | undefined
}

export interface WaitForResponsePlan extends TextPlan, Pick<BackgroundPlan, 'pollIntervalS' | 'deadlineMs'> {
  /** Whether the answer is streamed; else it is fetched when it is complete. */
  readonly streamed: boolean
  /** The stream goes on behind the event with this number; -1 for all of it. */
  readonly after: number
  readonly warnings: readonly string[]
  /** The schema that the answer must match. */
  readonly answerSchema: AnswerSchema | undefined
}

/** Waits for a response that was started earlier, and emits its answer. */
export async function waitForResponse(
  call: Call,
  { id, stored }: NamedResponse,
  plan: WaitForResponsePlan,
): Promise<Outcome<TextDocument>> {
  const { answerSchema, warnings } = plan
  const isRest = plan.after >= 0
  const run = beginAnswer(
    call,
    { command: 'response wait', id, ...answerFacts(stored), answerSchema, warnings, isRest },
    plan,
  )
  const followed: FollowedResponse = { place: { id, after: plan.after }, stored }
  const work = async () => {
    run.begin()
    if (plan.streamed) await follow(call, run, followed, { isRest }, plan)
    else await takeWhole(call, run, followed, plan)
    await run.finish()
  }
  return run.settle(work, (error) => withResumeIfSent(followed, plan, error))
}

/** What was not sent has cost nothing: unlike where the response has just been started, the call may be repeated as it is. */
function withResumeIfSent(
  followed: FollowedResponse,
  plan: Parameters<typeof withResume>[1],
  error: ModelgateError,
): ModelgateError {
  return error.exit === 'notSent'
    ? error.amend({ remoteId: followed.place.id })
    : withResume(followed, plan, error, false)
}

async function takeWhole(
  call: Call,
  run: TextRun,
  followed: FollowedResponse,
  plan: WaitForResponsePlan,
): Promise<void> {
  const { id } = followed.place
  const report = await waitForEnd(inAll(call), polledResponse(id!), waitOptions(call, run, followed, plan))
  run.receiver.replied?.(report.requestId)
  await keepRecord(run, followed, changeOf(report))
  call.listener.raw?.(report.text)
  run.decoder.message(report.value)
  await run.receiver.flush()
  const verdict = run.decoder.verdict(false)
  if (verdict !== undefined) throw verdict
}

export interface LookUpResponsePlan extends TextPlan {
  /** Whether a response that failed or is still running makes the command fail. */
  readonly reportsState: boolean
}

/** Looks up a response, once. */
export async function lookUpState(
  call: Call,
  named: NamedResponse,
  plan: LookUpResponsePlan,
): Promise<Outcome<TextDocument>> {
  return await reportState(call, 'response status', named, plan, async (run, followed) => {
    const { id, stored } = named
    const report = await lookUpOnce(call.gateway, () => lookUpResponse(call.gateway, id), {
      isNew: isNew(stored, call.context),
    })
    await takeState(call, run, followed, report)
    if (!plan.reportsState) return undefined
    // The look-up succeeded whatever the state is: the document is complete.
    const verdict = hasEnded(report) ? run.decoder.verdict(false) : stillRunning(report)
    if (verdict === undefined) await run.finish()
    return verdict && withResume(followed, plan, verdict, false)
  })
}

/** A gateway may take this long to stop a response that it has cancelled. */
const cancellationMs = 30_000

/** Cancels a response, and reports how it ended. */
export async function cancelBackground(
  call: Call,
  named: NamedResponse,
  plan: TextPlan & Pick<BackgroundPlan, 'deadlineMs'>,
): Promise<Outcome<TextDocument>> {
  const { clock } = call.context
  return await reportState(call, 'response cancel', named, plan, async (run, followed) => {
    const first = await cancelResponse(call.gateway, named.id)
    const deadlineMs = plan.deadlineMs ?? clock.monotonic() + cancellationMs
    const options = { ...waitOptions(call, run, followed, { pollIntervalS: undefined, deadlineMs }), first }
    const report = hasEnded(first) ? first : await waitForEnd(inAll(call), polledResponse(named.id), options)
    await takeState(call, run, followed, report)
    const { id, state } = report
    if (state !== 'cancelled') run.warn(`The response ${id} had ended before it could be cancelled.`)
  })
}

/** Runs an operation that reports the state of a response, and not its answer. */
async function reportState(
  call: Call,
  command: TextDocument['command'],
  { id, stored }: NamedResponse,
  plan: TextPlan,
  work: (run: TextRun, followed: FollowedResponse) => Promise<ModelgateError | void>,
): Promise<Outcome<TextDocument>> {
  const run = beginAnswer(call, { command, id, ...answerFacts(stored), isSilent: true }, plan)
  const followed: FollowedResponse = { place: { id, after: -1 }, stored }
  return run.settle(
    async () => {
      run.begin()
      return await work(run, followed)
    },
    (error) => withResumeIfSent(followed, plan, error),
  )
}

async function takeState(
  { listener }: Call,
  run: TextRun,
  followed: FollowedResponse,
  report: ResponseReport,
): Promise<void> {
  run.receiver.replied?.(report.requestId)
  await keepRecord(run, followed, changeOf(report))
  listener.raw?.(report.text)
  run.decoder.message(report.value)
}

/** `--timeout` limits the whole wait, not each request. */
function inAll({ gateway }: Call): Call['gateway'] {
  return { ...gateway, limits: { ...gateway.limits, total: undefined } }
}

function answerFacts(stored: StoredJob<ResponseJobs> | undefined) {
  const model = stored?.record.model
  return {
    model: model === undefined || model === '' ? null : model,
    createDecoder: createResponseDecoder,
    warnings: [],
  }
}

function stillRunning(report: ResponseReport): ModelgateError {
  const message = `The response ${report.id} is ${formatState(report)}.`
  return new ModelgateError('running', 'still_running', message, { phase: 'wait', remoteId: report.id })
}
