import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Option, type Command } from 'commander'
import { rescueFolder } from '../../../config/paths.ts'
import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { Endpoint } from '../../../contract/field.ts'
import { UsageError } from '../../../errors.ts'
import { imageLabel } from '../../../events/format-image.ts'
import type { ImageDocument } from '../../../events/image.ts'
import {
  askForNamedFormat,
  imageCreation,
  imageGatewayRequest,
  imageRequest,
  type ImagePlan,
  type ImageRequest,
} from '../../../operations/image-request.ts'
import type { ImageViewer, ShownImage } from '../../../operations/image-results.ts'
import { idempotencyKeyOf } from '../../../gateway/url.ts'
import { makeImages, takeExistingImages, recordImages } from '../../../operations/make-images.ts'
import type { Body, Outcome } from '../../../operations/operation.ts'
import { createGate } from '../../../output/gate.ts'
import { createPreview } from '../../../output/preview/create-preview.ts'
import type { PreviewMode } from '../../../output/preview/detect-protocol.ts'
import { createReplyWriter } from '../../../output/raw-output.ts'
import {
  checkRequest,
  nameModel,
  startRequest,
  type CommandCall,
  type Draft,
} from '../request/build-request.ts'
import type { ContractFlag } from '../request/contract-flags.ts'
import { readPromptField } from '../request/text-prompt.ts'
import { recordPlan } from '../jobs/named-job.ts'
import { resumeCommand } from '../jobs/resume-command.ts'
import {
  acceptMismatchOption,
  addShared,
  allShared,
  type CommonOptions,
  strictMeanings,
  suggestWords,
} from '../options/common-options.ts'
import { runOperation, showOperation } from '../call/run-operation.ts'

/** The options of both image commands, beside the fields of their requests. */
export interface ImageOptions extends CommonOptions {
  savePartials?: true
  sidecar?: true
  skipExisting?: true
  download: boolean
  preview?: string
  allowPrivateUrls?: true
  acceptMismatch?: true
}

/** The values of `--preview`. */
export const previewModes: readonly PreviewMode[] = ['auto', 'kitty', 'iterm', 'blocks', 'off']

export function addImageOptions(command: Command): void {
  addShared(command, allShared, {
    ...strictMeanings.images,
    model: 'model to use; without one the gateway chooses',
    output: 'file, folder/ or name with {index} and {ext}; its extension selects the format',
  })
  const options = [
    new Option('--save-partials', 'save the streamed partial images beside the image'),
    new Option('--sidecar', 'write a JSON record beside each image'),
    new Option('--skip-existing', 'create only the images whose files do not exist yet'),
    new Option('--no-download', 'print result URLs and when they expire, save nothing'),
    suggestWords(new Option('--preview <mode>', 'show images in the terminal'), previewModes),
    acceptMismatchOption(),
    new Option('--allow-private-urls', 'allow downloads of results from private addresses'),
  ]
  for (const option of options) command.addOption(option.helpGroup('Result:'))
}

/** Starts a request for images, and checks the flags that both commands have. */
export async function startImageRequest(
  call: CommandCall<ImageOptions>,
  endpoint: Endpoint,
  flags: readonly ContractFlag[],
): Promise<Draft<ImageOptions>> {
  const draft = await startRequest(call, { endpoint, flags, modelKind: 'image' })
  const { check } = draft.problems
  await check(() => void previewMode(call.options))
  await check(() => checkCombination(call.context, call.options))
  return draft
}

/**
 * Ends a request for images with its prompt and its model.
 * @param whenLeftOut warnings about a model that was left out
 * @throws UsageError, FileError with everything that is wrong, each problem naming the flag to change
 */
export async function finishImageRequest(
  draft: Draft<ImageOptions>,
  command: ImageRequest['command'],
  { images, mask }: Pick<ImageRequest, 'images' | 'mask'> = { images: [], mask: undefined },
  whenLeftOut: (body: Body) => readonly string[] = () => [],
): Promise<{ readonly settings: Settings; readonly request: ImageRequest }> {
  const { call, endpoint, body, settings, problems } = draft
  const { context, options } = call
  const { output, validate } = options
  await readPromptField(draft)
  const model = await nameModel(draft)
  await problems.check(() => askForNamedFormat(context, { output, endpoint, body, model, validate }))
  const leftOut = model === undefined ? whenLeftOut(body) : []
  const warnings = [...leftOut, ...(await checkRequest(draft, model))]
  const parts = { command, model: model?.id ?? null, family: model?.family, body, images, mask, warnings }
  const request = await imageRequest(context, { ...parts, validate }, imagePlan(options, settings), problems)
  problems.throwIfAny()
  return { settings: settings!, request }
}

/** How images are saved, by the flags. */
export function imagePlan(options: ImageOptions, settings: Settings | undefined): ImagePlan {
  const { download, raw } = options
  return { ...options, folder: settings?.outputDir.value, download: download && raw !== true }
}

function previewMode({ preview = 'auto' }: ImageOptions): PreviewMode {
  const known = previewModes.find((mode) => mode === preview)
  if (known !== undefined) return known
  const words = previewModes.join(', ')
  throw new UsageError(`--preview must be one of ${words}, not ${JSON.stringify(preview)}.`)
}

