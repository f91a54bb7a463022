import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../../context.ts'
import type { SavedVideo } from '../../contract/video-event.ts'
import { lastSegment } from '../../contract/last-segment.ts'
import type { ModelgateError } from '../../errors.ts'
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
 * The videos of a job when all of them have been saved and still stand, each with its size: whoever waits for them
 * again wants to know where they are, and the gateway may have forgotten the job. Undefined when one is missing, and
 * when another place or a fresh copy is asked for.
 */
export async function standingVideos(
  { cwd }: Pick<Context, 'cwd'>,
  options: Pick<VideoOptions, 'output' | 'force'>,
  { id, stored }: NamedJob,
  plan: OutputPlan,
): Promise<readonly SavedVideo[] | undefined> {
  const result = stored?.record.result
  if (result === undefined || plan.toStandardOutput || wantsAnother(options)) return undefined
  const standing = await Promise.all(result.videos.map(isStanding))
  if (standing.includes(false)) return undefined
  return result.videos.map((video, at) => {
    const extension = extensionOf(video.mime_type)
    const planned = plan.pathFor({ index: at + 1, extension, id: lastSegment(id) })
    return resolve(cwd, planned) === video.path ? { ...video, path: planned } : video
  })
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

async function isStanding({ path, bytes }: SavedVideo): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() === true && found.size === bytes
}
