import type { ModelgateError } from '../errors.ts'
import type { TextDocument } from '../events/text.ts'
import type { StoredJob } from '../files/calls/job-store.ts'
import {
  cancelResponse,
  hasEnded,
  polledResponse,
  type ResponseReport,
} from '../gateway/responses/background.ts'
import { createResponseDecoder } from '../gateway/responses/decoder.ts'
import { waitForEnd } from '../gateway/videos/wait-for-job.ts'
import type { NamedJob } from './jobs.ts'
import type { AnswerSchema } from './answer-schema.ts'
import {
  changeOf,
  follow,
  keepState,
  waitOptions,
  withResume,
  type BackgroundPlan,
  type FollowedResponse,
} from './background-response.ts'
import { beginAnswer, type TextPlan, type TextRun } from './generate-text.ts'
import type { Call, Outcome } from './operation.ts'

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
  { id, stored }: NamedJob<'response'>,
  plan: WaitForResponsePlan,
): Promise<Outcome<TextDocument>> {
  const { answerSchema, warnings } = plan
  const isRest = plan.after >= 0
  const run = beginAnswer(
    call,
    { command: 'wait', id, ...answerFacts(stored), answerSchema, warnings, isRest },
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
  await takeState(call, run, followed, report)
  await run.receiver.flush()
  const verdict = run.decoder.verdict(false)
  if (verdict !== undefined) throw verdict
}

/** A gateway may take this long to stop a response that it has cancelled. */
const cancellationMs = 30_000

/** Cancels a response, and reports how it ended. */
export async function cancelBackground(
  call: Call,
  { id, stored }: NamedJob<'response'>,
  plan: TextPlan & Pick<BackgroundPlan, 'deadlineMs'>,
): Promise<Outcome<TextDocument>> {
  const run = beginAnswer(call, { command: 'cancel', id, ...answerFacts(stored), isSilent: true }, plan)
  const followed: FollowedResponse = { place: { id, after: -1 }, stored }
  const work = async () => {
    run.begin()
    const first = await cancelResponse(call.gateway, id)
    const deadlineMs = plan.deadlineMs ?? call.context.clock.monotonic() + cancellationMs
    const options = { ...waitOptions(call, run, followed, { pollIntervalS: undefined, deadlineMs }), first }
    const report = hasEnded(first) ? first : await waitForEnd(inAll(call), polledResponse(id), options)
    await takeState(call, run, followed, report)
    if (report.state !== 'cancelled') {
      run.warn(`The response ${report.id} had ended before it could be cancelled.`)
    }
  }
  return await run.settle(work, (error) => withResumeIfSent(followed, plan, error))
}

async function takeState(
  { listener }: Call,
  run: TextRun,
  followed: FollowedResponse,
  report: ResponseReport,
): Promise<void> {
  run.receiver.replied?.(report.requestId)
  await keepState(run, followed, changeOf(report))
  listener.raw?.(report.text)
  run.decoder.message(report.value)
}

/** `--timeout` limits the whole wait, not each request. */
function inAll({ gateway }: Call): Call['gateway'] {
  return { ...gateway, limits: { ...gateway.limits, total: undefined } }
}

function answerFacts(stored: StoredJob | undefined) {
  const model = stored?.record.model
  return {
    model: model === undefined || model === '' ? null : model,
    createDecoder: createResponseDecoder,
    warnings: [],
  }
}