/** @throws UsageError for flags that contradict each other, each problem a sentence that names both */
export function checkCombination({ stdout }: Pick<Context, 'stdout'>, options: ImageOptions): void {
  const { output, download, raw, json, jsonl, force, sidecar, skipExisting, savePartials } = options
  const toStandardOutput = output === '-'
  const documents = named({ '--json': json, '--jsonl': jsonl, '--raw': raw })
  const ofFiles = named({ '--sidecar': sidecar, '--skip-existing': skipExisting })
  const ofAllFiles = [...ofFiles, ...named({ '--save-partials': savePartials })]
  const inapplicable = (why: string, flags: readonly string[]) =>
    flags.map((flag) => `${why}, so ${flag} does not apply.`)
  const problems = [
    ...(toStandardOutput
      ? [
          ...documents.map((flag) => `-o - and ${flag} would both write to standard output.`),
          ...inapplicable('-o - makes no file', ofAllFiles),
        ]
      : []),
    ...(toStandardOutput && stdout.isTerminal && documents.length === 0
      ? ['-o - would write the bytes of an image to the terminal.']
      : []),
    ...(download
      ? []
      : inapplicable('--no-download saves nothing', [...named({ '-o': output !== undefined }), ...ofFiles])),
    ...(raw
      ? inapplicable('--raw saves nothing', [
          ...named({ '-o': output !== undefined && !toStandardOutput }),
          ...ofAllFiles,
        ])
      : []),
    ...(force && skipExisting ? ['--force and --skip-existing cannot be used together.'] : []),
  ]
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
}

/** The names of the flags that were given. */
function named(flags: Readonly<Record<string, boolean | undefined>>): string[] {
  return Object.keys(flags).filter((name) => flags[name])
}

/** Makes images and renders the events in the requested format. */
export async function sendImages(
  context: Context,
  options: ImageOptions,
  settings: Settings,
  request: ImageRequest,
): Promise<void> {
  const quiet = settings.quiet.value
  const answered = quiet ? withReasons : (outcome: Outcome<ImageDocument>) => outcome
  if (request.wanted.length === 0) {
    const view = { quiet, gate: createGate(context), result: 'files' } as const
    await showOperation(context, options, view, (listener) =>
      takeExistingImages({ context, listener }, request),
    )
    return
  }
  await runOperation(context, options, settings, {
    streamed: request.streamed,
    warnings: request.warnings,
    logged: {
      command: request.command,
      model: request.model,
      body: request.body,
      sources: [...request.images, ...(request.mask === undefined ? [] : [request.mask])],
      creation: imageCreation(request),
    },
    describeRequest: (gateway) => imageGatewayRequest(gateway, request),
    output: () => ({ result: 'files' }),
    async operation(call, gate) {
      if (options.raw) {
        const rescue = { folder: rescueFolder(context), name: `${request.command.replace(' ', '-')}.txt` }
        const relay = createReplyWriter(context, gate, rescue)
        return answered(await makeImages(call, request, { ...imagePlan(options, settings), relay }))
      }
      const isShown = !quiet && !options.json && !options.jsonl
      const viewer = isShown ? createViewer(context, options) : undefined
      // One key for the request and its record.
      const own = { ...call, gateway: { ...call.gateway, idempotencyKey: idempotencyKeyOf(call.gateway) } }
      const record = recordImages(own, request, {
        ...recordPlan(context, options, settings, gate),
        resume: (id) => resumeCommand(context, options, new Map([[id, id]]), true)(id),
      })
      const plan = { ...imagePlan(options, settings), onMade: record.onMade }
      const outcome = await makeImages(own, request, plan, viewer)
      await record.settle(outcome)
      return answered(outcome)
    },
  })
}

/** Failures were reported as they happened; with --quiet they are in the final message. */
function withReasons(outcome: Outcome<ImageDocument>): Outcome<ImageDocument> {
  if (outcome.kind === 'failed' || outcome.failure === undefined) return outcome
  const reasons = outcome.document.failures.map(({ index, message }) => `Image ${index} failed: ${message}`)
  return { ...outcome, failure: outcome.failure.amend({ message: reasons.join('\n') }) }
}

/** Pictures on the terminal, above their paths. */
function createViewer(context: Context, options: ImageOptions): ImageViewer | undefined {
  const preview = createPreview(context, previewMode(options))
  // A preview has its line above it. On a terminal the printed path follows a single picture, so it needs no caption. The paths of several come after
  // the last picture, so each gets its number.
  const captionOf = (image: ShownImage) => {
    if (image.partial !== null) return undefined
    if (!context.stdout.isTerminal) return 'path' in image ? image.path : ''
    return image.count > 1 ? imageLabel(image) : undefined
  }
  return (
    preview &&
    (async (image) => {
      const bytes = 'bytes' in image ? image.bytes : await readImage(resolve(context.cwd, image.path))
      const caption = captionOf(image)
      if (bytes !== undefined) await preview.show({ bytes, ...(caption === undefined ? {} : { caption }) })
    })
  )
}

/** A pipe or device cannot be read again; a file that was removed in the meantime is skipped. */
async function readImage(path: string): Promise<Uint8Array | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path) : undefined
  } catch {
    return undefined
  }
}
