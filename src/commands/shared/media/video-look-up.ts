import { isDryRun } from '../options/common-options.ts'
import { stateFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { SavedVideo } from '../../../events/video.ts'
import { lookUpRequest } from '../../../gateway/videos/look-up-job.ts'
import { openJobs, type NamedJob } from '../../../operations/jobs.ts'
import { lookUpVideo } from '../../../operations/look-up-video.ts'
import { findSavedVideos, reportSavedVideos } from '../../../operations/save-videos.ts'
import { planVideos, videoCount } from '../../../operations/video-request.ts'
import { waitForVideo, type WaitPlan } from '../../../operations/wait-for-video.ts'
import { createGate } from '../../../output/gate.ts'
import { refuseUnwritten } from '../jobs/named-job.ts'
import { runOperation, showOperation } from '../call/run-operation.ts'
import { learnName, resumeCommand, type JobNames } from '../jobs/resume-command.ts'
import { throwProblems } from '../../../problems.ts'
import { findVideo, refuseCombinations, waitPlan, type VideoOptions } from './video-command.ts'

/** The shared options of look-ups and waits. */
export const optionsOfLookUps = 'dryRun curl output json force jsonl raw githubOutput strict gateway messages'

/** Looks up a job, or waits for it and saves its videos where the command that started it intended. */
export async function lookUpJob(
  context: Context,
  given: VideoOptions,
  text: string | undefined,
  command: 'video status' | 'video wait',
): Promise<void> {
  const waits = command === 'video wait' || given.wait === true
  refuseUnwritten(given, waits)
  const gate = createGate(context)
  const store = openJobs(context, stateFolder(context), gate)
  const { named, options, settings } = await findVideo(context, store, given, text)
  const names: JobNames = new Map()
  if (named.stored !== undefined) await learnName(context, store, names, named.id)
  const resume = resumeCommand(context, options, { names })
  const wait = waits ? await planWait(context, options, settings, named, resume) : undefined
  const saved =
    wait === undefined || wait.refetch || isDryRun(options)
      ? undefined
      : await findSavedVideos(context, named, wait.output, gate)
  if (saved !== undefined) {
    const quiet = settings.quiet.value
    await showOperation(context, options, { quiet, gate, result: 'files' }, (output) =>
      reportSavedVideos(output, command, named, saved, wait!),
    ).finally(() => {
      if (!quiet) context.stderr.write(alreadySavedNote(saved))
    })
    return
  }
  await runOperation(context, options, settings, {
    gate,
    ...(waits ? { logged: { command, model: named.stored?.record.model || null, jobs: [named.id] } } : {}),
    describeRequest: (gateway) => ({ request: lookUpRequest(gateway, named) }),
    output: () => ({ result: wait === undefined ? 'job' : 'files', resume }),
    operation: (call) =>
      wait === undefined
        ? lookUpVideo(call, command, named, { reportsState: options.exitStatus === true, resume })
        : waitForVideo(call, command, named, wait),
  })
}

/**
 * The videos go to this command's `-o`, otherwise to that of the command that started the job.
 * @throws UsageError, FileError for a location that cannot be written to. An existing file is not a problem: the video
 *   gets the next free name
 */
export async function planWait(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  { id, stored }: NamedJob,
  resume: WaitPlan['resume'],
): Promise<WaitPlan> {
  refuseCombinations(context, options, true)
  const record = stored?.record
  const before = options.output === undefined ? record?.output : undefined
  const location = {
    // Standard output is not that of the earlier command.
    output: options.output ?? (before?.output === '-' ? null : (before?.output ?? null)),
    folder: before?.folder ?? settings.outputDir.value ?? null,
    force: true,
  }
  const job = {
    model: record?.model ?? '',
    prompt: record?.prompt ?? id,
    count: videoCount(record?.request),
    now: record === undefined ? context.clock.now() : record.created_at * 1000,
  }
  const output = planVideos(context, location, job, before?.cwd)
  throwProblems(await output.check())
  const force = options.force === true || before?.force === true
  return { ...waitPlan(context, options, settings, resume), output, force }
}

/** Tells the user that no request was made. */
function alreadySavedNote({ length }: readonly SavedVideo[]): string {
  const saved = length === 1 ? 'The video was' : `The ${length} videos were`
  const them = length === 1 ? 'it' : 'them'
  return `${saved} saved earlier, and the gateway was not contacted; --force fetches ${them} again.\n`
}
