import { Option, type Command } from 'commander'
import { stateFolder } from '../config/paths.ts'
import type { Settings } from '../config/settings.ts'
import type { Context } from '../context.ts'
import { isFinal } from '../contract/video-state.ts'
import { UsageError } from '../errors.ts'
import type { JobStore } from '../files/jobs/job-store.ts'
import type { Call } from '../operations/operation.ts'
import { openJobs } from '../operations/jobs.ts'
import { findSavedVideos } from '../operations/save-videos.ts'
import type { WaitPlan } from '../operations/wait-for-video.ts'
import { waitForVideos, type AwaitedJob } from '../operations/wait-for-videos.ts'
import { createGate, type Gate } from '../output/gate.ts'
import { addShared, isDryRun, strictMeanings } from './shared/options/common-options.ts'
import { addExamples, type Example } from './shared/help/help-layout.ts'
import { addJobOptions, lastOption } from './shared/jobs/named-job.ts'
import { createProblemList } from '../problems.ts'
import { learnName, resumeCommand, type JobNames } from './shared/jobs/resume-command.ts'
import { openGateway, readSettings } from './shared/gateway/open-gateway.ts'
import { runOperation, showOperation } from './shared/call/run-operation.ts'
import {
  findVideo,
  refuseCombinations,
  waitOptions,
  type VideoOptions,
} from './shared/media/video-command.ts'
import { lookUpJob, planWait, optionsOfLookUps } from './shared/media/video-look-up.ts'

interface WaitOptions extends VideoOptions {
  all?: true
}

const videoWaitExamples: readonly Example[] = [
  ['modelgate video wait video_123'],
  ['modelgate video wait --last -o clip.mp4'],
  ['modelgate video wait --all -o clips/'],
  ['modelgate video wait video_123 video_456 --timeout 600'],
]

/** `modelgate video wait`: for one job an alias for `video status --wait`; several are waited for at once. */
export function registerVideoWait(command: Command, context: Context): void {
  addExamples(command, videoWaitExamples)
  addShared(command, optionsOfLookUps, strictMeanings.videos)
  command
    .argument('[id...]', 'video ids or operation names, or the beginnings of them')
    .action(async (ids: string[], _: unknown, self: Command) => {
      const options = self.optsWithGlobals<WaitOptions>()
      if (options.all || ids.length > 1) return waitForJobs(context, options, ids)
      return lookUpJob(context, options, ids[0], 'video wait')
    })
  addJobOptions(command, [
    lastOption(),
    new Option('--all', 'every unfinished job on record'),
    ...waitOptions(),
  ])
}

/** A job, and how to reach its gateway. */
interface FoundJob extends AwaitedJob {
  readonly options: VideoOptions
  readonly settings: Settings
}

/** @throws AlreadyReported for a failure; UsageError, FileError before anything is sent */
export async function waitForJobs(
  context: Context,
  given: WaitOptions,
  ids: readonly string[],
): Promise<void> {
  refuseForSeveral(context, given, ids)
  const gate = createGate(context)
  const names: JobNames = new Map()
  const resume = resumeCommand(context, given, { names })
  const jobs = await findJobs(context, given, gate, { ids: given.all ? undefined : ids, names, resume })
  const parts = { result: 'files', jobs: jobs.map(({ named }) => named.id), resume } as const
  const unsaved = jobs.filter(({ saved }) => saved === undefined)
  const [first] = unsaved
  if (first === undefined) {
    const settings = await readSettings(context, given)
    const quiet = settings.quiet.value
    const noCall = (): never => {
      throw new Error('Saved videos need no gateway.')
    }
    const note = jobs.length === 0 ? 'There is nothing left to wait for.\n' : savedNote
    await showOperation(context, given, { ...parts, quiet, gate }, (listener) =>
      waitForVideos({ listener, signal: context.signal }, jobs, noCall, resume),
    ).finally(() => {
      if (!quiet) context.stderr.write(note)
    })
    return
  }
  await runOperation(context, first.options, first.settings, {
    gate,
    logged: { command: 'video wait', model: null, jobs: jobs.map(({ named }) => named.id) },
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

/** @throws UsageError for what makes sense for one job only */
function refuseForSeveral({ stdout }: Context, options: WaitOptions, ids: readonly string[]): void {
  const { all, last, output } = options
  const problems = [
    ...(all && (last || ids.length > 0) ? ['Give ids, --last or --all, not several of them.'] : []),
    ...(!all && last ? ['Give either ids or --last, not both.'] : []),
    ...(isDryRun(options) ? ['--dry-run and --curl show one request: give one id.'] : []),
    ...(output === '-' ? ['-o - takes one video, and there are several jobs.'] : []),
  ]
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
  refuseCombinations({ stdout }, options, true)
}

interface Wanted {
  readonly ids: readonly string[] | undefined
  readonly names: JobNames
  readonly resume: WaitPlan['resume']
}

/**
 * Finds the jobs and where their videos go; each of them once.
 * @param ids undefined for every unfinished job on record
 * @param names are added to
 * @throws UsageError, FileError with everything that is wrong
 */
async function findJobs(
  context: Context,
  given: WaitOptions,
  gate: Gate,
  { ids, names, resume }: Wanted,
): Promise<FoundJob[]> {
  const store = openJobs(context, stateFolder(context), gate)
  const running = ids ?? (await runningIds(store))
  const { output } = given
  const problems = createProblemList()
  const found = new Map<string, FoundJob>()
  for (const id of running) {
    await problems.check(async () => {
      const { named, options, settings } = await findVideo(context, store, given, id)
      if (named.stored !== undefined) await learnName(context, store, names, named.id)
      const plan = await planWait(context, options, settings, named, resume)
      if (output !== undefined && !plan.output.isAutomatic && !output.includes('{id}'))
        throw sharedName(output)
      const saved = plan.refetch ? undefined : await findSavedVideos(context, named, plan.output, gate)
      found.set(named.id, { named, options, settings, plan, saved })
    })
    // What is wrong with -o is the same for all of them.
    if (output !== undefined) problems.throwIfAny()
  }
  problems.throwIfAny()
  return [...found.values()]
}

/** The error for a name that several results would have. */
export function sharedName(output: string): UsageError {
  return new UsageError(`-o ${output} names the videos of one job, and there are several.`, {
    code: 'invalid_request',
    hint: 'Name a folder (-o DIR/), or use {id} in the name.',
  })
}

async function runningIds(store: JobStore): Promise<string[]> {
  const { jobs } = await store.list()
  return jobs.flatMap(({ record: { id, state } }) => (id === null || isFinal(state) ? [] : [id])).toReversed()
}

/** Opens each gateway of the jobs once. @param first the call with the gateway of the first job */
async function openCalls(context: Context, jobs: readonly FoundJob[], first: Call, gate: Gate) {
  const opened: { close(): Promise<void> }[] = []
  const calls = new Map<string, Call>()
  const keyOf = ({ options: { sandbox }, settings: { baseUrl, profile } }: FoundJob) =>
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
  return { of: (job: FoundJob) => calls.get(keyOf(job))!, close }
}
