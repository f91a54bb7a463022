import { videoOperationEndpoint as endpoint } from '../../contract/videos.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { modelSegment } from '../url.ts'
import type { JobReport } from './job-report.ts'
import { jobRequest, startJob, type JobOrder } from './start-job.ts'

/**
 * The request for a long-running operation (endpoint 7).
 * @throws UsageError for a model that cannot stand in a path
 */
export function operationRequest(
  gateway: Pick<Gateway, 'baseUrl'>,
  model: string,
  order: JobOrder,
): GatewayRequest {
  return jobRequest(gateway, endpoint.path.replace('{model}', modelSegment(model)), order)
}

/**
 * Starts a long-running operation. Most gateways answer with its name and nothing else; a relay that answers with a
 * Video has made one.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function createOperation(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'operation')
}
