import { type Command, Option } from 'commander'
import type { Context } from '../context.ts'
import { defaultEditModel, imageCreateEndpoint, imageEditEndpoint } from '../contract/images.ts'
import { addContractFlags, inputOption } from './shared/request/contract-flags.ts'
import type { Settings } from '../config/settings.ts'
import { commandInputs } from '../contract/command-inputs.ts'
import { flagName, type Endpoint, flagsOf } from '../contract/field.ts'
import { UsageError } from '../errors.ts'
import {
  imageFromBytes,
  isUrl,
  readImageFile,
  sourceProblems,
  type ImageSource,
  type SourceInput,
} from '../operations/image-sources.ts'
import type { Body, Outcome } from '../operations/operation.ts'
import { fetchSource } from './shared/request/fetch-source.ts'
import { allInputs, createProblemList } from '../problems.ts'
import { readStandardInputBytes } from './shared/input/standard-input.ts'
import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { rescueFolder } from '../context/folders.ts'
import { imageLabel } from '../events/format-image.ts'
import type { ImageDocument } from '../events/image.ts'
import type { MadeImages } from '../files/calls/job-record.ts'
import {
  askForNamedFormat,
  imageGatewayRequest,
  imageRequest,
  type ImagePlan,
  type ImageRequest,
} from '../operations/image-request.ts'
import type { ImageViewer } from '../operations/image-results.ts'
import {
  fetchImages,
  makeImages,
  recordImages,
  settleImages,
  takeExistingImages,
} from '../operations/make-images.ts'
import { objectOf } from '../json.ts'
import type { Output } from '../output/output.ts'
import { createPreview } from '../output/preview/create-preview.ts'
import type { PreviewMode } from '../output/terminal-abilities.ts'
import { createReplyWriter } from '../output/json-output.ts'
import {
  checkRequest,
  finishedCall,
  nameModel,
  startRequest,
  type Draft,
} from './shared/request/build-request.ts'
import { readPromptField } from './shared/request/text-prompt.ts'
import { placeOf, recordPlan, type FoundJob } from './shared/jobs/named-job.ts'
import { resumeCommand } from './shared/jobs/resume-command.ts'
import {
  acceptMismatchOption,
  addShared,
  isDryRun,
  type CommonOptions,
  wordOption,
  addExamples,
  showFirst,
} from './shared/options/common-options.ts'
import type { CommandCall } from './shared/gateway/open-gateway.ts'
import { runOperation, showOperation } from './shared/call/run-operation.ts'

/** Specification, endpoint 4. */
export function registerImageCreate(command: Command, context: Context, send = sendImages): void {
  addExamples(command, [
    ['modelgate image create -m MODEL "A lighthouse at dusk"'],
    ['modelgate image create -m MODEL -n 3 -o "hero-{index}.{ext}" "A paper boat"'],
    ['modelgate image create -m MODEL --size 1536x1024 --quality high -o sea.png "The sea"'],
    ['modelgate image create -m MODEL --background transparent -o logo.png "A red kite"'],
    ['modelgate image create --sandbox --stream --partial-images 2 "A hill"'],
  ])
  registerImage(command, context, 'image create', 'what to draw', send)
  showFirst(command, `size quality n background output-format stream partial-images ${shownLast}`)
}

/** Specification, endpoint 6. */
export function registerImageEdit(command: Command, context: Context, send = sendImages): void {
  addExamples(command, [
    ['modelgate image edit -m MODEL --image room.png "Add a window"'],
    ['modelgate image edit -m MODEL --image room.png --mask wall.png "Paint it blue"'],
    ['modelgate image edit -m MODEL --image a.png --image b.jpg -o both.png "Put both in one"'],
  ])
  const { image, mask } = commandInputs['image edit']
  command.addOption(inputOption(image)).addOption(inputOption(mask))
  registerImage(command, context, 'image edit', 'what to change', send)
  showFirst(command, `image mask size quality n background output-format input-fidelity ${shownLast}`)
}

const shownLast = 'skip-existing no-download preview accept-mismatch'

