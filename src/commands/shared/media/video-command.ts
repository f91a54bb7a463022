import { Option, type Command } from 'commander'
import { stateFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import { ModelgateError, UsageError } from '../../../errors.ts'
import { videoKinds } from '../../../files/calls/job-record.ts'
import { modelSegment } from '../../../gateway/url.ts'
import { openJobs } from '../../../operations/jobs.ts'
import { startVideo, type WaitPlan } from '../../../operations/video-jobs.ts'
import {
  planVideos,
  videoCreation,
  videoGatewayRequest,
  videoRequest,
  type VideoRequest,
} from '../../../operations/video-request.ts'
import { createGate } from '../../../output/gate.ts'
import { learnName, resumeCommand, waitLimits, type JobNames } from '../jobs/resume-command.ts'
import {
  checkRequest,
  nameModel,
  startRequest,
  type CommandCall,
  type Draft,
} from '../request/build-request.ts'
import {
  acceptMismatchOption,
  addShared,
  allShared,
  type CommonOptions,
  strictMeanings,
} from '../options/common-options.ts'
import { addJobOptions, findNamedJob, optionsForJob, pollOption, recordPlan } from '../jobs/named-job.ts'
import { readSettings } from '../gateway/open-gateway.ts'
import { runOperation } from '../call/run-operation.ts'
import { canAsk } from '../input/questions.ts'

/** The options of commands for a single job, besides the fields of their requests. */
export interface VideoOptions extends CommonOptions {
  /** Undefined: depends on whether there is a terminal. */
  wait?: boolean
  pollInterval?: string
  allowPrivateUrls?: true
  acceptMismatch?: true
  /** False after `--no-check`. */
  check?: boolean
  last?: true
  exitStatus?: true
}

/** Adds the options for waiting for a job. */
export function waitOptions(): Option[] {
  return [
    pollOption(),
    acceptMismatchOption(),
    new Option('--allow-private-urls', 'allow downloads of results from private addresses'),
  ]
}

/** Adds the options of the commands that start a job. */
export function addStartOptions(command: Command): void {
  addShared(command, allShared, {
    ...strictMeanings.videos,
    // The specification has no token counts for videos.
    usage: 'print the cost on standard error, if prices are known',
  })
  addJobOptions(command, [
    new Option('--wait', 'wait for the video and save it (the default with -o, and on a terminal)'),
    new Option('--no-wait', 'only start the job and print its id'),
    ...waitOptions(),
  ])
}

/**
 * @param waits whether the video is waited for and saved
 * @throws UsageError that names both flags of each contradiction
 */
export function refuseCombinations(
  { stdout }: Pick<Context, 'stdout'>,
  { output, json, jsonl, raw }: VideoOptions,
  waits: boolean,
): void {
  if (output !== '-') return
  const refuse = (problems: string | readonly string[]) => {
    throw new UsageError(problems, { code: 'invalid_request' })
  }
  if (!waits) {
    refuse('-o - writes the video itself; with --no-wait only an id is printed.')
  }
  const flags = { '--json': json, '--jsonl': jsonl, '--raw': raw }
  const documents = Object.entries(flags).filter(([, isGiven]) => isGiven)
  if (documents.length > 0) {
    refuse(documents.map(([flag]) => `-o - and ${flag} would both write to standard output.`))
  }
  if (stdout.isTerminal) refuse('-o - would write the bytes of a video to the terminal.')
}

/** Whether a command that starts a job waits for it: as `--wait` says, by default with `-o`, and on a terminal. */
function isWaitedFor(context: Context, { wait, output }: VideoOptions): boolean {
  return wait ?? (output !== undefined || (canAsk(context, false) && context.stdout.isTerminal))
}

/** A request for a job, and where its videos go. */
export type VideoStart = Awaited<ReturnType<typeof finishVideoRequest>>

/** Starts a request for a job, and checks the flags that its commands have. */
export async function startVideoRequest(
  call: CommandCall<VideoOptions>,
  shape: Pick<Draft, 'endpoint' | 'flags' | 'modelKind'>,
): Promise<Draft<VideoOptions>> {
  const { context, options } = call
  const draft = await startRequest(call, shape)
  await draft.problems.check(() => refuseCombinations(context, options, isWaitedFor(context, options)))
  return draft
}

/**
 * Ends a request for a job with its model, checks it against every rule of its endpoint, and plans the files.
 * @throws UsageError (or FileError) with everything that is wrong, each problem naming the flag to change
 */
export async function finishVideoRequest(
  draft: Draft<VideoOptions>,
  kind: VideoRequest['kind'],
  prompt: string | undefined,
) {
  const { call, body, settings, problems } = draft
  const { context, options } = call
  const model = await nameModel(draft)
  const warnings = await checkRequest(draft, model)
  if (kind === 'operation') await problems.check(() => modelSegment(model?.id ?? 'model'))
  const request = videoRequest({ kind, model: model?.id ?? '', body, prompt, warnings })
  const location = {
    output: options.output ?? null,
    folder: settings?.outputDir.value ?? null,
    force: options.force === true,
  }
  const output = planVideos(context, location, { ...request, now: context.clock.now() })
  for (const problem of await output.check()) problems.add(problem)
  problems.throwIfAny()
  return { settings: settings!, request, output }
}

/**
 * Starts a job and, if requested, waits for it.
 * @param source the video to remix, as it was named; undefined with `--last`, and for a job that needs none
 * @param media the files that are in the body
 */
export async function startJob(
  context: Context,
  options: VideoOptions,
  { settings, request, output }: VideoStart,
  source?: string,
  media: readonly string[] = [],
): Promise<void> {
  const gate = createGate(context)
  const record = recordPlan(context, options, settings, gate)
  const remixed =
    request.kind === 'video'
      ? (await findNamedJob(context, options, source, videoKinds, gate)).named
      : undefined
  // A remix may cost money, so only --sandbox itself selects the sandbox, never the record of the source.
  if (remixed?.stored?.record.is_sandbox && !options.sandbox) {
    throw new UsageError(`The video ${remixed.id} is in the sandbox: add --sandbox.`, {
      code: 'other_gateway',
    })
  }
  const waits = isWaitedFor(context, options)
  const names: JobNames = new Map()
  const resume = resumeCommand(context, options, names, true)
  await runOperation(context, options, settings, {
    gate,
    warnings: request.warnings,
    logged: {
      command: request.command,
      model: request.model,
      body: request.body,
      media,
      creation: videoCreation(request),
    },
    describeRequest: (gateway) => ({
      request: videoGatewayRequest(gateway, request, remixed),
      content: { body: request.body },
    }),
    output: () => ({ result: waits ? 'files' : 'job-id', resume }),
    operation: (call) =>
      startVideo(call, request, {
        ...waitPlan(context, options, settings, resume),
        ...record,
        onRecorded: (id) => learnName(context, record.store, names, id),
        output,
        force: record.location.force,
        waits,
        source: remixed,
        checksSource: options.check !== false,
      }),
  })
}

/**
 * The options for a remix: its source knows its gateway. The record never selects the sandbox, for whoever asks for a
 * video should not get a stand-in unasked. What is wrong with the source or the settings is told later.
 */
export async function remixOptions(
  context: Context,
  given: VideoOptions,
  source: string | undefined,
): Promise<VideoOptions> {
  try {
    const store = openJobs(context, stateFolder(context), createGate(context))
    const stored = source === undefined ? await store.last(context, videoKinds) : await store.find(source)
    if (stored === undefined || stored.record.is_sandbox) return given
    return await optionsForJob(context, given, await readSettings(context, given), stored.record)
  } catch (error) {
    if (error instanceof ModelgateError && error.code !== 'other_gateway') return given
    throw error
  }
}

/** How to wait for a job, according to the flags; the time of `--timeout` starts now. */
export function waitPlan(
  context: Context,
  options: VideoOptions,
  settings: Settings,
  resume: WaitPlan['resume'],
): Omit<WaitPlan, 'output' | 'force'> {
  return {
    refetch: options.output !== undefined || options.force === true,
    isCopy: options.output !== undefined,
    allowPrivateUrls: options.allowPrivateUrls === true,
    strict: options.strict === true,
    acceptMismatch: options.acceptMismatch === true,
    ...waitLimits(context, settings),
    resume,
  }
}
