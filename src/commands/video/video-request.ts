import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { familyOf } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'
import type { JobKind } from '../../events/video.ts'
import { planOutputs, type OutputPlan } from '../../files/output-plan.ts'
import { bareModel, modelSegment } from '../../gateway/url.ts'
import { modelProblems, chooseModel, modelOfBody } from '../shared/choose-model.ts'
import { checkBeforeAsking, checkTextPrompt, readTextPrompt } from '../shared/text-prompt.ts'
import { applyContractFlags, type ContractFlag } from '../shared/contract-flags.ts'
import { configuredBaseUrl, readSettings } from '../shared/open-gateway.ts'
import { createProblemList, type ProblemList } from '../shared/problem-list.ts'
import type { Body } from '../../operations/operation.ts'
import { applySets, isSet, startBody } from '../shared/request-body.ts'
import { validateBody } from '../shared/validate-body.ts'
import { combinationProblems, isWaitedFor, type VideoOptions } from './video-options.ts'
import { mostPlannedNames } from '../../contract/limits.ts'

/** A job to be started, ready to be sent. */
export interface VideoRequest {
  readonly command: 'video generate' | 'video remix'
  readonly kind: JobKind
  readonly model: string
  readonly body: Body
  readonly prompt: string
  /** How many videos are asked for. */
  readonly count: number
  readonly plan: OutputPlan
  /** What the plan was made from, so that a later command can make it again. */
  readonly place: VideoPlace
}

/** Where the videos of a job go. */
type VideoPlace = Parameters<typeof planOutputs>[1]

/** What the two commands that start a job do differently. */
interface VideoCommand {
  readonly command: VideoRequest['command']
  readonly kind: JobKind
  readonly endpoint: Endpoint
  readonly flags: readonly ContractFlag[]
  /** Whether the body, as far as it is known, needs no prompt any more. */
  hasPrompt(body: Body): boolean
  /** Reads the command's own inputs, before the prompt takes what is left of standard input. */
  readInputs?(problems: ProblemList): Promise<void>
  /** Puts prompt, model and the command's own inputs into the body. */
  complete(body: Body, prompt: string | undefined, problems: ProblemList): Promise<void>
  /** Where the model goes: into the body, or into the path. */
  readonly modelInBody: boolean
  /** How many videos the body asks for. */
  countOf(body: Body): number
}

/**
 * Puts a request together and holds it against every rule of its endpoint.
 * @throws UsageError (or FileError) with everything that is wrong, each problem naming the flag to change
 */
export async function buildVideoRequest(
  context: Context,
  options: VideoOptions,
  own: Readonly<Record<string, unknown>>,
  words: readonly string[],
  command: VideoCommand,
): Promise<{ settings: Settings; request: VideoRequest }> {
  const problems = createProblemList()
  const { step } = problems
  const { endpoint, flags } = command
  const settings = await step(() => readSettings(context, options))
  if (settings !== undefined && !options.sandbox) await step(() => configuredBaseUrl(settings))
  const body: Body = (await step(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, flags, own, body, problems)
  await step(() => throwAll(combinationProblems(context, options, isWaitedFor(context, options))))
  await command.readInputs?.(problems)
  const hasPrompt = command.hasPrompt(body) || isSet(options, 'prompt') || isSet(options, 'instances')
  const isAsked = (words.length === 0 && !hasPrompt) || settings?.videoModel.value === undefined
  if (isAsked && !problems.any) await step(() => checkBeforeAsking(context, options, settings))
  const takePrompt = problems.any ? checkTextPrompt : readTextPrompt
  // What is piped in may be the list of a loop, or a picture: beside a prompt it is not read.
  const use = { settings, hasContent: hasPrompt, joins: false }
  const prompt = await step(() => takePrompt(context, words, options, use))
  await command.complete(body, prompt, problems)
  await applySets(options, body, problems)
  const model = await step(() => nameModel(context, options, settings, command, body, problems))
  if (model !== undefined && command.modelInBody) body['model'] = model
  const family = model === undefined ? undefined : familyOf(model, settings?.families.value)
  if (options.validate && model !== undefined && endpoint.families !== undefined) {
    await step(() => throwAll(modelProblems(endpoint, model, family)))
  }
  await step(() => validateBody(endpoint, body, flags, options, problems.any, family))
  if (!command.modelInBody) await step(() => modelSegment(model ?? 'model'))
  const count = command.countOf(body)
  const text = prompt ?? promptOf(body)
  const named = command.modelInBody || model === undefined ? model : bareModel(model)
  const place: VideoPlace = {
    ...(options.output === undefined ? {} : { output: options.output }),
    ...(settings?.outputDir.value === undefined ? {} : { folder: settings.outputDir.value }),
    kind: 'video',
    count,
    force: options.force === true,
    model: named ?? '',
    prompt: text,
    now: context.clock.now(),
  }
  const plan = planOutputs(context, place)
  for (const problem of await plan.check()) await step(() => Promise.reject(problem))
  problems.throwAny()
  return {
    settings: settings!,
    request: {
      command: command.command,
      kind: command.kind,
      model: named!,
      body,
      prompt: text,
      count,
      plan,
      place,
    },
  }
}

/** `-m`, over the body's own, over environment and configuration; else asked for. */
async function nameModel(
  context: Context,
  options: VideoOptions,
  settings: Settings | undefined,
  { kind, modelInBody }: VideoCommand,
  body: Body,
  problems: ProblemList,
): Promise<string | undefined> {
  const named = modelInBody ? modelOfBody(body, options) : undefined
  return (
    named ?? (await chooseModel(kind === 'video' ? 'remix' : 'video', context, options, settings, problems))
  )
}

/** The prompt that names files and records: the body's own, or the first instance's. */
function promptOf({ prompt, instances }: Body): string {
  const own: unknown =
    prompt ?? (Array.isArray(instances) ? (instances[0] as Body | null)?.['prompt'] : undefined)
  return typeof own === 'string' ? own : ''
}

function throwAll(problems: readonly string[]): void {
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
}

/** How many videos a request asks for; what `--no-validate` lets through need not be a number at all. */
export function videosOf(request: unknown): number {
  if (!isBody(request)) return 1
  const { parameters } = request
  const samples = isBody(parameters) ? parameters['sampleCount'] : undefined
  const each = typeof samples === 'number' && samples >= 1 ? Math.floor(samples) : 1
  return Math.max(1, Math.min(each * instancesOf(request).length, mostPlannedNames))
}

/** The orders of an operation as far as they are objects; what else stands there is left to the check. */
export function instancesOf({ instances }: Body): Body[] {
  return Array.isArray(instances) ? instances.filter(isBody) : []
}

function isBody(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