function registerImage(
  command: Command,
  context: Context,
  name: ImageRequest['command'],
  prompt: string,
  send: typeof sendImages,
): void {
  const isEdit = name === 'image edit'
  const endpoint: Endpoint = isEdit ? imageEditEndpoint : imageCreateEndpoint
  const flags = flagsOf(endpoint.fields).filter((flag) => flag.name !== 'model' && flag.name !== 'prompt')
  command.argument('[prompt...]', `${prompt}; "-" or no prompt reads standard input, @file a file`)
  command.action(async (words: string[], options: ImageOptions) => {
    const draft = await startRequest({ context, options, words }, { endpoint, flags, modelKind: 'image' })
    const { body, settings, problems } = draft
    await problems.check(() => checkCombination(context, options))
    const sources = (isEdit ? await problems.check(() => readSources(draft)) : undefined) ?? []
    await readPromptField(draft)
    const model = await nameModel(draft)
    await problems.check(() => askForNamedFormat(context, options, endpoint, body, model))
    const leftOut = isEdit && model === undefined ? [whenLeftOut(body)] : []
    const warnings = [...leftOut, ...(await checkRequest(draft, model))]
    const { id = null, family } = model ?? {}
    await problems.check(async () => {
      const found = isEdit && options.validate ? await sourceProblems(sources, { id: id ?? '', family }) : []
      const facts = { code: 'invalid_request', hint: '--no-validate sends it anyway.' } as const
      if (found.length > 0) throw new UsageError(found, facts)
    })
    const parts = { command: name, model: id, body, sources, warnings }
    const request = await imageRequest(context, parts, imagePlan(options, settings), problems)
    await send(finishedCall(draft), request)
  })
  addContractFlags(command, flags)
  addShared(command, 'all', {
    strict: 'treat an unverified image, or one of a type other than its name says, as a failure',
    model: 'model to use; without one the gateway chooses',
    output: 'file, folder/ or name with {index} and {ext}; its extension selects the format',
  })
  const own = [
    new Option('--save-partials', 'save the streamed partial images beside the image'),
    new Option('--sidecar', 'write a JSON record beside each image'),
    new Option('--skip-existing', 'create only the images whose files do not exist yet'),
    new Option('--no-download', 'print result URLs and when they expire, save nothing'),
    wordOption('--preview <mode>', 'show images in the terminal', previewModes),
    acceptMismatchOption(),
    new Option('--allow-private-urls', 'allow downloads of results from private addresses'),
  ]
  for (const option of own) command.addOption(option.helpGroup('Result:'))
}

/** The specification has a model for an edit without one (endpoint 6, `model`). */
function whenLeftOut(body: Body): string {
  const { model, because } = defaultEditModel(body)
  const reason = because === undefined ? 'the default of an edit' : `because of --${flagName(because)}`
  return `No model was given: the gateway is expected to take ${model}, ${reason}. Give one with -m.`
}

async function readSources(draft: Draft<ImageOptions>) {
  const { context, options } = draft
  const { image: locations = [], curl } = options
  const masks = [options.mask ?? []].flat()
  if (locations.length === 0) throw new UsageError('--image is missing: an edit starts from an image.')
  // A pasted command can read only files and standard input.
  if (curl && [...locations, ...masks].some(isUrl)) {
    throw new UsageError('--curl cannot show a request with images from URLs.', {
      hint: 'Download them first, and pass the files.',
    })
  }
  const read = (field: SourceInput['field'], all: readonly string[]) =>
    allInputs(
      all.map(async (location): Promise<ImageSource> => {
        const input = { field, name: `--${field}` }
        if (isUrl(location)) return fetchSource(draft, input, location)
        if (location !== '-') return readImageFile(context, input, location)
        const content = await readStandardInputBytes(context, `${input.name} -`)
        return imageFromBytes(input, location, 'stdin', content)
      }),
    )
  return (await Promise.all([read('image', locations), read('mask', masks)])).flat()
}

export interface ImageOptions extends CommonOptions {
  image?: string[]
  mask?: string
  savePartials?: true
  sidecar?: true
  skipExisting?: true
  download: boolean
  preview?: PreviewMode
  allowPrivateUrls?: true
  acceptMismatch?: true
}

const previewModes: readonly PreviewMode[] = ['auto', 'kitty', 'iterm', 'blocks', 'off']

function imagePlan(options: ImageOptions, settings: Settings | undefined): ImagePlan {
  const { download, raw } = options
  return { ...options, folder: settings?.outputDir.value, download: download && raw !== true }
}

function checkCombination({ stdout }: Pick<Context, 'stdout'>, options: ImageOptions): void {
  const { output, download, raw, json, jsonl, force, sidecar, skipExisting, savePartials } = options
  const toStream = output === '-'
  const given = (flags: Readonly<Record<string, unknown>>) => Object.keys(flags).filter((flag) => flags[flag])
  const documents = given({ '--json': json, '--jsonl': jsonl, '--raw': raw })
  const ofFiles = given({ '--sidecar': sidecar, '--skip-existing': skipExisting })
  const ofAll = [...ofFiles, ...given({ '--save-partials': savePartials })]
  const named = output === undefined ? [] : ['-o']
  const unused = (why: string, flags: readonly string[]) =>
    flags.map((flag) => `${why}, so ${flag} does not apply.`)
  const problems: string[] = []
  if (toStream) {
    problems.push(...documents.map((flag) => `-o - and ${flag} would both write to standard output.`))
    problems.push(...unused('-o - makes no file', ofAll))
    if (stdout.isTerminal && documents.length === 0)
      problems.push('-o - would write the bytes of an image to the terminal.')
  }
  if (!download) problems.push(...unused('--no-download saves nothing', [...named, ...ofFiles]))
  if (raw) problems.push(...unused('--raw saves nothing', [...(toStream ? [] : named), ...ofAll]))
  if (force && skipExisting) problems.push('--force and --skip-existing cannot be used together.')
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
}

