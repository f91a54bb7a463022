import { videoRemixEndpoint as endpoint } from '../../contract/videos.ts'
import { endpointUrl, pathSegment } from '../url.ts'
import { jsonBody, type Gateway, type GatewayRequest } from '../gateway.ts'
import type { JobOrder } from './create-operation.ts'
import type { JobReport } from './read-job.ts'
import { startJob } from './start-job.ts'

/**
 * The request for a remix of a video (endpoint 3).
 * @throws UsageError for an id that cannot stand in a path
 */
export function remixRequest(
  { baseUrl }: Pick<Gateway, 'baseUrl'>,
  videoId: string,
  { body, idempotencyKey }: JobOrder,
): GatewayRequest {
  return {
    method: 'POST',
    url: endpointUrl(baseUrl, endpoint.path.replace('{video_id}', pathSegment(videoId, 'the id of a video'))),
    kind: 'create',
    contentType: 'application/json',
    accept: 'application/json',
    body: jsonBody(body),
    idempotencyKey,
  }
}

/**
 * Starts a remix.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function remixVideo(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'video')
}
