import { unlink } from 'node:fs/promises'
import { resolve } from 'node:path'
import { rescueFolder } from '../../config/paths.ts'
import type { SavedVideo } from '../../events/video.ts'
import { mostPlannedNames } from '../../contract/limits.ts'
import { maxVideoSamples } from '../../contract/videos.ts'
import { lastSegment } from '../../contract/last-segment.ts'
import { ModelgateError, UsageError, asModelgateError, type ExitName } from '../../errors.ts'
import { describeVideoFile, videoKind } from '../../files/video-info.ts'
import { keepDamaged, openMediaFile, unverifiedNote } from '../../files/media-file.ts'
import { streamMedia } from '../../files/stream-media.ts'
import {
  createVideoFetcher,
  type VideoFetcher,
  type FetchVideoOptions,
} from '../../gateway/videos/fetch-video.ts'
import { withFacts } from '../../gateway/videos/start-job.ts'
import { lookUpJob } from '../../gateway/videos/look-up-job.ts'
import type { JobReport } from '../../gateway/videos/job-fields.ts'
import { resultPlaces } from '../../gateway/videos/result-places.ts'
import { type JobWait, keepRecord, type JobSession } from './job-session.ts'
import { countMismatch } from '../shared/came-and-asked.ts'
import { videosOf } from './video-request.ts'
import { someMissing, tellHeldBack } from './missing-videos.ts'
import { savedBefore } from './already-saved.ts'

/**
 * Saves every video of a completed job at once: their addresses live only for a while. One that cannot be had does not
 * keep the others.
 * @returns the error of a command of which some videos are missing (exit 12), those held back by filters among them
 * @throws ModelgateError when not a single one was saved
 */
export async function saveVideos(
  session: JobSession,
  pursuit: JobWait,
  completed: JobReport,
  resume: string,
): Promise<ModelgateError | undefined> {
  const { gateway, options, report } = session
  const total = Math.max(1, resultPlaces(completed).length)
  const asked = pursuit.stored === undefined ? undefined : videosOf(pursuit.stored.record.request)
  // More than was asked for may have been paid for; but no gateway is to fill a folder.
  const count = Math.min(total, asked === undefined ? mostPlannedNames : Math.max(asked, maxVideoSamples))
  if (count < total) report.warn(countMismatch(total, asked ?? 1, 'video', count))
  if (pursuit.plan.toStandardOutput && count > 1) throw severalForOne(count, completed.id)
  const heldBack = () => tellHeldBack(report, completed, count)
  const before = await savedBefore(session, pursuit, { id: lastSegment(completed.id), count })
  for (const [index, file] of before) report.save(index, file)
  let current = 1
  const fetcher = createVideoFetcher(gateway, completed, () => lookUpJob(gateway, pursuit.job), {
    allowPrivate: options.allowPrivateUrls === true,
    onProgress: createDownloadMeter(session, () => current),
  })
  const errors: ModelgateError[] = []
  for (let index = 1; index <= count; index++) {
    if (before.has(index)) continue
    current = index
    try {
      await saveOne(session, pursuit, fetcher, index)
    } catch (error) {
      const known = withResume(asModelgateError(error, options.debug === true), completed.id, resume)
      if (gateway.signal.aborted) throw known
      errors.push(known)
      if (count > 1) report.fail(index, known)
    }
  }
  report.take(fetcher.report)
  if (errors.length === 0) {
    await keepResult(session, pursuit, fetcher.report, count)
    return heldBack()
  }
  const paths = errors.flatMap(({ facts }) => facts.rescued ?? [])
  const rescued = paths.length === 0 ? {} : { rescued: paths }
  if (errors.length === count) throw withFacts(errors[0]!, rescued)
  heldBack()
  return someMissing(`${errors.length} of ${count} videos could not be saved.`, completed.id, {
    hint: `To try again while they are kept: ${resume}`,
    ...rescued,
  })
}

