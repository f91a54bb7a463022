import { sizeProblem, type SizeRule } from './size-rule.ts'
import { isObject } from '../json.ts'

// The specification's request tables as data: flags, help and checks follow from them, and the sandbox validates with them.

type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array'

export interface Field {
  readonly type: JsonType | readonly JsonType[]
  /** For `--help`, in the specification's words. */
  readonly about: string
  readonly required?: true
  readonly nullable?: true
  /** The closed set of allowed strings; of an array, that of its `items`. */
  readonly values?: readonly string[]
  /** Values from public practice where the specification lists none: suggested, never enforced. */
  readonly known?: readonly string[]
  /** Allowed besides `values`. */
  readonly size?: SizeRule
  readonly min?: number
  readonly max?: number
  /** Characters of a string, entries of an array. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: Field
  /** Inner fields. Known from public practice unless stated otherwise, so unknown names are allowed. */
  readonly fields?: Fields
  readonly default?: string | number | boolean
  readonly deprecated?: string
  /** Else the field's name with dashes; false if there is no flag. */
  readonly flag?: string | false
}

export type Fields = Readonly<Record<string, Field>>

type Facts = Omit<Field, 'type' | 'about'>

export const field = (type: Field['type'], about: string, facts: Facts = {}): Field => ({
  type,
  about,
  ...facts,
})
export const text = (about: string, facts?: Facts) => field('string', about, facts)
export const whole = (about: string, facts?: Facts) => field('integer', about, facts)
export const number = (about: string, facts?: Facts) => field('number', about, facts)
export const flag = (about: string, facts?: Facts) => field('boolean', about, facts)
export const object = (about: string, fields?: Fields, facts?: Facts) =>
  field('object', about, { ...facts, ...(fields && { fields }) })
export const list = (about: string, items: Field, facts?: Facts) => field('array', about, { ...facts, items })

export type Rule =
  | {
      readonly kind: 'exclusive'
      readonly fields: readonly [string, string]
      readonly about: string
      /** No limit: whoever uses both is warned, not refused. */
      readonly advice?: true
    }
  | {
      readonly kind: 'requires'
      readonly field: string
      /** Any value by default. */
      readonly when?: readonly (string | number | boolean)[]
      readonly other: string
      readonly values: readonly (string | number | boolean)[]
      /** Its default is allowed. */
      readonly mayBeMissing?: true
      readonly about: string
    }

/** Stricter limits of a model family, or false for an unsupported field. */
export type FamilyFields = Readonly<
  Record<string, Pick<Field, 'values' | 'size' | 'min' | 'max' | 'maxLength'> | false>
>

/** Those that have limits of their own for each family. */
export const familyEndpoints = ['image create', 'image edit', 'video create', 'video remix'] as const
export type FamilyEndpoint = (typeof familyEndpoints)[number]

/** For an edit (specification, Limits), by the names that documents have. */
export interface SourceLimits {
  readonly max_count: number
  /** Of each file. */
  readonly below_bytes: number
  readonly media_types: readonly string[]
  readonly square: boolean
}

/** Models with the same limits: of the specification, of public practice, or of a configuration. */
export interface Family {
  readonly id: string
  readonly kind: 'image' | 'video'
  readonly about: string
  readonly endpoints: Readonly<Partial<Record<FamilyEndpoint, FamilyFields>>>
  /** Undefined: only the rules for every model. */
  readonly sources?: SourceLimits
}

interface CheckedModel {
  readonly id: string
  readonly family: Family | undefined
}

/** A model in messages, with its family beside it: `dall-e-2 (image-model-b)`. */
export function subjectOf({ id, family }: CheckedModel): string {
  return family === undefined || family.id === id ? id : `${id} (${family.id})`
}

export interface Endpoint {
  readonly method: 'POST' | 'GET'
  /** Path below the base URL, with `{name}` for path parameters. */
  readonly path: string
  readonly fields: Fields
  readonly rules: readonly Rule[]
  /** About fields that not every model has: for the models of a family. */
  readonly familyRules?: readonly Rule[]
  /** In the limits of a family, where the specification distinguishes families. */
  readonly name?: FamilyEndpoint
  /** The public form of its errors. */
  readonly envelope: 'google' | 'openai'
}

