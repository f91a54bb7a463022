import type { Context } from '../../../context.ts'
import { UsageError } from '../../../errors.ts'
import type { JobKind, SavedVideo } from '../../../events/video.ts'
import { lookUpRequest } from '../../../gateway/videos/look-up-job.ts'
import { findSavedVideos, reportSavedVideos } from '../../../operations/save-videos.ts'
import { planVideos, videoCount } from '../../../operations/video-request.ts'
import {
  lookUpVideo,
  waitForVideo,
  waitForVideos,
  type AwaitedJob,
  type WaitPlan,
} from '../../../operations/video-jobs.ts'
import type { Call } from '../../../operations/operation.ts'
import type { Gate } from '../../../output/gate.ts'
import { openGateway, readSettings } from '../gateway/open-gateway.ts'
import type { FoundJob } from '../jobs/named-job.ts'
import { isDryRun } from '../options/common-options.ts'
import { runOperation, showOperation } from '../call/run-operation.ts'
import { resumeCommand, type JobNames } from '../jobs/resume-command.ts'
import { createProblemList, throwProblems } from '../../../problems.ts'
import { refuseCombinations, waitPlan, type VideoOptions } from './video-command.ts'

/** The shared options of look-ups and waits. */
export const optionsOfLookUps = 'dryRun curl output json force jsonl raw githubOutput strict gateway messages'

export type FoundVideo = FoundJob<VideoOptions, JobKind>

/** Looks up a job, or waits for it and saves its videos where the command that started it intended. */
export async function lookUpJob(
  context: Context,
  found: FoundVideo,
  command: 'video status' | 'wait',
): Promise<void> {
  const { named, given, options, settings, gate, names } = found
  const waits = command === 'wait' || options.wait === true
  if (!waits && options.output !== undefined) {
    throw new UsageError('-o needs --wait; without it only the state is printed.', {
      code: 'invalid_request',
    })
  }
  const resume = resumeCommand(context, given, names)
  const wait = waits ? await planWait(context, found, resume) : undefined
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

/** One of several jobs, and how to reach its gateway. */
type PlannedJob = FoundVideo & AwaitedJob

/**
 * Waits for several jobs at once, and saves their videos.
 * @throws AlreadyReported for a failure; UsageError, FileError before anything is sent
 */
export async function waitForSeveral(
  context: Context,
  given: VideoOptions,
  found: readonly FoundVideo[],
  gate: Gate,
): Promise<void> {
  if (isDryRun(given)) {
    throw new UsageError('--dry-run and --curl show one request: give one id.', { code: 'invalid_request' })
  }
  refuseCombinations(context, given, true)
  const names: JobNames = new Map(found.flatMap((job) => [...job.names]))
  const resume = resumeCommand(context, given, names)
  const problems = createProblemList()
  const jobs: PlannedJob[] = []
  for (const job of found) {
    await problems.check(async () => {
      const plan = await planWait(context, job, resume)
      const saved = plan.refetch ? undefined : await findSavedVideos(context, job.named, plan.output, gate)
      jobs.push({ ...job, plan, saved })
    })
    // What is wrong with -o is the same for all of them.
    if (given.output !== undefined) problems.throwIfAny()
  }
  problems.throwIfAny()
  const parts = { result: 'files', jobs: jobs.map(({ named }) => named.id), resume } as const
  const unsaved = jobs.filter(({ saved }) => saved === undefined)
  const [first] = unsaved
  if (first === undefined) {
    const settings = await readSettings(context, given)
    const quiet = settings.quiet.value
    const noCall = (): never => {
      throw new Error('Saved videos need no gateway.')
    }
    await showOperation(context, given, { ...parts, quiet, gate }, (listener) =>
      waitForVideos({ listener, signal: context.signal }, jobs, noCall, resume),
    ).finally(() => {
      if (!quiet) context.stderr.write(jobs.length === 0 ? 'There is nothing left to wait for.\n' : savedNote)
    })
    return
  }
  await runOperation(context, first.options, first.settings, {
    gate,
    logged: { command: 'wait', model: null, jobs: jobs.map(({ named }) => named.id) },
    output: () => parts,
    async operation(call) {
      const calls = await openCalls(context, unsaved, call, gate)
      try {
        const { listener } = call
        return await waitForVideos({ listener, signal: context.signal }, jobs, calls.of, resume)
      } finally {
        await calls.close()
      }
    },
  })
}

const savedNote = 'The videos were saved earlier, and no gateway was contacted; --force fetches them again.\n'

/** Opens each gateway of the jobs once. @param first the call with the gateway of the first job */
async function openCalls(context: Context, jobs: readonly PlannedJob[], first: Call, gate: Gate) {
  const opened: { close(): Promise<void> }[] = []
  const calls = new Map<string, Call>()
  const keyOf = ({ options: { sandbox }, settings: { baseUrl, profile } }: PlannedJob) =>
    JSON.stringify([sandbox === true, baseUrl.value?.href, profile.value])
  const close = async () => {
    for (const gateway of opened) await gateway.close()
  }
  try {
    for (const job of jobs) {
      const key = keyOf(job)
      if (calls.size === 0) calls.set(key, first)
      if (calls.has(key)) continue
      const { options, settings } = job
      const next = await openGateway(context, options, settings, false, () => first.listener, gate)
      opened.push(next)
      calls.set(key, { ...first, gateway: next.gateway, hasSent: next.hasSent })
    }
  } catch (error) {
    await close()
    throw error
  }
  return { of: (job: PlannedJob) => calls.get(keyOf(job))!, close }
}

/**
 * The videos go to this command's `-o`, otherwise to that of the command that started the job.
 * @throws UsageError, FileError for a location that cannot be written to. An existing file is not a problem: the video
 *   gets the next free name
 */
async function planWait(
  context: Context,
  { named: { id, stored }, options, settings }: FoundVideo,
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
    prompt: stored?.prompt() || id,
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