export async function sendImages(call: CommandCall<ImageOptions>, request: ImageRequest): Promise<void> {
  const { context, options, settings, gate } = call
  const quiet = settings.quiet.value
  if (request.wanted.length === 0) {
    const take = (listener: Output) => takeExistingImages({ context, listener }, request)
    return await showOperation(call, { result: 'files' }, take)
  }
  await runOperation(call, {
    streamed: request.streamed,
    warnings: request.warnings,
    logged: request,
    describeRequest: (gateway) => imageGatewayRequest(gateway, request),
    output: () => ({ result: 'files' }),
    async operation(opened) {
      const isShown = !quiet && !options.json && !options.jsonl && !options.raw
      const viewer = isShown ? createViewer(context, options) : undefined
      let settleRecord: ((outcome: Outcome<ImageDocument>) => Promise<void>) | undefined
      const onMade = async (made: MadeImages, idempotencyKey: string) => {
        const plan = recordPlan(call)
        const stored = await recordImages(opened, request, plan, made, idempotencyKey)
        const id = stored?.record.id
        if (stored === undefined || !id) return undefined
        settleRecord = (outcome) => settleImages(plan.store, stored, outcome)
        return resumeCommand(context, options, new Map([[id, id]]), true)(id)
      }
      const rescue = { folder: rescueFolder(context), name: `${request.command.replace(' ', '-')}.txt` }
      const relay = options.raw ? createReplyWriter(context, gate, rescue) : undefined
      const plan = { ...imagePlan(options, settings), onMade, relay }
      const outcome = await makeImages(opened, request, plan, viewer)
      await settleRecord?.(outcome)
      return quiet ? withReasons(outcome) : outcome
    },
  })
}

/** From the addresses on record: nothing is billed. */
export async function fetchRecordedImages(
  job: FoundJob<Omit<ImageOptions, 'download'>, 'image'>,
): Promise<void> {
  const { context, named, given, options, settings, store } = job
  if (isDryRun(options) || options.raw) {
    throw new UsageError(
      '--dry-run, --curl and --raw show requests to the gateway; an image is only downloaded from its URL.',
    )
  }
  const ownOptions = { ...options, download: true }
  checkCombination(context, ownOptions)
  const { id } = named
  const stored = named.stored!
  const { command, model, request: body, made } = stored.record
  const plan = { ...imagePlan(ownOptions, settings), ...placeOf(job) }
  const problems = createProblemList()
  const parts = {
    command: command as ImageRequest['command'],
    model,
    body: { ...objectOf(body), prompt: stored.prompt() },
    sources: [],
    warnings: [],
  }
  const request = await imageRequest(context, parts, plan, problems)
  problems.throwIfAny()
  const wanted = made!.images.map(({ index }) => index)
  const resume = resumeCommand(context, given, new Map([[id, id]]))
  await runOperation(job, {
    logged: { command: 'wait', model, jobs: [id] },
    output: () => ({ result: 'files' }),
    async operation(call) {
      const outcome = await fetchImages(call, { ...request, wanted }, plan, made!, resume(id))
      await settleImages(store, stored, outcome)
      return outcome
    },
  })
}

/** Failures were reported as they happened; with --quiet they are in the final message. */
function withReasons(outcome: Outcome<ImageDocument>): Outcome<ImageDocument> {
  if (outcome.kind === 'failed' || outcome.failure === undefined) return outcome
  const reasons = outcome.document.failures.map(({ index, message }) => `Image ${index} failed: ${message}`)
  return { ...outcome, failure: outcome.failure.amend({ message: reasons.join('\n') }) }
}

function createViewer(context: Context, options: ImageOptions): ImageViewer | undefined {
  const preview = createPreview(context, options.preview ?? 'auto')
  if (preview === undefined) return undefined
  return async (image) => {
    if (image instanceof Uint8Array) return await preview.show({ bytes: image })
    const path = resolve(context.cwd, image.path)
    // A pipe or device cannot be read again; a file that was removed in the meantime is skipped.
    const found = await stat(path).catch(() => undefined)
    const bytes = found?.isFile() ? await readFile(path).catch(() => undefined) : undefined
    if (bytes === undefined) return
    // The path follows a single picture on a terminal, so it needs no caption. The paths of several come after the last, so each gets its number.
    const label = image.count > 1 ? { caption: imageLabel(image) } : {}
    await preview.show({ bytes, ...(context.stdout.isTerminal ? label : { caption: image.path }) })
  }
}
