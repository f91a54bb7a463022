import type { FetchVideoOptions } from '../../gateway/videos/fetch-video.ts'
import type { JobSession } from './job-session.ts'

/** Between two reports of one download, in milliseconds: every piece from the network would be too many. */
const pauseMs = 500

/**
 * Tells how far downloads have come: at once for each video, then every half second, and at its end.
 * @param current which video is being downloaded, from 1
 */
export function createDownloadMeter(
  { context, report }: JobSession,
  current: () => number,
): NonNullable<FetchVideoOptions['onProgress']> {
  let told = { index: 0, at: -Infinity }
  return ({ received, total }) => {
    const [index, at] = [current(), context.clock.monotonic()]
    if (index === told.index && at - told.at < pauseMs && received !== total) return
    told = { index, at }
    report.output.event({ type: 'download-progress', index, received, total })
  }
}
