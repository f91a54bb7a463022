import type { JobKind } from '../../contract/video-event.ts'
import { ModelgateError } from '../../errors.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { jsonBody, sendRequest } from '../send-request.ts'
import { endpointUrl } from '../url.ts'
import { withFacts } from './job-errors.ts'
import { readJobReply } from './job-reply.ts'
import { readJob } from './read-job.ts'
import type { JobReport } from './job-report.ts'

/** What a request for a job needs to be sent. */
export interface JobOrder {
  readonly body: unknown
  /** Minted once per command. */
  readonly idempotencyKey: string
}

/** A request that starts a job, which is not sent again once it may have been billed. */
export function jobRequest(
  { baseUrl }: Pick<Gateway, 'baseUrl'>,
  path: string,
  { body, idempotencyKey }: JobOrder,
): GatewayRequest {
  return {
    method: 'POST',
    url: endpointUrl(baseUrl, path),
    kind: 'create',
    contentType: 'application/json',
    accept: 'application/json',
    body: jsonBody(body),
    idempotencyKey,
  }
}

/**
 * Sends a request that starts a job, and reads which one. What may have been billed is not sent again.
 * @throws ModelgateError; where a job may exist although nobody knows its id, the message says so, and the hint tells
 *   the idempotency key that it was asked for with (fault F9)
 */
export async function startJob(gateway: Gateway, request: GatewayRequest, kind: JobKind): Promise<JobReport> {
  try {
    const reply = await sendRequest(gateway, request)
    const { value, text } = await readJobReply(gateway, reply, request.kind)
    return readJob(value, { kind }, { ...reply, text, now: gateway.clock.now() })
  } catch (error) {
    throw tellOfLostJob(error, request.idempotencyKey)
  }
}

function tellOfLostJob(error: unknown, key: string | undefined): unknown {
  if (!(error instanceof ModelgateError) || error.facts.billed !== 'maybe' || error.exit === 'failed')
    return error
  const sent = key === undefined ? undefined : `The idempotency key of the request is ${key}.`
  const hint = [error.facts.hint, sent].filter((line) => line !== undefined).join(' ')
  return withFacts(error, { hint }, `${error.message} A job may exist.`)
}