/** `topLogprobs` and `top_logprobs` are both `top-logprobs`. */
export function flagName(field: string): string {
  return field
    .replaceAll('_', '-')
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, '')
}

export interface FieldFlag {
  /** Without dashes in front: `top-logprobs`. In a manifest it has underscores. */
  readonly name: string
  /** In the body. */
  readonly path: readonly string[]
  readonly field: Field
}

/** Known inner fields of objects have flags, too. */
export function flagsOf(fields: Fields, path: readonly string[] = []): FieldFlag[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const own =
      field.flag === false ? [] : [{ name: field.flag ?? flagName(key), path: [...path, key], field }]
    return [...own, ...flagsOf(field.fields ?? {}, [...path, key])]
  })
}

export function wordsOf(field: Field): readonly string[] | undefined {
  return field.values ?? field.known ?? field.items?.values ?? field.items?.known
}

/** A list of strings is given by repeating the flag. */
export function isList(field: Field): boolean {
  return field.type === 'array' && field.items?.type === 'string'
}

export interface Violation {
  /** In the body's own names: `generationConfig.topP`, `tools.0.type`. */
  readonly path: string
  readonly kind: 'required' | 'value' | 'unknown' | 'exclusive' | 'requires' | 'family'
  /** A clause after the field's name: "must be at most 2, not 3". */
  readonly problem: string
  /** Of an exclusive pair or a requirement. */
  readonly other?: string
}

/**
 * Unknown names are violations at the top level, but allowed inside objects, whose shapes the specification leaves open.
 * @param model the limits of its family apply, too; violations of them name it
 */
export function checkBody(
  endpoint: Pick<Endpoint, 'fields' | 'rules' | 'familyRules' | 'name'>,
  body: Readonly<Record<string, unknown>>,
  model?: CheckedModel,
): Violation[] {
  const violations: Violation[] = []
  const narrower = endpoint.name === undefined ? undefined : model?.family?.endpoints[endpoint.name]
  const forModel = narrower === undefined ? '' : ` for ${subjectOf(model!)}`
  for (const [name, wide] of Object.entries(endpoint.fields)) {
    const value = body[name]
    const limits = narrower?.[name]
    if (limits === false) {
      // False is what it is anyway without the field.
      const asksForIt = isGiven(body, name) && body[name] !== false
      if (asksForIt) violations.push({ path: name, kind: 'family', problem: `is not${forModel}` })
      continue
    }
    violations.push(
      ...(limits === undefined
        ? fieldProblems(wide, value, name)
        : fieldProblems({ ...wide, ...limits }, value, name, forModel)),
    )
  }
  for (const name of Object.keys(body)) {
    if (!Object.hasOwn(endpoint.fields, name) && body[name] !== undefined) {
      violations.push({ path: name, kind: 'unknown', problem: 'is not a field of this request' })
    }
  }
  const rules = [...endpoint.rules, ...(narrower === undefined ? [] : (endpoint.familyRules ?? []))]
  return [...violations, ...brokenRules(rules, body)]
}

export function ignoredAdvice(endpoint: Endpoint, body: Readonly<Record<string, unknown>>): Violation[] {
  return brokenRules(endpoint.rules, body, true)
}

function brokenRules(
  rules: readonly Rule[],
  body: Readonly<Record<string, unknown>>,
  isAdvice = false,
): Violation[] {
  const given = (name: string) => isGiven(body, name)
  return rules.flatMap((rule): Violation[] => {
    if ((rule.kind === 'exclusive' && rule.advice === true) !== isAdvice) return []
    if (rule.kind === 'exclusive') {
      const [path, other] = rule.fields
      return given(path) && given(other) ? [{ path, kind: 'exclusive', problem: rule.about, other }] : []
    }
    const { field, when, other, values, mayBeMissing } = rule
    const applies = given(field) && (when === undefined || when.includes(body[field] as never))
    const holds = given(other) ? values.includes(body[other] as never) : mayBeMissing === true
    return applies && !holds ? [{ path: field, kind: 'requires', problem: rule.about, other }] : []
  })
}

function isGiven(body: Readonly<Record<string, unknown>>, name: string): boolean {
  return body[name] !== undefined && body[name] !== null
}

