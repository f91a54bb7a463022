import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import {
  checkBody,
  ignoredAdvice,
  type Endpoint,
  type Family,
  type Violation,
} from '../../../contract/field.ts'
import type { Model } from '../../../contract/known-models.ts'
import { nearestName } from '../../../nearest-name.ts'
import { UsageError } from '../../../errors.ts'
import type { Body } from '../../../operations/operation.ts'
import type { CommonOptions } from '../options/common-options.ts'
import {
  applyContractFlags,
  misspeltValues,
  type ConflictingFlags,
  type ContractFlag,
  refuseConflicts,
} from './contract-flags.ts'
import {
  addMissingKey,
  configuredBaseUrl,
  isNotSetUp,
  notSetUp,
  readSettings,
} from '../gateway/open-gateway.ts'
import { createProblemList, type ProblemList } from '../../../problems.ts'
import { applySets, isSet, startBody } from './request-body.ts'
import { askText, canAsk } from '../input/questions.ts'
import { checkBeforeAsking, checkTextPrompt, readTextPrompt } from './text-prompt.ts'

/** A call of a command, as the parser has read it. */
export interface CommandCall<Options extends CommonOptions> {
  readonly context: Context
  /** The command's own options and those of every command. */
  readonly options: Options
  /** Only the command's own: the program has options of the same name (`--no-input` beside `--input`). */
  readonly own: Readonly<Record<string, unknown>>
  readonly words: readonly string[]
  /** The prompt as it is; nothing else is read then. */
  readonly prompt?: string | undefined
}

/** A request while it is being built; problems found so far are collected in `problems`. */
export interface Draft {
  readonly problems: ProblemList
  readonly body: Body
  /** Undefined if they could not be read, which is one of the problems. */
  readonly settings: Settings | undefined
}

export interface RequestParts {
  readonly endpoint: Endpoint
  readonly flags: readonly ContractFlag[]
  readonly conflicts?: readonly ConflictingFlags[]
  /** Flags that set a field in another form, by the name of the field's own flag: messages name what was given. */
  readonly otherForms?: Readonly<Record<string, string>>
  readonly model: {
    readonly kind: ModelKind
    readonly location: 'body' | 'path'
    /**
     * The model may be left out: then the gateway chooses, and only the rules for every model apply. Gives the warnings
     * about that. Without this, the user is asked for a model.
     */
    readonly whenLeftOut?: (body: Body) => readonly string[]
    /** The model of what is gone on with: `-m` overrides it, environment and configuration do not. */
    readonly carried?: () => string | undefined
  }
  /** Whether piped text and a prompt make one prompt. */
  readonly joinsInput: boolean
  /** Reads the command's own flags and files, before the prompt reads standard input. */
  readInputs?(draft: Draft): Promise<void>
  /** Whether the body, as far as it is known, needs no prompt. */
  hasContent(draft: Draft): boolean
  /** Puts the prompt into the body, and what was read before. */
  addPrompt(draft: Draft, prompt: string | undefined): void
  /** Sets what follows from the rest of the request. @throws UsageError */
  setDefaults?(body: Body, model: Model | undefined): void
}

/** For an endpoint whose prompt is a text field of the body. */
export function promptField(
  name: string,
  options: CommonOptions,
): Pick<RequestParts, 'hasContent' | 'addPrompt'> {
  return {
    hasContent: ({ body }) => body[name] !== undefined || isSet(options, name),
    addPrompt({ body }, prompt) {
      if (prompt !== undefined) body[name] = prompt
    },
  }
}

/** The part of a request that all commands share; problems have not been thrown yet. */
interface BuiltRequest extends Draft {
  /** Undefined when none was named: the gateway chooses, or it is among the problems. */
  readonly model: string | undefined
  readonly family: Family | undefined
  readonly prompt: string | undefined
  readonly warnings: readonly string[]
}

/**
 * Builds the body of a request and checks it against every rule of its endpoint and family. Later sources win:
 * `--body`, the flags of the fields, the prompt, `--set`, the model.
 */