/** Enough to tell it all again without the gateway. A copy in another place does not take the first one's place. */
async function keepResult(
  { context, options, report }: JobSession,
  { stored }: JobWait,
  { value }: JobReport,
  count: number,
): Promise<void> {
  const files = report.document()?.files ?? []
  if (files.length < count || (options.output !== undefined && stored?.record.result !== undefined)) return
  const videos = files.map((file) => ({ ...file, path: resolve(context.cwd, file.path) }))
  await keepRecord(stored, { result: { reply: value, videos } }, report)
}

function severalForOne(count: number, remoteId: string): UsageError {
  return new UsageError(`-o - takes one video, and the job has ${count}.`, {
    code: 'one_video_only',
    billed: 'yes',
    remoteId,
    hint: 'Name a folder: -o DIR/',
  })
}

async function saveOne(
  session: JobSession,
  { plan, force, stored }: JobWait,
  fetcher: VideoFetcher,
  index: number,
): Promise<void> {
  const { context, report, gateway } = session
  const id = lastSegment(fetcher.report.id)
  let taken: { readonly planned: string; readonly saved: string } | undefined
  const file = plan.toStandardOutput
    ? streamMedia(context, videoKind)
    : openMediaFile(context, videoKind, {
        pathFor: (extension) => plan.pathFor({ index, extension, id }),
        force,
        rescueFolder: rescueFolder(context),
        renamed: (planned, saved) => (taken = { planned, saved }),
      })
  try {
    const { isFramed } = await fetcher.fetch(index - 1, file)
    const saved = await file.done(isFramed)
    if (!saved.verified)
      report.warn(unverifiedNote('video', saved.path === '-' ? 'what was written' : saved.path))
    if (saved.rescued !== undefined) throw saved.rescued
    if (plan.toStandardOutput) return
    const kept = taken === undefined ? saved : await withoutCopy(session, saved, taken)
    if (taken !== undefined && kept === saved && !plan.isAutomatic) {
      report.warn(`${taken.planned} exists already; the video is in ${saved.path}.`)
    }
    report.save(index, kept)
    const files = [...(stored?.record.files ?? []), resolve(context.cwd, kept.path)]
    await keepRecord(stored, { files }, report)
  } catch (error) {
    if (!gateway.signal.aborted) throw await keepDamaged(file, error)
    await file.drop()
    throw gateway.signal.reason
  }
}

/** A wait that was killed after the file had its name has left the very same video: one is enough. */
async function withoutCopy(
  { context }: JobSession,
  saved: SavedVideo,
  { planned }: { readonly planned: string },
): Promise<SavedVideo> {
  const existing = await describeVideoFile(context, planned)
  if (existing?.sha256 !== saved.sha256) return saved
  await unlink(resolve(context.cwd, saved.path))
  return { ...existing, verified: saved.verified }
}

/** What would mean that nothing was sent: by now a job has been paid for, and a folder has gone meanwhile. */
const afterwards: Partial<Record<ExitName, ExitName>> = { notSent: 'later', usage: 'io' }

/** The video has been made, and can be fetched as long as the gateway keeps it. */
function withResume(error: ModelgateError, id: string, resume: string): ModelgateError {
  const isFinal = error.code === 'result_expired' || error.code === 'result_in_cloud_storage'
  const expiry = error.facts.httpStatus === 404 ? ', if it has not expired meanwhile' : ''
  const again = `The video has been made; to fetch it again${expiry}: ${resume}`
  const hint = isFinal ? error.facts.hint : [error.facts.hint, again].filter(Boolean).join(' ')
  return new ModelgateError(afterwards[error.exit] ?? error.exit, error.code, error.message, {
    ...error.facts,
    phase: 'result',
    billed: 'yes',
    remoteId: id,
    ...(hint === undefined ? {} : { hint }),
  })
}

/** Between two reports of one download, in milliseconds: every piece from the network would be too many. */
const pauseMs = 500

/**
 * Tells how far downloads have come: at once for each video, then every half second, and at its end.
 * @param current which video is being downloaded, from 1
 */
function createDownloadMeter(
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
