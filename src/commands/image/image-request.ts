import type { Settings } from '../../config/settings.ts'
import type { Context } from '../../context.ts'
import { UsageError, FileError, ModelgateError } from '../../errors.ts'
import { familyOf } from '../../contract/families.ts'
import { mostPlannedNames } from '../../contract/limits.ts'
import type { Endpoint } from '../../contract/field.ts'
import { planOutputs, type OutputPlan } from '../../files/output-plan.ts'
import { checkBeforeAsking, checkTextPrompt, readTextPrompt } from '../shared/text-prompt.ts'
import { applyContractFlags, type ContractFlag } from '../shared/contract-flags.ts'
import { configuredBaseUrl, readSettings } from '../shared/open-gateway.ts'
import { createProblemList, type ProblemList } from '../../problems.ts'
import type { Body } from '../../operations/operation.ts'
import { applySets, isSet, startBody } from '../shared/request-body.ts'
import { validateBody } from '../shared/validate-body.ts'
import { combinationProblems, previewModes, type ImageOptions, type PreviewMode } from './image-options.ts'
import { modelProblems } from '../shared/choose-model.ts'
import { sourceProblems, type ImageSource } from './sources.ts'
import { createReadStream, existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { imageKind } from '../../files/image-inspector.ts'
import { sniffMediaType } from '../../files/media-type.ts'
import { describeInputFile } from '../../files/input-file.ts'

/** A request for images, ready to be sent. */
export interface ImageRequest {
  readonly command: 'image create' | 'image edit'
  readonly endpoint: Endpoint
  /** As it is asked for; null when the gateway's own default is taken. */
  readonly model: string
  readonly body: Body
  readonly prompt: string
  readonly images: readonly ImageSource[]
  readonly mask: ImageSource | undefined
  readonly plan: OutputPlan
  /** The numbers of the images to make, from 1: fewer than asked for with `--skip-existing`. */
  readonly wanted: readonly number[]
  /** Images that are there already (`--skip-existing`). */
  readonly existing: readonly ExistingImage[]
  readonly preview: PreviewMode
  readonly warnings: readonly string[]
}

/** What the two image commands do differently. */
interface ImageCommand {
  readonly command: ImageRequest['command']
  readonly endpoint: Endpoint
  readonly flags: readonly ContractFlag[]
  /** Names the model, and says what is to be said about that. */
  chooseModel(
    body: Body,
    settings: Settings | undefined,
    problems: ProblemList,
  ): Promise<ChosenModel | undefined>
  /** Looks at the pictures that go along. */
  readSources(settings: Settings | undefined): Promise<Pick<ImageRequest, 'images' | 'mask'>>
}

export interface ChosenModel {
  readonly model: string
  /** False when the gateway is left to its documented default. */
  readonly send: boolean
  readonly warning?: string
}

/**
 * Puts a request together and holds it against every rule of its endpoint and family.
 * @throws UsageError (or FileError) with everything that is wrong, each problem naming the flag to change
 */
export async function buildImageRequest(
  context: Context,
  options: ImageOptions,
  own: Readonly<Record<string, unknown>>,
  words: readonly string[],
  command: ImageCommand,
): Promise<{ settings: Settings; request: ImageRequest }> {
  const problems = createProblemList()
  const { step } = problems
  const settings = await step(() => readSettings(context, options))
  if (settings !== undefined && !options.sandbox) await step(() => configuredBaseUrl(settings))
  const body: Body = (await step(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, command.flags, own, body, problems)
  const preview = await step(() => previewMode(options))
  await step(() => throwAll(combinationProblems(context, options)))
  const sources = await step(() => command.readSources(settings))
  const hasPrompt = body['prompt'] !== undefined || isSet(options, 'prompt')
  const isAsked = (words.length === 0 && !hasPrompt) || settings?.imageModel.value === undefined
  if (isAsked && !problems.any) await step(() => checkBeforeAsking(context, options, settings))
  const takePrompt = problems.any ? checkTextPrompt : readTextPrompt
  // What is piped in may be the list of a loop, or a picture: beside a prompt it is not read.
  const use = { settings, hasContent: hasPrompt, joins: false }
  const prompt = await step(() => takePrompt(context, words, options, use))
  if (prompt !== undefined) body['prompt'] = prompt
  await applySets(options, body, problems)
  const chosen = await step(() => command.chooseModel(body, settings, problems))
  if (chosen?.send) body['model'] = chosen.model
  const family = chosen && familyOf(chosen.model, settings?.families.value)
  if (options.validate && chosen !== undefined) {
    await step(() => throwAll(modelProblems(command.endpoint, chosen.model, family)))
  }
  await step(() => validateBody(command.endpoint, body, command.flags, options, problems.any, family))
  if (options.validate && sources !== undefined) {
    await step(async () => throwAll(await sourceProblems(sources.images, sources.mask, family)))
  }
  const count = countOf(body)
  const text = typeof body['prompt'] === 'string' ? body['prompt'] : ''
  const plan = planOutputs(context, {
    ...(options.output === undefined ? {} : { output: options.output }),
    ...(settings?.outputDir.value === undefined ? {} : { folder: settings.outputDir.value }),
    count,
    force: options.force === true || options.skipExisting === true,
    model: chosen?.model ?? '',
    prompt: text,
    now: context.clock.now(),
  })
  const isSaved = options.download && options.raw !== true
  const { wanted, existing } = options.skipExisting
    ? missingImages(context, plan, count, extensionFor(body))
    : { wanted: numbers(count), existing: [] }
  const inTheWay = await existingProblems(context, existing)
  for (const problem of inTheWay) await step(() => Promise.reject(problem))
  if (options.skipExisting && options.output?.includes('{id}')) {
    await step(() => throwAll(['--skip-existing cannot know names with {id}, which only the reply tells.']))
  }
  if (isSaved && wanted.length > 0 && inTheWay.length === 0) {
    const { sidecar = false, savePartials: partials = false } = options
    const expected = { extension: extensionFor(body), sidecar, partials }
    for (const problem of await plan.check(expected)) await step(() => Promise.reject(problem))
  }
  problems.throwAny()
  if (options.skipExisting && wanted.length < count) body['n'] = Math.max(1, wanted.length)
  const request: ImageRequest = {
    command: command.command,
    endpoint: command.endpoint,
    model: chosen!.model,
    body,
    prompt: text,
    images: sources!.images,
    mask: sources!.mask,
    plan,
    wanted,
    existing,
    preview: preview!,
    warnings: chosen!.warning === undefined ? [] : [chosen!.warning],
  }
  return { settings: settings!, request }
}

/** How many images to plan for. What `--no-validate` lets through need not be a number of images at all. */
function countOf({ n }: Body): number {
  return typeof n === 'number' && n >= 1 ? Math.min(Math.floor(n), mostPlannedNames) : 1
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

/** The extension that the answer will most likely have; the bytes decide in the end. */
function extensionFor(body: Body): string {
  const format = body['output_format']
  return format === 'jpeg' ? 'jpg' : typeof format === 'string' ? format : 'png'
}

function previewMode({ preview = 'auto' }: ImageOptions): PreviewMode {
  const known = previewModes.find((mode) => mode === preview)
  if (known === undefined)
    throw new UsageError(
      `--preview must be one of ${previewModes.join(', ')}, not ${JSON.stringify(preview)}.`,
    )
  return known
}

function throwAll(problems: readonly string[]): void {
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
}

/** An image that is there already. */
export interface ExistingImage {
  /** From 1. */
  readonly index: number
  readonly path: string
}

/** Which images of a plan are there already, and which are still to be made (`--skip-existing`). */
function missingImages(
  context: Context,
  plan: OutputPlan,
  count: number,
  extension: string,
): { wanted: number[]; existing: ExistingImage[] } {
  const wanted: number[] = []
  const existing: ExistingImage[] = []
  for (let index = 1; index <= count; index++) {
    const path = plan.pathFor({ index, extension })
    if (existsSync(resolve(context.cwd, path))) existing.push({ index, path })
    else wanted.push(index)
  }
  return { wanted, existing }
}

/**
 * What is there and is no image, which no run of this command left there. To make it would be to overwrite it; to skip
 * it, to say that all is well.
 */
async function existingProblems(context: Context, existing: readonly ExistingImage[]): Promise<FileError[]> {
  const problems = existing.map(async ({ path }) => {
    const found = await describeInputFile(context, path, { maxBytes: Infinity, pipes: false })
    if (found instanceof ModelgateError) return [problem(found.code, found.message)]
    const isImage = sniffMediaType(found.head)?.startsWith('image/')
    if (!isImage) return [problem('not_an_image', `${JSON.stringify(path)} is no image.`)]
    const damage = await damageOf(context, path)
    return damage === undefined
      ? []
      : [problem('damaged_image', `${JSON.stringify(path)} is damaged: ${damage}.`)]
  })
  return (await Promise.all(problems)).flat()
}

/** What is wrong with an image, as the end of a sentence. */
async function damageOf(context: Context, path: string): Promise<string | undefined> {
  const inspector = imageKind.createInspector()
  for await (const chunk of createReadStream(resolve(context.cwd, path)) as AsyncIterable<Buffer>) {
    inspector.add(chunk)
  }
  return inspector.inspect().integrity.damage
}

function problem(code: string, message: string): FileError {
  return new FileError(code, message, {
    phase: 'input',
    hint: '--skip-existing takes it for an image that was made. Remove it, or choose another name.',
  })
}
