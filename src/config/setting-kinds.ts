import * as v from 'valibot'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { Prices } from '../cost/prices.ts'
import type { DownloadHeaders, HeaderSources } from './headers.ts'
import { quoted } from './parse-config.ts'

/** The type of a setting, and how it is parsed from text (environment, command line). */
export interface Kind<Value> {
  readonly schema: v.GenericSchema<unknown, Value> | (() => Promise<v.GenericSchema<unknown, Value>>)
  /** By default a text is taken as it is. */
  fromText?(text: string): unknown
  /** Makes the paths in a value absolute, which are relative to the folder of the file that names it. */
  locate?(value: Value, absolute: (path: string) => string): Value
}

export const text: Kind<string> = {
  schema: oneLine('must be text'),
}

export const path: Kind<string> = {
  schema: oneLine('must be the path of a file or folder'),
  locate: (value, absolute) => absolute(value),
}

/** A folder, or the address of something else. */
export const place: Kind<string> = {
  schema: oneLine('must be a folder or an address'),
  locate: (value, absolute) => (/^[a-z][a-z\d+.-]+:/i.test(value) ? value : absolute(value)),
}

const secondsMessage = 'must be a number of seconds greater than 0'
export const seconds: Kind<number> = {
  schema: firstProblem(
    v.pipe(v.number(secondsMessage), v.finite(secondsMessage), v.gtValue(0, secondsMessage)),
  ),
  fromText: numberFrom,
}

const countMessage = 'must be a whole number from 0 to 100'
export const count: Kind<number> = {
  schema: firstProblem(
    v.pipe(
      v.number(countMessage),
      v.integer(countMessage),
      v.minValue(0, countMessage),
      v.maxValue(100, countMessage),
    ),
  ),
  fromText: numberFrom,
}

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])
export const boolean: Kind<boolean> = {
  schema: v.boolean('must be true or false'),
  fromText: (value) => booleanWords.get(value.toLowerCase()) ?? value,
}

const originMessage = 'must be an origin such as https://gateway.example'
export const origins: Kind<readonly string[]> = {
  schema: v.array(
    firstProblem(
      v.pipe(
        v.string(originMessage),
        v.regex(/^[Hh][Tt][Tt][Pp][Ss]?:\/\/[^/]/, originMessage),
        v.check((value) => URL.canParse(value), originMessage),
        v.transform((value) => new URL(value).origin),
      ),
    ),
    'must be a list of origins',
  ),
  fromText: (value) => value.split(/[\s,]+/).filter((part) => part !== ''),
}

function oneOf<const Word extends string>(words: readonly Word[]): Kind<Word> {
  return { schema: v.picklist(words, `must be one of ${words.join(', ')}`) }
}

/** From fewest to most retries. */
export const retryModes = ['never', 'safe', 'always'] as const
export const retryMode = oneOf(retryModes)

export const renderMode = oneOf(['auto', 'always', 'never'])

/** From least to most that is recorded of a call; `metadata`, of earlier versions, is the same as `off`. */
export const historyModes = ['off', 'metadata', 'full'] as const
export const historyMode = oneOf(historyModes)

/** The roots of the two styles, where they differ. */
export interface BaseUrls<Address = string> {
  readonly v1: Address
  readonly v1beta: Address
}

export const baseUrls: Kind<BaseUrls> = {
  schema: v.strictObject(
    { v1: oneLine('must be an address'), v1beta: oneLine('must be an address') },
    'must have the addresses v1 and v1beta',
  ),
}

export const headers: Kind<HeaderSources> = {
  // Loaded only where there are any.
  schema: async () => (await import('./headers.ts')).headerSources,
  fromText: (value) => value.split(/\r?\n/).filter((part) => part.trim() !== ''),
  locate: located,
}

export const downloadHeaders: Kind<DownloadHeaders> = {
  schema: async () => (await import('./headers.ts')).downloadHeaders,
  locate: (value, absolute) => mapped(value, (inner) => located(inner, absolute)),
}

function located(value: HeaderSources, absolute: (path: string) => string): HeaderSources {
  return mapped(value, (source) => (source.startsWith('@') ? `@${absolute(source.slice(1))}` : source))
}

function mapped<Value>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value) => Value,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))
}

export const prices: Kind<Prices> = {
  // Loaded only when a file has the setting.
  schema: async () => (await import('./model-prices.ts')).modelPrices,
}

export const families: Kind<ModelFamilies> = {
  // Loaded only when a file has the setting: it needs the limits of every endpoint.
  schema: async () => (await import('./model-families.ts')).modelFamilies,
}
/** A problem of a value: the keys inside the setting that lead to it, and a clause that follows its name. */
interface WrongValue {
  readonly keys: readonly string[]
  readonly problem: string
}

/** The converted value, or its problems. */
export async function parseValue<Value>(
  { schema }: Kind<Value>,
  input: unknown,
): Promise<{ readonly value: Value } | { readonly wrong: readonly WrongValue[] }> {
  if (input === null) return { wrong: [{ keys: [], problem: 'has no value' }] }
  const loaded = typeof schema === 'function' ? await schema() : schema
  const result = v.safeParse(loaded, input)
  if (result.success) return { value: result.output }
  return { wrong: result.issues.flatMap((issue) => problemsIn(issue)) }
}

/** What an issue says; of a value that has the outside of one of several forms (a mapping, a list), what is wrong inside. */
function problemsIn(
  { path, message, input, issues }: v.BaseIssue<unknown>,
  outer: readonly unknown[] = [],
): WrongValue[] {
  const keys = [...outer, ...(path?.map(({ key }) => key) ?? [])]
  const inside = (issues ?? []).filter((issue) => issue.path !== undefined || issue.kind === 'validation')
  if (inside.length > 0) return inside.flatMap((issue) => problemsIn(issue, keys))
  const item = keys.find((key) => typeof key === 'number')
  const place = item === undefined ? '' : `(item ${item + 1}) `
  const isValue = message.startsWith('must be')
  return [
    {
      keys: keys.filter((key) => typeof key === 'string'),
      problem: `${place}${message}${isValue ? `, not ${describeValue(input)}` : ''}`,
    },
  ]
}

/** An invalid value for a message. Long text is not quoted: it may be a misplaced API key. */
function describeValue(value: unknown): string {
  if (value === '') return 'empty'
  if (typeof value === 'string' && value.length <= 16) return quoted(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

/** Describes a value without quoting it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

/** Reports only the first problem of a value whose rules say the same in other words. */
function firstProblem<Schema extends v.GenericSchema>(schema: Schema): Schema {
  return v.config(schema, { abortPipeEarly: true })
}

/** Text that is not blank, without control characters. */
function oneLine(message: string) {
  return v.pipe(
    v.string(message),
    v.regex(/^(?=[\s\S]*\S)[^\u0000-\u001f\u007f]+$/, ({ input }) =>
      input.trim() === '' ? message : 'contains a line break or another control character',
    ),
  )
}

function numberFrom(value: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value
}
