import * as v from 'valibot'
import type { ModelFamilies } from '../contract/known-models.ts'
import type { Prices } from '../cost/prices.ts'
import type { DownloadHeaders, HeaderSources } from './headers.ts'
import { quoted } from './quoted.ts'
import type { JsonObject } from '../json.ts'

/** The type of a setting, and how it is parsed from text (environment, command line). */
export interface Kind<Value> {
  readonly schema: v.GenericSchema<unknown, Value> | (() => Promise<v.GenericSchema<unknown, Value>>)
  readonly fromText: (text: string) => unknown
  /** The same as JSON Schema, for editors; what it cannot express, it accepts. */
  readonly json: JsonObject | (() => Promise<JsonObject>)
  /** Makes the paths in a value absolute, which are relative to the folder of the file that names it. */
  locate?(value: Value, absolute: (path: string) => string): Value
}

const line = { type: 'string', pattern: String.raw`^(?=[\s\S]*\S)[^\u0000-\u001f\u007f]+$` }

export const text: Kind<string> = {
  schema: oneLine('must be text'),
  fromText: (value) => value,
  json: line,
}

export const path: Kind<string> = {
  schema: oneLine('must be the path of a file or folder'),
  fromText: (value) => value,
  json: line,
  locate: (value, absolute) => absolute(value),
}

/** A folder, or the address of something else. */
export const place: Kind<string> = {
  schema: oneLine('must be a folder or an address'),
  fromText: (value) => value,
  json: line,
  locate: (value, absolute) => (/^[a-z][a-z\d+.-]+:/i.test(value) ? value : absolute(value)),
}

const secondsMessage = 'must be a number of seconds greater than 0'
export const seconds: Kind<number> = {
  schema: v.pipe(
    v.number(secondsMessage),
    v.finite(secondsMessage),
    v.check((value) => value > 0, secondsMessage),
  ),
  fromText: numberFrom,
  json: { type: 'number', exclusiveMinimum: 0 },
}

const countMessage = 'must be a whole number from 0 to 100'
export const count: Kind<number> = {
  schema: v.pipe(
    v.number(countMessage),
    v.integer(countMessage),
    v.minValue(0, countMessage),
    v.maxValue(100, countMessage),
  ),
  fromText: numberFrom,
  json: { type: 'integer', minimum: 0, maximum: 100 },
}

const booleanWords: ReadonlyMap<string, boolean> = new Map([
  ...['true', 'yes', 'on', '1'].map((word) => [word, true] as const),
  ...['false', 'no', 'off', '0'].map((word) => [word, false] as const),
])
export const boolean: Kind<boolean> = {
  schema: v.boolean('must be true or false'),
  fromText: (value) => booleanWords.get(value.toLowerCase()) ?? value,
  json: { type: 'boolean' },
}

const originMessage = 'must be an origin such as https://gateway.example'
export const origins: Kind<readonly string[]> = {
  schema: v.array(
    v.pipe(
      v.string(originMessage),
      v.check((value) => /^https?:$/.test(URL.parse(value)?.protocol ?? ''), originMessage),
      v.transform((value) => new URL(value).origin),
    ),
    'must be a list of origins',
  ),
  fromText: (value) => value.split(/[\s,]+/).filter((part) => part !== ''),
  json: { type: 'array', items: { type: 'string', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/]' } },
}

/** From fewest to most retries. */
export const retryModes = ['never', 'safe', 'always'] as const
export const retryMode: Kind<(typeof retryModes)[number]> = {
  schema: v.picklist(retryModes, `must be one of ${retryModes.join(', ')}`),
  fromText: (value) => value,
  json: { enum: retryModes },
}

const renderModes = ['auto', 'always', 'never'] as const
export const renderMode: Kind<(typeof renderModes)[number]> = {
  schema: v.picklist(renderModes, `must be one of ${renderModes.join(', ')}`),
  fromText: (value) => value,
  json: { enum: renderModes },
}

/** From least to most that is recorded of a call. */
export const historyModes = ['off', 'metadata', 'full'] as const
export const historyMode: Kind<(typeof historyModes)[number]> = {
  schema: v.picklist(historyModes, `must be one of ${historyModes.join(', ')}`),
  fromText: (value) => value,
  json: { enum: historyModes },
}

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
  fromText: (value) => value,
  json: {
    type: 'object',
    properties: { v1: line, v1beta: line },
    required: ['v1', 'v1beta'],
    additionalProperties: false,
  },
}

const sources = { type: 'object', additionalProperties: { type: 'string', minLength: 1 } } as const

export const headers: Kind<HeaderSources> = {
  // Loaded only where there are any.
  schema: async () => (await import('./headers.ts')).headerSources,
  fromText: (value) => value.split(/\r?\n/).filter((part) => part.trim() !== ''),
  json: {
    anyOf: [sources, { type: 'array', items: { type: 'string', pattern: String.raw`^[^\s:]+:\s*\S` } }],
  },
  locate: located,
}

export const downloadHeaders: Kind<DownloadHeaders> = {
  schema: async () => (await import('./headers.ts')).downloadHeaders,
  fromText: (value) => value,
  json: { type: 'object', additionalProperties: sources },
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
  fromText: (value) => value,
  json: async () => (await import('./price-schema.ts')).priceSchema,
}

export const families: Kind<ModelFamilies> = {
  // Loaded only when a file has the setting: it needs the limits of every endpoint.
  schema: async () => (await import('./model-families.ts')).modelFamilies,
  fromText: (value) => value,
  json: async () => (await import('./family-schema.ts')).familySchema,
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
  const result = v.safeParse(loaded, input, { abortPipeEarly: true })
  if (result.success) return { value: result.output }
  return {
    wrong: result.issues.map(({ path: keys = [], message, input: wrong }) => {
      const item = keys.find(({ key }) => typeof key === 'number')?.key
      const place = item === undefined ? '' : `(item ${Number(item) + 1}) `
      const isValue = message.startsWith('must be')
      return {
        keys: keys.flatMap(({ key }) => (typeof key === 'string' ? [key] : [])),
        problem: `${place}${message}${isValue ? `, not ${describeValue(wrong)}` : ''}`,
      }
    }),
  }
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

function oneLine(message: string) {
  return v.pipe(
    v.string(message),
    v.check((value) => value.trim() !== '', message),
    v.check(
      (value) => !/[\u0000-\u001f\u007f]/.test(value),
      'contains a line break or another control character',
    ),
  )
}

function numberFrom(value: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value
}
