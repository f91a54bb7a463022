import { videoRemixEndpoint as endpoint } from '../../contract/videos.ts'
import type { Gateway, GatewayRequest } from '../gateway.ts'
import { pathSegment } from '../url.ts'
import type { JobReport } from './job-report.ts'
import { jobRequest, startJob, type JobOrder } from './start-job.ts'

/**
 * The request for a remix of a video (endpoint 3).
 * @throws UsageError for an id that cannot stand in a path
 */
export function remixRequest(
  gateway: Pick<Gateway, 'baseUrl'>,
  videoId: string,
  order: JobOrder,
): GatewayRequest {
  const segment = pathSegment(videoId, 'the id of a video')
  return jobRequest(gateway, endpoint.path.replace('{video_id}', segment), order)
}

/**
 * Starts a remix.
 * @throws ModelgateError; exit 7 where a job may exist (fault F9)
 */
export function remixVideo(gateway: Gateway, request: GatewayRequest): Promise<JobReport> {
  return startJob(gateway, request, 'video')
}
