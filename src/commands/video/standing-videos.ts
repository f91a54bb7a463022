import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { SavedVideo } from '../../contract/video-event.ts'
import { lastSegment } from '../../contract/last-segment.ts'
import type { ModelgateError } from '../../errors.ts'
import { describeVideoFile } from '../../files/describe-video-file.ts'
import { extensionOf } from '../../files/file-extension.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import { objectOf } from '../../gateway/json-access.ts'
import { tellFewer } from './fewer-videos.ts'
import type { NamedJob } from './jobs.ts'
import type { JobSession } from './job-session.ts'
import { tellHeldBack } from './missing-videos.ts'
import { knownJob } from './record-knowledge.ts'
import { wantsAnother } from './saved-before.ts'
import type { VideoOptions } from './video-options.ts'

/**
 * The videos of a job when all of them have been saved and are still there, each whole and with the same bytes: whoever
 * waits for them again wants to know where they are, and the gateway may have forgotten the job. Undefined when one is
 * missing or damaged, and when another place or a fresh copy is asked for.
 */
export async function standingVideos(
  context: Pick<Context, 'cwd'>,
  options: Pick<VideoOptions, 'output' | 'force'>,
  { id, stored }: NamedJob,
  plan: OutputPlan,
): Promise<readonly SavedVideo[] | undefined> {
  const result = stored?.record.result
  if (result === undefined || plan.toStandardOutput || wantsAnother(options)) return undefined
  const standing: SavedVideo[] = []
  for (const [at, video] of result.videos.entries()) {
    const found = await describeVideoFile(context, video.path)
    if (found?.sha256 !== video.sha256) return undefined
    const planned = plan.pathFor({
      index: at + 1,
      extension: extensionOf(video.mime_type),
      id: lastSegment(id),
    })
    const path = resolve(context.cwd, planned) === video.path ? planned : video.path
    // A record of an earlier version does not say whether the video was verified.
    standing.push({ ...video, path, verified: video.verified ?? found.verified })
  }
  return standing
}

/** Tells of the videos as the command did that saved them, and of those that are missing; the exit code is the same. */
export function tellStanding(
  session: Pick<JobSession, 'options' | 'report'>,
  { id, kind, stored }: NamedJob,
  videos: readonly SavedVideo[],
): ModelgateError | undefined {
  const { record } = stored!
  const { report } = session
  const known = { id, value: objectOf(record.result?.reply) }
  report.take({ ...knownJob(kind, record), id, state: 'completed' })
  for (const [at, video] of videos.entries()) report.save(at + 1, video)
  return tellHeldBack(report, known, videos.length) ?? tellFewer(session, { stored }, known, videos.length)
}

/** A note for whoever expected the gateway to be asked. */
export function standingNote({ length }: readonly SavedVideo[]): string {
  const saved = length === 1 ? 'The video was' : `The ${length} videos were`
  const them = length === 1 ? 'it' : 'them'
  return `${saved} saved earlier, and nothing was asked of the gateway; --force fetches ${them} again.\n`
}
