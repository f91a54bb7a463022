import { Option, type Command } from 'commander'
import { stateFolder } from '../../config/paths.ts'
import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { OutputPlan } from '../../files/output-plan.ts'
import { modelSegment } from '../../gateway/url.ts'
import { openJobs } from '../../operations/jobs.ts'
import { startVideo } from '../../operations/start-video.ts'
import {
  planVideos,
  videoGatewayRequest,
  videoRequest,
  type VideoLocation,
  type VideoRequest,
} from '../../operations/video-request.ts'
import { createGate } from '../../output/gate.ts'
import { buildRequest, type CommandCall, type RequestParts } from './build-request.ts'
import { explainCommon, refuseSome, strictMeanings } from './common-options.ts'
import { runOperation } from './run-operation.ts'
import { canAsk } from './text-prompt.ts'
import {
  addJobOptions,
  findNamedJob,
  refuseCombinations,
  resumeFlags,
  waitOptions,
  waitPlan,
  type VideoOptions,
} from './video-command.ts'

/** Adds the options of the commands that start a job. */
export function addStartOptions(command: Command): void {
  explainCommon(command, strictMeanings.videos)
  // The specification has no usage for videos.
  refuseSome(command, new Set(['usage']))
  addJobOptions(command, [
    new Option('--wait', 'wait for the video and save it (the default on a terminal)'),
    new Option('--no-wait', 'only start the job and print its id'),
    ...waitOptions(),
  ])
}

/** A request for a job, and where its videos go. */
export interface VideoStart {
  readonly settings: Settings
  readonly request: VideoRequest
  readonly output: OutputPlan
  readonly location: VideoLocation
}

/**
 * Builds the request for a job, holds it against every rule of its endpoint, and plans the files.
 * @throws UsageError (or FileError) with everything that is wrong, each problem naming the flag to change
 */
export async function buildVideoRequest(
  call: CommandCall<VideoOptions>,
  kind: VideoRequest['kind'],
  parts: RequestParts,
): Promise<VideoStart> {
  const { context, options } = call
  const { problems, settings, body, model, prompt } = await buildRequest(call, {
    ...parts,
    async readInputs(draft) {
      await draft.problems.step(() => refuseCombinations(context, options, isWaitedFor(context, options)))
      await parts.readInputs(draft)
    },
  })
  if (parts.model.place === 'path') await problems.step(() => modelSegment(model ?? 'model'))
  const request = videoRequest({ kind, model: model ?? '', body, prompt })
  const location = {
    output: options.output ?? null,
    folder: settings?.outputDir.value ?? null,
    force: options.force === true,
  }
  const output = planVideos(context, location, { ...request, now: context.clock.now() })
  for (const problem of await output.check()) await problems.step(() => Promise.reject(problem))
  problems.throwAny()
  return { settings: settings!, request, output, location }
}

/**
 * Starts a job, and waits for it unless that is left to another command.
 * @param source the video to remix, as it was named; undefined with `--last`, and for a job that needs none
 */
export async function startJob(
  context: Context,
  options: VideoOptions,
  { settings, request, output, location }: VideoStart,
  source?: string,
): Promise<void> {
  const gate = createGate(context)
  const store = openJobs(context, stateFolder(context), gate)
  const remixed = request.kind === 'video' ? await findNamedJob(store, options, settings, source) : undefined
  // A remix costs money where it is made: nothing but the call itself says that this is the sandbox.
  if (remixed?.stored?.record.is_sandbox && !options.sandbox) {
    throw new UsageError(`The video ${remixed.id} is in the sandbox: add --sandbox.`, {
      code: 'other_gateway',
    })
  }
  const waits = isWaitedFor(context, options)
  await runOperation(context, options, settings, {
    streamed: false,
    gate,
    shown: (gateway) => ({
      request: videoGatewayRequest(gateway, request, remixed),
      content: { body: request.body },
    }),
    output: () => ({ result: waits ? 'files' : 'job-id', resumeFlags: resumeFlags(options) }),
    operation: (call) =>
      startVideo(call, request, {
        ...waitPlan(context, options, settings),
        output,
        force: location.force,
        store,
        isSandbox: options.sandbox === true,
        location,
        waits,
        source: remixed,
        checksSource: options.check !== false,
      }),
  })
}

/** Whether a command that starts a job waits for it: as `--wait` says, else only for a person at a terminal. */
function isWaitedFor(context: Context, { wait }: VideoOptions): boolean {
  return wait ?? (canAsk(context, false) && context.stdout.isTerminal)
}
