import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { lastSegment } from '../contract/videos.ts'
import type { SavedVideo, VideoDocument } from '../events/video.ts'
import { extensionOf } from '../files/media-type.ts'
import type { JobRecord } from '../files/jobs/job-record.ts'
import type { OutputPlan } from '../files/output-plan.ts'
import { describeVideoFile, videoMediaTypes } from '../files/video-info.ts'
import { objectOf } from '../json.ts'
import type { NamedJob } from './jobs.ts'
import type { Listener, Outcome, Redactor } from './operation.ts'
import {
  beginRun,
  documentOf,
  checkCount,
  recordedJob,
  reportFiltered,
  reportRaw,
  reportSaved,
} from './video-run.ts'

const extensions = Object.values(videoMediaTypes).map(extensionOf)

/**
 * The videos of a job that earlier commands saved and that still exist, by their numbers from 1.
 * @param id the value of `{id}` in names
 * @param count how many videos the job has
 */
export async function savedBefore(
  { cwd }: Pick<Context, 'cwd'>,
  record: JobRecord | undefined,
  output: OutputPlan,
  { id, count }: { readonly id: string; readonly count: number },
): Promise<ReadonlyMap<number, SavedVideo>> {
  const paths = record?.files ?? []
  const saved = new Map<number, SavedVideo>()
  if (paths.length === 0) return saved
  const described = await Promise.all(paths.map((path) => describeVideoFile({ cwd }, path)))
  const recorded = new Map(record?.result?.videos.map((video) => [video.path, video]))
  const isOurs = ({ path, sha256 }: SavedVideo) => (recorded.get(path)?.sha256 ?? sha256) === sha256
  const existing = new Map(
    described.flatMap((file) =>
      file !== undefined && isOurs(file)
        ? [[file.path, { ...file, verified: recorded.get(file.path)?.verified ?? file.verified }]]
        : [],
    ),
  )
  for (let index = 1; index <= count; index++) {
    for (const extension of extensions) {
      const path = output.pathFor({ index, extension, id })
      const file = existing.get(resolve(cwd, path))
      if (file !== undefined) saved.set(index, { ...file, path })
    }
  }
  // Under other names, only the complete set can be recognized. The same video may have several names.
  const different = [...new Map([...existing.values()].map((file) => [file.sha256, file])).values()]
  if (saved.size === count || different.length < count) return saved
  return new Map(different.map((file, at) => [at + 1, file]))
}

/**
 * The videos of a job if all were saved and still exist unchanged; undefined otherwise. A repeated wait then only
 * reports where they are; the gateway may have deleted the job.
 */
export async function findSavedVideos(
  { cwd }: Pick<Context, 'cwd'>,
  { id, stored }: NamedJob,
  output: OutputPlan,
  redactor: Redactor,
): Promise<readonly SavedVideo[] | undefined> {
  const result = stored?.record.result
  if (result === undefined || output.toStandardOutput) return undefined
  const saved: SavedVideo[] = []
  for (const [at, video] of result.videos.entries()) {
    const found = await describeVideoFile({ cwd }, video.path)
    if (found?.sha256 !== video.sha256) return undefined
    const planned = output.pathFor({
      index: at + 1,
      extension: extensionOf(video.mime_type),
      id: redactor.text(lastSegment(id)),
    })
    const path = resolve(cwd, planned) === video.path ? planned : video.path
    // Records of earlier versions do not say whether the video was verified.
    saved.push({ ...video, path, verified: video.verified ?? found.verified })
  }
  return saved
}

/** Reports videos like the operation that saved them, including missing ones, with the same outcome. */
export function reportSavedVideos(
  listener: Listener,
  command: VideoDocument['command'],
  { id, kind, stored }: NamedJob,
  { videos, strict }: { readonly videos: readonly SavedVideo[]; readonly strict: boolean },
): Outcome<VideoDocument> {
  const { record } = stored!
  const run = beginRun(listener, { command, model: record.model, stored })
  run.job = { ...recordedJob(kind, record), id, state: 'completed' }
  for (const [at, video] of videos.entries()) reportSaved(run, at + 1, video)
  const known = { id, value: objectOf(record.result?.reply) }
  const failure = reportFiltered(run, known, videos.length) ?? checkCount(run, known, videos.length, strict)
  reportRaw(run)
  return { kind: 'ended', document: documentOf(run)!, failure }
}