export async function buildRequest(
  { context, options, own, words, prompt: given }: CommandCall<CommonOptions>,
  parts: RequestParts,
): Promise<BuiltRequest> {
  const { endpoint, model: modelPart, otherForms = {} } = parts
  const flags = parts.flags.map((flag) => {
    const other = otherForms[flag.name]
    return other !== undefined && own[other] !== undefined ? { ...flag, named: other } : flag
  })
  const problems = createProblemList()
  const { check } = problems
  const settings = await check(() => readSettings(context, options))
  const isFirst = settings !== undefined && !options.sandbox && (await isNotSetUp(settings))
  if (isFirst) problems.add(notSetUp(kinds[modelPart.kind].env))
  else if (settings !== undefined && !options.sandbox) await check(() => configuredBaseUrl(settings))
  await check(() => refuseConflicts(own, parts.conflicts ?? []))
  const body: Body = (await check(() => startBody(context, options))) ?? {}
  await applyContractFlags(context, flags, own, body, problems)
  const draft: Draft = { problems, body, settings }
  await parts.readInputs?.(draft)
  // A body that could not be read probably held the content.
  const hasContent = parts.hasContent(draft) || (problems.any && options.body !== undefined)
  const hasModel =
    modelPart.carried?.() !== undefined ||
    configuredModel(modelPart.kind, options, settings) !== undefined ||
    modelPart.whenLeftOut !== undefined ||
    (modelPart.location === 'body' && (body['model'] !== undefined || isSet(options, 'model')))
  const isAsked = (words.length === 0 && given === undefined && !hasContent) || !hasModel
  if (isAsked && !problems.any) await check(() => checkBeforeAsking(context, options, settings))
  const takePrompt = problems.any ? checkTextPrompt : readTextPrompt
  const use = { settings, hasContent, joins: parts.joinsInput }
  const prompt = given ?? (await check(() => takePrompt(context, words, options, use)))
  await check(() => parts.addPrompt(draft, prompt))
  await applySets(options, body, problems)
  const warnings: string[] = []
  const model = await check(() => nameModel())
  if (settings !== undefined && !isFirst && problems.has('base_url_missing', 'model_missing')) {
    await addMissingKey(options, settings, problems)
  }
  const { family: kind } = kinds[modelPart.kind]
  // Models of text belong to no family, and most calls are theirs.
  const catalogue = kind === undefined ? undefined : await import('../../../contract/known-models.ts')
  const configured = settings?.families.value
  const known = model === undefined ? undefined : catalogue?.modelCalled(model, configured)
  await check(() => parts.setDefaults?.(body, known))
  if (model === undefined) warnings.push(...(modelPart.whenLeftOut?.(body) ?? []))
  if (catalogue !== undefined && known !== undefined) {
    const { modelWarnings, familiesOf } = catalogue
    warnings.push(...modelWarnings(known, { kind, configured, now: context.clock.now() }))
    const { name } = endpoint
    const isForOthers = name !== undefined && known.family !== undefined && !known.family.endpoints[name]
    if (options.validate && isForOthers) await check(() => throwAll([otherFamily(known, familiesOf(name))]))
  }
  if (options.validate) {
    await check(() => throwViolations(body, { endpoint, flags, own }, options, problems.any, known))
    for (const { path, other = '', problem } of ignoredAdvice(endpoint, body)) {
      warnings.push(`${flagFor(path, flags)} and ${flagFor(other, flags)} are used together: ${problem}.`)
    }
  }
  return { ...draft, model, family: known?.family, prompt, warnings }

  async function nameModel(): Promise<string | undefined> {
    const { kind, location, whenLeftOut, carried } = modelPart
    const named =
      (location === 'body' ? modelOfBody(body, options) : undefined) ??
      (options.model === undefined ? carried?.() : undefined) ??
      configuredModel(kind, options, settings)
    if (named === undefined && (isFirst || whenLeftOut !== undefined)) return undefined
    const chosen = named ?? (await chooseModel(kind, context, options, settings, problems))
    // A model of another type stays in the body, where the check finds it.
    const isSetWrong = isSet(options, 'model') && typeof body['model'] !== 'string'
    if (location === 'body' && chosen !== undefined && !isSetWrong) body['model'] = chosen
    return chosen
  }
}

/** @throws UsageError with all of several problems, each a sentence; nothing when there are none */
function throwAll(problems: readonly string[]): void {
  if (problems.length > 0) throw new UsageError(problems, { code: 'invalid_request' })
}

/**
 * Checks the body against the contract.
 * @param isPartial whether some input could not be read: then missing fields are not reported
 * @throws UsageError with all violations, each naming the flag to change
 */
function throwViolations(
  body: Body,
  {
    endpoint,
    flags,
    own,
  }: Pick<RequestParts, 'endpoint' | 'flags'> & Pick<CommandCall<CommonOptions>, 'own'>,
  options: CommonOptions,
  isPartial: boolean,
  model: Model | undefined,
): void {
  const violations = checkBody(endpoint, body, model).filter(({ kind, path }) => {
    // A field set with --set is intentional, even if it is unknown.
    if (kind === 'unknown') return !isSet(options, path)
    return kind !== 'required' || !isPartial || path.includes('.')
  })
  const slips = [...misspeltValues(flags, own)].filter(([path]) => {
    return !isSet(options, path.split('.')[0]!) && !violations.some((violation) => violation.path === path)
  })
  if (violations.length + slips.length === 0) return
  throw new UsageError(
    [
      ...violations.map((violation) => sentence(violation, endpoint, flags)),
      ...slips.map(([path, problem]) => `${flagFor(path, flags)} ${problem}`),
    ],
    {
      code: 'invalid_request',
      // `--no-validate` does not help against other problems.
      hint: isPartial
        ? '--no-validate skips the checks against the documented limits.'
        : '--no-validate sends it anyway.',
    },
  )
}

