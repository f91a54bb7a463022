import type { Settings } from '../../../config/settings.ts'
import type { Context } from '../../../context.ts'
import type { ConflictingNames } from '../../../contract/command-inputs.ts'
import { checkBody, ignoredAdvice, type Endpoint, type Violation } from '../../../contract/field.ts'
import type { Model } from '../../../contract/known-models.ts'
import { nearestName } from '../../../nearest-name.ts'
import { UsageError } from '../../../errors.ts'
import { isObject } from '../../../json.ts'
import type { Body } from '../../../operations/operation.ts'
import { isDryRun, type CommonOptions } from '../options/common-options.ts'
import { misspeltValues, type ContractFlag, valueOf } from './contract-flags.ts'
import {
  addMissingKey,
  configuredBaseUrl,
  isNotSetUp,
  readSettings,
  type CommandCall,
} from '../gateway/open-gateway.ts'
import { createGate, type Gate } from '../../../output/gate.ts'
import { createProblemList, type ProblemList } from '../../../problems.ts'
import { fieldValue, parseJsonFlag, underFlag } from './flag-values.ts'
import { parseSet, setField, type Setting } from './set-path.ts'
import { askText, canAsk } from '../input/questions.ts'

export interface ParsedCall<Options extends CommonOptions> {
  readonly context: Context
  readonly options: Options
  readonly words: readonly string[]
  /** Nothing else is read then. */
  readonly prompt?: string | undefined
}

export interface RequestShape {
  readonly endpoint: Endpoint
  readonly flags: readonly ContractFlag[]
  readonly conflicts?: readonly ConflictingNames[]
  /** What may hold the content, so that no prompt is needed: fields of the body, and flags whose value is such a part. */
  readonly content?: { readonly fields: readonly string[]; readonly flags: readonly string[] }
  /** Flags that set a field in another form, by the name of the field's own flag: messages name what was given. */
  readonly otherForms?: Readonly<Record<string, string>>
  /** As configuration and families call it. */
  readonly modelKind: keyof typeof sandboxModels
  /** The one that the sandbox has for it, if not every model of the kind will do. */
  readonly sandboxModel?: string
}

const sandboxModels = { text: 'sandbox-text', image: 'image-model-a', video: 'sandbox-video' } as const

/** Its problems are collected, to be thrown together. */
export interface Draft<Options extends CommonOptions = CommonOptions>
  extends RequestShape, ParsedCall<Options> {
  readonly gate: Gate
  readonly problems: ProblemList
  readonly body: Body
  readonly sets: readonly Setting[]
  /** Undefined if they could not be read, which is one of the problems. */
  readonly settings: Settings | undefined
}

/** Later sources win: `--body`, the flags of fields, what the command adds, `--set` and the model (`nameModel`). */
export async function startRequest<Options extends CommonOptions>(
  call: ParsedCall<Options>,
  shape: RequestShape,
): Promise<Draft<Options>> {
  const { context, options } = call
  const problems = createProblemList()
  const { check } = problems
  const settings = await check(() => readSettings(context, options))
  if (settings !== undefined && !options.sandbox) {
    await check(() => configuredBaseUrl(settings, modelVariable(shape)))
  }
  for (const names of shape.conflicts ?? []) {
    if (names.some((name) => valueOf(options, name) === undefined)) continue
    const [one, other] = names
    problems.add(new UsageError(`--${one} and --${other} cannot be used together.`))
  }
  const given =
    options.body === undefined ? {} : await check(() => parseJsonFlag(context, '--body', options.body!))
  if (given !== undefined && !isObject(given)) problems.add(new UsageError('--body must be a JSON object.'))
  const body = (isObject(given) ? given : {}) as Body
  for (const { name, path, field } of shape.flags) {
    const flag = `--${name}`
    const value = valueOf(options, name)
    if (value === undefined) continue
    await check(async () => setField(body, path, await fieldValue(context, flag, field, value), flag))
  }
  const sets: Setting[] = []
  for (const text of options.set ?? [])
    await check(() => void sets.push(underFlag('--set', () => parseSet(text))))
  return { ...shape, ...call, gate: createGate(context), problems, body, sets, settings }
}

/** The call, once nothing is wrong with its request. @throws UsageError, FileError with all problems */
export function finishedCall<Options extends CommonOptions>(draft: Draft<Options>): CommandCall<Options> {
  draft.problems.throwIfAny()
  return { ...draft, settings: draft.settings! }
}

/** A top-level field or part of it. */
export function isSet({ sets }: Draft, field: string): boolean {
  return sets.some(({ path }) => path[0] === field)
}

export function hasField(draft: Draft, field: string): boolean {
  return draft.body[field] !== undefined || isSet(draft, field)
}

/** Empty where nobody can be asked. @throws ModelgateError for a key that cannot be used: nothing is typed in vain */
export async function askFor({ context, options, settings }: Draft, question: string): Promise<string> {
  if (!canAsk(context, options.noInput)) return ''
  if (!options.sandbox && !isDryRun(options)) await settings?.apiKey()
  return await askText(context, question)
}

const isNamed = (model: unknown): model is string => typeof model === 'string' && model !== ''

/**
 * Applies `--set`, and names the model: that of `--set`, `-m`, `--body`, `carried` (of a conversation), then the configuration.
 * @returns undefined when none was named: the gateway chooses, or it is among the problems
 */
