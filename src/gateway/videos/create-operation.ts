import { videoOperationEndpoint as endpoint } from '../../contract/videos.ts'
import { endpointUrl, pathSegment } from '../url.ts'
import { jsonBody, type Gateway, type GatewayRequest } from '../gateway.ts'
import type { JobReport } from './read-job.ts'
import { startJob } from './start-job.ts'

/** What a request for a job needs to be sent. */
export interface JobOrder {
  readonly body: unknown
  /** Minted once per command. */
  readonly idempotencyKey: string
}

/**
 * The request for a long-running operation (endpoint 7).
 * @throws UsageError for a model that cannot stand in a path
 */
export function operationRequest(
  { baseUrl }: Pick<Gateway, 'baseUrl'>,
  model: string,
  { body, idempotencyKey }: JobOrder,
): GatewayRequest {
  return {
    method: 'POST',
    url: endpointUrl(baseUrl, endpoint.path.replace('{model}', pathSegment(model, 'the model'))),
    kind: 'create',
    contentType: 'application/json',
    accept: 'application/json',
    body: jsonBody(body),
    idempotencyKey,
  }
}

/**
 * Starts a long-running operation. Most gateways answer with its name and nothing else; a relay that answers with a
 * Video has made one.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function createOperation(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'operation')
}