function sentence(
  { path, kind, problem, other }: Violation,
  endpoint: Endpoint,
  flags: readonly ContractFlag[],
): string {
  if (kind === 'unknown') {
    const known = nearestName(path, Object.keys(endpoint.fields))
    return `"${path}" ${problem}${known === undefined ? '.' : `; did you mean "${known}"?`}`
  }
  const flag = flagFor(path, flags)
  if (kind === 'exclusive')
    return `${flag} and ${flagFor(other ?? '', flags)} cannot be used together: ${problem}.`
  if (kind === 'requires') return `${flag} needs ${flagFor(other ?? '', flags)}: ${problem}.`
  return `${flag} ${problem}.`
}

/** The flag for a field of the body: its own, or the one of the object around it with the path. */
function flagFor(path: string, flags: readonly ContractFlag[]): string {
  const steps = path.split('.')
  for (let length = steps.length; length > 0; length--) {
    const flag = flags.find((candidate) => candidate.path.join('.') === steps.slice(0, length).join('.'))
    if (flag === undefined) continue
    const name = `--${flag.named ?? flag.name}`
    return length === steps.length ? name : `${name}: ${path}`
  }
  return path
}

/**
 * The kinds of model that a command may need: where they are configured, the kind of their families, and what the
 * sandbox advertises.
 */
const kinds = {
  text: {
    setting: 'textModel',
    family: undefined,
    sandbox: 'sandbox-text',
    env: 'MODELGATE_TEXT_MODEL',
    file: 'text_model',
  },
  image: {
    setting: 'imageModel',
    family: 'image',
    sandbox: 'image-model-a',
    env: 'MODELGATE_IMAGE_MODEL',
    file: 'image_model',
  },
  video: {
    setting: 'videoModel',
    family: 'video',
    sandbox: 'sandbox-video',
    env: 'MODELGATE_VIDEO_MODEL',
    file: 'video_model',
  },
  remix: {
    setting: 'videoModel',
    family: 'video',
    sandbox: 'video-model-remix',
    env: 'MODELGATE_VIDEO_MODEL',
    file: 'video_model',
  },
} as const

type ModelKind = keyof typeof kinds

/** The model that flags, environment and configuration name; undefined when none does. */
function configuredModel(
  kind: ModelKind,
  options: CommonOptions,
  settings: Settings | undefined,
): string | undefined {
  const model = settings === undefined ? options.model : settings[kinds[kind].setting].value
  return model === '' ? undefined : model
}

/**
 * The model: `-m`, then environment and configuration, then the sandbox's; otherwise the user is asked.
 * @param settings undefined if they could not be read: then a missing model is not reported
 * @param problems if there are any, the user is not asked, because the call fails anyway
 * @throws UsageError if there is no model
 */
async function chooseModel(
  kind: ModelKind,
  context: Context,
  options: CommonOptions,
  settings: Settings | undefined,
  problems: ProblemList,
): Promise<string | undefined> {
  const configured = configuredModel(kind, options, settings)
  if (configured !== undefined || settings === undefined) return configured
  const { sandbox, env, file } = kinds[kind]
  if (options.sandbox) return sandbox
  if (!problems.any && canAsk(context, options.noInput)) {
    const answer = await askText(context, 'Model:')
    if (answer.trim() !== '') return answer.trim()
  }
  const ways = `set ${env} (${file} in the configuration), or pass -m`
  throw new UsageError(`No model was given: ${ways}.`, {
    code: 'model_missing',
    hint: 'modelgate models shows those of the gateway; modelgate init makes one the default.',
  })
}

/** @param served the families that the endpoint takes */
function otherFamily({ id, family }: Model, served: readonly string[]): string {
  return `-m ${JSON.stringify(id)} belongs to ${family?.id}; this command takes models of ${served.join(', ')}.`
}

/** The model that the body names, unless `-m` names another: `-m` overrides `--body`, and `--set` overrides both. */
function modelOfBody({ model }: Body, options: CommonOptions): string | undefined {
  const isOverridden = options.model !== undefined && !isSet(options, 'model')
  return typeof model === 'string' && model !== '' && !isOverridden ? model : undefined
}