export async function nameModel(draft: Draft, carried?: string): Promise<Model | undefined> {
  const { endpoint, modelKind, options, body, settings, problems } = draft
  // Of an endpoint without one, the model is in the path.
  const { model: field } = endpoint.fields
  for (const { path, value } of draft.sets) await problems.check(() => setField(body, path, value))
  const id = await problems.check(async () => {
    const inBody = field && body['model']
    const set = isSet(draft, 'model') ? inBody : undefined
    const configured = settings?.[`${modelKind}Model`].value
    const named = [set, options.model, inBody, carried, configured].find(isNamed)
    const isFirst = settings !== undefined && !options.sandbox && (await isNotSetUp(settings))
    if (named === undefined && (isFirst || (field && !field.required))) return undefined
    const chosen = named ?? (await chooseModel(draft))
    // A model of another type stays in the body, where the check finds it.
    const isSetWrong = isSet(draft, 'model') && typeof inBody !== 'string'
    if (field && chosen !== undefined && !isSetWrong) body['model'] = chosen
    return chosen
  })
  if (settings !== undefined && problems.has('base_url_missing', 'model_missing')) {
    await addMissingKey(options, settings, problems)
  }
  if (id === undefined) return undefined
  // Models of text belong to no family, and most calls are theirs.
  if (modelKind === 'text') return { id, family: undefined, retires: undefined, source: undefined }
  const { modelCalled } = await import('../../../contract/known-models.ts')
  return modelCalled(id, settings?.families.value)
}

/** By every rule of the endpoint and of the model's family. @returns warnings, each a sentence */
export async function checkRequest(draft: Draft, model: Model | undefined): Promise<string[]> {
  const { endpoint, modelKind: kind, context, options, body, settings, problems } = draft
  const warnings: string[] = []
  if (kind !== 'text' && model !== undefined) {
    const { modelWarnings, familiesOf } = await import('../../../contract/known-models.ts')
    const configured = settings?.families.value
    warnings.push(...modelWarnings(model, { kind, configured, now: context.clock.now() }))
    const { id, family } = model
    const { name } = endpoint
    if (options.validate && name !== undefined && family !== undefined && !family.endpoints[name]) {
      const served = familiesOf(name).join(', ')
      const problem = `-m ${JSON.stringify(id)} belongs to ${family.id}; this command takes models of ${served}.`
      problems.add(new UsageError(problem, { code: 'invalid_request' }))
    }
  }
  if (!options.validate) return warnings
  await problems.check(() => throwViolations(draft, model))
  for (const { path, other = '', problem } of ignoredAdvice(endpoint, body)) {
    warnings.push(`${flagFor(path, draft)} and ${flagFor(other, draft)} are used together: ${problem}.`)
  }
  return warnings
}

function throwViolations(draft: Draft, model: Model | undefined): void {
  const { endpoint, flags, options, body, problems } = draft
  // If some input could not be read, missing fields are not reported.
  const isPartial = problems.any
  const violations = checkBody(endpoint, body, model).filter(({ kind, path }) => {
    // A field set with --set is intentional, even if it is unknown.
    if (kind === 'unknown') return !isSet(draft, path)
    return kind !== 'required' || !isPartial || path.includes('.')
  })
  const slips = misspeltValues(flags, options).filter(({ path }) => {
    return !isSet(draft, path.split('.')[0]!) && !violations.some((violation) => violation.path === path)
  })
  const sentences = [...violations, ...slips].map((violation) => sentence(violation, draft))
  if (sentences.length === 0) return
  throw new UsageError(sentences, {
    code: 'invalid_request',
    // `--no-validate` does not help against other problems.
    hint: isPartial
      ? '--no-validate skips the checks against the documented limits.'
      : '--no-validate sends it anyway.',
  })
}

function sentence({ path, kind, problem, other }: Violation, draft: Draft): string {
  if (kind === 'unknown') {
    const known = nearestName(path, Object.keys(draft.endpoint.fields))
    return `"${path}" ${problem}${known === undefined ? '.' : `; did you mean "${known}"?`}`
  }
  const flag = flagFor(path, draft)
  const otherFlag = flagFor(other ?? '', draft)
  if (kind === 'exclusive') return `${flag} and ${otherFlag} cannot be used together: ${problem}.`
  if (kind === 'requires') return `${flag} needs ${otherFlag}: ${problem}.`
  return `${flag} ${problem}.`
}

/** Its own, or that of the object around it with the path. */
function flagFor(path: string, { flags, otherForms, options }: Draft): string {
  const around = flags.filter((flag) => `${path}.`.startsWith(`${flag.path.join('.')}.`))
  const [flag] = around.toSorted((a, b) => b.path.length - a.path.length)
  if (flag === undefined) return path
  const other = otherForms?.[flag.name]
  const isOther = other !== undefined && valueOf(options, other) !== undefined
  const name = `--${isOther ? other : flag.name}`
  return flag.path.join('.') === path ? name : `${name}: ${path}`
}

const modelVariable = ({ modelKind }: RequestShape) => `MODELGATE_${modelKind.toUpperCase()}_MODEL`

/** Settings that could not be read may have a model. */
async function chooseModel(draft: Draft): Promise<string | undefined> {
  const { modelKind, sandboxModel, options, settings, problems } = draft
  if (settings === undefined) return undefined
  if (options.sandbox) return sandboxModel ?? sandboxModels[modelKind]
  const answer = problems.any ? '' : (await askFor(draft, 'Model:')).trim()
  if (answer !== '') return answer
  const ways = `set ${modelVariable(draft)} (${modelKind}_model in the configuration), or pass -m`
  throw new UsageError(`No model was given: ${ways}.`, {
    code: 'model_missing',
    hint: 'modelgate models shows those of the gateway; modelgate init makes one the default.',
  })
}
