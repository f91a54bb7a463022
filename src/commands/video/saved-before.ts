import { resolve } from 'node:path'
import type { SavedVideo } from '../../contract/video-event.ts'
import { describeVideoFile } from '../../files/describe-video-file.ts'
import { extensionOf } from '../../files/file-extension.ts'
import { videoMediaTypes } from '../../files/video-info.ts'
import type { Pursuit } from './pursuit.ts'
import type { JobSession } from './job-session.ts'
import type { VideoOptions } from './video-options.ts'

const extensions = Object.values(videoMediaTypes).map(extensionOf)

/**
 * The videos of a job that earlier commands have saved and that are still there, by their numbers from 1. Whoever
 * names another place wants them there, and whoever says `--force` wants them as the gateway has them.
 * @param id what stands for `{id}` in names
 * @param count how many videos the job has
 */
export async function savedBefore(
  { context, options }: Pick<JobSession, 'context' | 'options'>,
  { stored, plan }: Pick<Pursuit, 'stored' | 'plan'>,
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
export function wantsAnother({ output, force }: Pick<VideoOptions, 'output' | 'force'>): boolean {
  return output !== undefined || force === true
}
