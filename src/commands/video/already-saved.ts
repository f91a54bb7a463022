import { resolve } from 'node:path'
import type { SavedVideo } from '../../events/video.ts'
import { describeVideoFile, videoMediaTypes } from '../../files/video-info.ts'
import { extensionOf } from '../../files/file-name.ts'
import type { JobWait, JobSession } from './job-session.ts'
import type { VideoOptions } from './video-options.ts'
import type { Context } from '../../context.ts'
import { lastSegment } from '../../contract/last-segment.ts'
import type { ModelgateError } from '../../errors.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import { objectOf } from '../../gateway/json-access.ts'
import { tellFewer, tellHeldBack } from './missing-videos.ts'
import type { NamedJob } from './jobs.ts'
import { knownJob } from './record-knowledge.ts'

const extensions = Object.values(videoMediaTypes).map(extensionOf)

/**
 * The videos of a job that earlier commands have saved and that are still there, by their numbers from 1. Whoever
 * names another place wants them there, and whoever says `--force` wants them as the gateway has them.
 * @param id what stands for `{id}` in names
 * @param count how many videos the job has
 */
export async function savedBefore(
  { context, options }: Pick<JobSession, 'context' | 'options'>,
  { stored, plan }: Pick<JobWait, 'stored' | 'plan'>,
  { id, count }: { readonly id: string; readonly count: number },
): Promise<ReadonlyMap<number, SavedVideo>> {
  const paths = stored?.record.files ?? []
  const saved = new Map<number, SavedVideo>()
  if (paths.length === 0 || wantsAnother(options)) return saved
  const described = await Promise.all(paths.map((path) => describeVideoFile(context, path)))
  const recorded = new Map(stored?.record.result?.videos.map((video) => [video.path, video]))
  const isOurs = ({ path, sha256 }: SavedVideo) => (recorded.get(path)?.sha256 ?? sha256) === sha256
  const there = new Map(
    described.flatMap((file) =>
      file !== undefined && isOurs(file)
        ? [[file.path, { ...file, verified: recorded.get(file.path)?.verified ?? file.verified }]]
        : [],
    ),
  )
  for (let index = 1; index <= count; index++) {
    for (const extension of extensions) {
      const path = plan.pathFor({ index, extension, id })
      const file = there.get(resolve(context.cwd, path))
      if (file !== undefined) saved.set(index, { ...file, path })
    }
  }
  // Under other names than planned it shows only that they are all there. The same video may have several names.
  const different = [...new Map([...there.values()].map((file) => [file.sha256, file])).values()]
  if (saved.size === count || different.length < count) return saved
  return new Map(different.map((file, at) => [at + 1, file]))
}

/** Whether the command asks for something else than what has been saved. */
function wantsAnother({ output, force }: Pick<VideoOptions, 'output' | 'force'>): boolean {
  return output !== undefined || force === true
}

/**
 * The videos of a job when all of them have been saved and are still there, each whole and with the same bytes: whoever
 * waits for them again wants to know where they are, and the gateway may have forgotten the job. Undefined when one is
 * missing or damaged, and when another place or a fresh copy is asked for.
 */
export async function alreadySavedVideos(
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
export function reportAlreadySaved(
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
export function alreadySavedNote({ length }: readonly SavedVideo[]): string {
  const saved = length === 1 ? 'The video was' : `The ${length} videos were`
  const them = length === 1 ? 'it' : 'them'
  return `${saved} saved earlier, and nothing was asked of the gateway; --force fetches ${them} again.\n`
}