/** Inside its value first: each wrong place in an object or an array is named. @param forModel ` for MODEL`, after limits */
function fieldProblems(field: Field, value: unknown, path: string, forModel = ''): Violation[] {
  if (value === undefined) return field.required ? [{ path, kind: 'required', problem: 'is required' }] : []
  if (value === null && field.nullable) return []
  const inner = innerProblems(field, value, path)
  if (inner.length > 0) return inner
  const types = typeof field.type === 'string' ? [field.type] : field.type
  // Of several allowed types the message is about the one that the value has.
  const type = types.length === 1 ? types[0] : types.find((one) => jsonTypes[one].has(value))
  const problem =
    type === undefined
      ? wanted(types.map((one) => jsonTypes[one].noun).join(' or '), value)
      : problemOf(type, field, value, forModel)
  return problem === undefined ? [] : [{ path, kind: 'value', problem }]
}

function innerProblems({ items, fields }: Field, value: unknown, path: string): Violation[] {
  if (Array.isArray(value) && items !== undefined) {
    return value.flatMap((entry: unknown, index) => fieldProblems(items, entry, `${path}.${index}`))
  }
  if (!isObject(value) || fields === undefined) return []
  return Object.entries(fields).flatMap(([name, inner]) =>
    fieldProblems(inner, value[name], `${path}.${name}`),
  )
}

const jsonTypes: Readonly<Record<JsonType, { readonly noun: string; has(value: unknown): boolean }>> = {
  string: { noun: 'text', has: (value) => typeof value === 'string' },
  integer: { noun: 'a whole number', has: Number.isSafeInteger },
  number: { noun: 'a number', has: (value) => typeof value === 'number' },
  boolean: { noun: 'true or false', has: (value) => typeof value === 'boolean' },
  object: { noun: 'an object', has: isObject },
  array: { noun: 'an array', has: Array.isArray },
}

function wanted(noun: string, value: unknown): string {
  return `must be ${noun}, not ${describeValue(value)}`
}

/** Long text is cut, so that a prompt never fills an error message. */
function describeValue(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 40 ? `${text.slice(0, 37)}…` : text
}

/** A value that breaks two rules (0.5 for a whole number from 1) is reported once. */
function problemOf(type: JsonType, field: Field, value: unknown, forModel: string): string | undefined {
  const { min = -Infinity, max = Infinity, values, size } = field
  if (type === 'string' && size !== undefined) {
    const problem = sizeProblem(size, values ?? [], value)
    return problem && `${problem}${forModel}, not ${describeValue(value)}`
  }
  if (type === 'string' && values !== undefined) {
    const isOne = values.some((one) => one === value)
    return isOne ? undefined : wanted(`one of ${values.join(', ')}${forModel}`, value)
  }
  const { noun, has } = jsonTypes[type]
  if (!has(value)) return wanted(noun, value)
  if (typeof value === 'number') {
    return value >= min && value <= max ? undefined : wanted(rangeText(field) + forModel, value)
  }
  return typeof value === 'string' || Array.isArray(value) ? lengthProblem(value, field, forModel) : undefined
}

function rangeText({ min, max }: Field): string {
  if (min === max) return `${min}`
  if (min === undefined) return `at most ${max}`
  return max === undefined ? `at least ${min}` : `from ${min} to ${max}`
}

/** Length in characters (code points, as the specification counts) or entries. */
function lengthProblem(
  value: string | readonly unknown[],
  { minLength = 0, maxLength = Infinity }: Field,
  forModel: string,
): string | undefined {
  // Counting the code points of a 100 MB prompt would be slow.
  if (value.length >= minLength && value.length <= maxLength) return undefined
  const length = lengthOf(value)
  const [one, many] = typeof value === 'string' ? ['character', 'characters'] : ['entry', 'entries']
  const noun = (bound: number) => `${bound} ${bound === 1 ? one : many}`
  if (length < minLength) return `must have at least ${noun(minLength)}, not ${length}`
  return length > maxLength ? `must have at most ${noun(maxLength)}${forModel}, not ${length}` : undefined
}

/** Counted without an array: the code points of a long prompt would fill the memory. */
function lengthOf(value: string | readonly unknown[]): number {
  if (typeof value !== 'string') return value.length
  let length = 0
  for (let at = 0; at < value.length; at += value.codePointAt(at)! > 0xffff ? 2 : 1) length++
  return length
}
