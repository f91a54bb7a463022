import { type Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { commandInputs } from '../contract/command-inputs.ts'
import { flagsOf } from '../contract/field.ts'
import { videoOperationEndpoint, videoReferenceTypes, videoRemixEndpoint } from '../contract/videos.ts'
import {
  addInstance,
  readPicture,
  readVideo,
  storedMedia,
  type InstanceMedia,
  videoGatewayRequest,
  videoRequest,
  type VideoRequest,
} from '../operations/video-request.ts'
import { planOutputs } from '../files/output-plan.ts'
import { mediaTypeOfName } from '../files/media-type.ts'
import { objectsOf, type JsonObject } from '../json.ts'
import { isUrl } from '../operations/image-sources.ts'
import { addContractFlags, inputOption } from './shared/request/contract-flags.ts'
import { fetchSource } from './shared/request/fetch-source.ts'
import { allInputs } from '../problems.ts'
import { readTextPrompt, readPromptField } from './shared/request/text-prompt.ts'
import { isStandardInputClaimed, readStandardInputBytes } from './shared/input/standard-input.ts'
import { UsageError, ModelgateError } from '../errors.ts'
import {
  addJobOptions,
  lastOption,
  findNamedJob,
  recordPlan,
  type FoundJob,
} from './shared/jobs/named-job.ts'
import { videoKinds } from '../files/calls/job-record.ts'
import { modelSegment } from '../gateway/url.ts'
import { pollSeconds } from '../limits.ts'
import type { JobKind } from '../events/video.ts'
import { startVideo, type WaitPlan } from '../operations/video-jobs.ts'
import { resumeCommand, waitLimits, type JobNames } from './shared/jobs/resume-command.ts'
import {
  checkRequest,
  finishedCall,
  isSet,
  nameModel,
  startRequest,
  type Draft,
} from './shared/request/build-request.ts'
import {
  acceptMismatchOption,
  addShared,
  type CommonOptions,
  addExamples,
  showFirst,
} from './shared/options/common-options.ts'
import type { CommandCall } from './shared/gateway/open-gateway.ts'
import { runOperation } from './shared/call/run-operation.ts'
import { canAsk } from './shared/input/questions.ts'

interface GenerateOptions extends VideoOptions {
  image?: string
  lastFrame?: string
  reference?: string[]
  video?: string
  instances?: string
}

/** Specification, endpoint 7. */
export function registerVideoGenerate(command: Command, context: Context, start = startJob): void {
  addExamples(command, [
    ['modelgate video generate -m MODEL --wait -o clip.mp4 "A paper boat"'],
    ['modelgate video generate -m MODEL --aspect-ratio 9:16 --duration-seconds 8 "Rain"'],
    ['modelgate video generate -m MODEL --image first.png --last-frame last.png "It opens"'],
    ['modelgate video generate -m MODEL --image https://example.com/first.png'],
    ['modelgate video generate -m MODEL --no-wait --json "A storm" > job.json'],
    ['modelgate video generate --sandbox --wait -o clip.mp4 "A paper boat"'],
  ])
  const flags = flagsOf(videoOperationEndpoint.fields)
  const shape = { endpoint: videoOperationEndpoint, flags, modelKind: 'video' } as const
  for (const input of Object.values(commandInputs['video generate'])) command.addOption(inputOption(input))
  command
    .argument('[prompt...]', 'what to show; "-" or no prompt reads standard input, @file a file')
    .action(async (words: string[], options: GenerateOptions) => {
      const draft = await startRequest({ context, options, words }, shape)
      const { body, settings, problems } = draft
      await problems.check(() => refuseCombinations(context, options, isWaitedFor(context, options)))
      const media = (await problems.check(() => readMedia(draft))) ?? {}
      const hasContent =
        mediaIn(options).length > 0 ||
        options.instances !== undefined ||
        objectsOf(body['instances']).length > 0 ||
        ['prompt', 'instances'].some((name) => isSet(draft, name))
      const prompt = await readTextPrompt(draft, hasContent)
      if (prompt === undefined && settings?.quiet.value !== true) noteUnreadInput(context)
      body['parameters'] ??= {}
      await problems.check(() => addInstance(body, prompt, media))
      const request = await finishVideoRequest(draft, 'operation', prompt)
      await start(request)
    })
  addContractFlags(command, flags)
  showFirst(
    command,
    'image last-frame reference video aspect-ratio duration-seconds resolution sample-count negative-prompt seed wait no-wait accept-mismatch',
  )
  addStartOptions(command)
}

/** In the order that they have in the body. */
function mediaIn({ image, lastFrame, reference = [], video }: GenerateOptions): string[] {
  const references = reference.map((text) => splitReference(text).name)
  return [image, lastFrame, ...references, video].filter((name) => name !== undefined)
}

/** A request with pictures needs no prompt, so one that was piped in would go unnoticed. */
function noteUnreadInput(context: Context): void {
  const { kind } = context.stdin
  if (kind === 'terminal' || kind === 'empty' || isStandardInputClaimed(context)) return
  context.stderr.write('modelgate: No prompt was given; "-" as the prompt reads standard input.\n')
}

async function readMedia(draft: Draft<GenerateOptions>): Promise<InstanceMedia> {
  const { context, options } = draft
  const { image, lastFrame, reference, video } = options
  const read = async (flag: string, name: string): Promise<JsonObject> => {
    const stored = storedMedia(name)
    if (stored !== undefined) return stored
    if (isUrl(name)) {
      const source = await fetchSource(draft, { field: 'image', name: flag }, name)
      if (source.isAddress) {
        const mimeType = mediaTypeOfName(name) ?? 'application/octet-stream'
        return { bytesBase64Encoded: source.label, mimeType }
      }
      const bytes = Buffer.concat(await Array.fromAsync(source.open()))
      return readPicture(context, `${flag} ${JSON.stringify(source.label)}`, bytes)
    }
    if (name !== '-') return readPicture(context, flag, name)
    const bytes = await readStandardInputBytes(context, `${flag} -`)
    return readPicture(context, `${flag} "-"`, bytes)
  }
  const references = reference?.map(async (text) => {
    const { name, type } = splitReference(text)
    return { image: await read('--reference', name), referenceType: type }
  })
  const media = {
    image: image === undefined ? undefined : read('--image', image),
    lastFrame: lastFrame === undefined ? undefined : read('--last-frame', lastFrame),
    referenceImages: references && allInputs<unknown>(references),
    video: video === undefined ? undefined : readVideo(context, '--video', video),
  }
  const parts = Object.entries(media).flatMap(([name, part]) => part?.then((value) => [name, value]) ?? [])
  return Object.fromEntries(await allInputs(parts)) as InstanceMedia
}

/** `FILE` or `FILE=style`. A file's name may hold an equals sign itself. */
function splitReference(text: string): { name: string; type: string } {
  const type = videoReferenceTypes.find((word) => text.endsWith(`=${word}`))
  return type === undefined
    ? { name: text, type: videoReferenceTypes[0] }
    : { name: text.slice(0, -type.length - 1), type }
}

/** Model and prompt, its only fields, have the common flag -m and the arguments. */
const remixShape = {
  endpoint: videoRemixEndpoint,
  flags: [],
  modelKind: 'video',
  sandboxModel: 'video-model-remix',
} as const

/** Specification, endpoint 3. */
export function registerVideoRemix(command: Command, context: Context, start = startJob): void {
  addExamples(command, [
    ['modelgate video remix -m MODEL video_123 "Make it night"'],
    ['modelgate video remix -m MODEL --last "Add falling snow"'],
    ['modelgate video remix -m MODEL --no-check video_123 "In the style of a woodcut"'],
    ['modelgate video remix --sandbox --wait video_sandbox_source "Turn it upside down"'],
  ])
  const { source } = commandInputs['video remix']
  command
    .argument('[id]', `${source.about}${source.forms}`)
    .argument('[prompt...]', 'what to change; "-" or no prompt reads standard input, @file a file')
    .action(async (id: string | undefined, rest: string[], given: VideoOptions) => {
      // With `--last` all words are the prompt.
      const [video, words] = given.last ? [undefined, [id ?? [], rest].flat()] : [id, rest]
      if (!given.last && !video) {
        throw new UsageError('No video was given.', {
          hint: 'Give the id of a finished video before the prompt, or --last for the one started last.',
        })
      }
      const source = findNamedJob(context, given, video, videoKinds)
      const options = await remixOptions(source, given)
      const draft = await startRequest({ context, options, words }, remixShape)
      await draft.problems.check(() => refuseCombinations(context, options, isWaitedFor(context, options)))
      const prompt = await readPromptField(draft)
      await start(await finishVideoRequest(draft, 'video', prompt), source)
    })
  addJobOptions(command, [
    lastOption(),
    new Option('--no-check', 'send it without checking that the source is finished'),
  ])
  addStartOptions(command)
}

export interface VideoOptions extends CommonOptions {
  /** Undefined: depends on whether there is a terminal. */
  wait?: boolean
  pollInterval?: string
  allowPrivateUrls?: true
  acceptMismatch?: true
  check?: boolean
  last?: true
  exitStatus?: true
}

/** Of `--strict`. */
export const strictMeaning = 'treat a video that could not be verified as a failure'

export function waitOptions(): Option[] {
  return [
    new Option('--poll-interval <seconds>', `seconds before the first look-up (${pollSeconds.first})`),
    acceptMismatchOption(),
    new Option('--allow-private-urls', 'allow downloads of results from private addresses'),
  ]
}

function addStartOptions(command: Command): void {
  addShared(command, 'all', {
    strict: strictMeaning,
    // The specification has no token counts for videos.
    usage: 'print the cost on standard error, if prices are known',
  })
  addJobOptions(command, [
    new Option('--wait', 'wait for the video and save it (the default with -o, and on a terminal)'),
    new Option('--no-wait', 'only start the job and print its id'),
    ...waitOptions(),
  ])
}

export function refuseCombinations(
  { stdout }: Pick<Context, 'stdout'>,
  options: VideoOptions,
  waits: boolean,
): void {
  if (options.output !== '-') return
  const refusal = (message: string) => new UsageError(message, { code: 'invalid_request' })
  if (!waits) throw refusal('-o - writes the video itself; with --no-wait only an id is printed.')
  const document = (['json', 'jsonl', 'raw'] as const).find((name) => options[name])
  if (document !== undefined) throw refusal(`-o - and --${document} would both write to standard output.`)
  if (stdout.isTerminal) throw refusal('-o - would write the bytes of a video to the terminal.')
}

/** Whether a command that starts a job waits for it: as `--wait` says, by default with `-o`, and on a terminal. */
function isWaitedFor(context: Context, { wait, output }: VideoOptions): boolean {
  return wait ?? (output !== undefined || (canAsk(context, false) && context.stdout.isTerminal))
}

export type VideoStart = Awaited<ReturnType<typeof finishVideoRequest>>

/** @throws UsageError, FileError with everything that is wrong, each problem naming the flag to change */
async function finishVideoRequest(
  draft: Draft<VideoOptions>,
  kind: VideoRequest['kind'],
  prompt: string | undefined,
) {
  const { context, options, body, settings, problems } = draft
  const model = await nameModel(draft)
  const warnings = await checkRequest(draft, model)
  if (kind === 'operation') await problems.check(() => modelSegment(model?.id ?? 'model'))
  const request = videoRequest({ kind, model: model?.id ?? '', body }, prompt, warnings)
  const place = { output: options.output, folder: settings?.outputDir.value, force: options.force === true }
  const output = planOutputs(context, { ...request, ...place, kind: 'video', now: context.clock.now() })
  for (const problem of await output.check()) problems.add(problem)
  return { call: finishedCall(draft), request, output }
}

/** @param source the video to remix */
export async function startJob(
  { call, request, output }: VideoStart,
  source?: Promise<FoundJob<VideoOptions, JobKind>>,
): Promise<void> {
  const { context, options } = call
  const remixed = (await source)?.named
  // A remix may cost money, so only --sandbox itself selects the sandbox, never the record of the source.
  if (remixed?.stored?.record.is_sandbox && !options.sandbox) {
    throw new UsageError(`The video ${remixed.id} is in the sandbox: add --sandbox.`, {
      code: 'other_gateway',
    })
  }
  const waits = isWaitedFor(context, options)
  const names: JobNames = new Map()
  const resume = resumeCommand(context, options, names, true)
  await runOperation(call, {
    warnings: request.warnings,
    logged: { ...request, media: mediaIn(options) },
    describeRequest: (gateway) => videoGatewayRequest(gateway, request, remixed),
    output: () => ({ result: waits ? 'files' : 'job-id', resume }),
    operation: (opened) =>
      startVideo(opened, request, {
        ...waitPlan(call, resume),
        ...recordPlan(call, names),
        output,
        force: options.force === true,
        waits,
        source: remixed,
        checksSource: options.check !== false,
      }),
  })
}

/**
 * A source knows its gateway, but never selects the sandbox: whoever asks for a video should not get a stand-in unasked. What
 * is wrong with the source or the settings is reported later.
 */
async function remixOptions(source: Promise<FoundJob<VideoOptions>>, given: VideoOptions) {
  try {
    const { named, options } = await source
    return named.stored?.record.is_sandbox ? given : options
  } catch (error) {
    if (error instanceof ModelgateError && error.code !== 'other_gateway') return given
    throw error
  }
}

/** How to wait for a job, according to the flags; the time of `--timeout` starts now. */
export function waitPlan(
  { context, options, settings }: Pick<CommandCall<VideoOptions>, 'context' | 'options' | 'settings'>,
  resume: WaitPlan['resume'],
): Omit<WaitPlan, 'output' | 'force'> {
  return {
    ...options,
    refetch: options.output !== undefined || options.force === true,
    isCopy: options.output !== undefined,
    ...waitLimits(context, settings),
    resume,
  }
}
