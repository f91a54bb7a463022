import * as v from 'valibot'
import { quoted } from './problem.ts'

/** What a setting may hold, and how it is read from a place that has only text (environment, command line). */
export interface Kind<Value> {
  readonly schema: v.GenericSchema<unknown, Value>
  readonly fromText: (text: string) => unknown
  /** Relative to the folder of the file that names it; `~/` is the home directory. */
  readonly isPath?: true
}

export const text: Kind<string> = { schema: line('must be text'), fromText: (value) => value }

export const path: Kind<string> = {
  schema: line('must be the path of a file or folder'),
  fromText: (value) => value,
  isPath: true,
}

const secondsMessage = 'must be a number of seconds greater than 0'
export const seconds: Kind<number> = {
  schema: v.pipe(
    v.number(secondsMessage),
    v.finite(secondsMessage),
    v.check((value) => value > 0, secondsMessage),
  ),
  fromText: numberFrom,
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
}

export const truth: Kind<boolean> = {
  schema: v.boolean('must be true or false'),
  fromText: (value) =>
    ({ true: true, yes: true, on: true, 1: true, false: false, no: false, off: false, 0: false })[
      value.toLowerCase()
    ] ?? value,
}

export function choice<const Option extends string>(...options: readonly Option[]): Kind<Option> {
  return {
    schema: v.picklist(options, `must be one of ${options.join(', ')}`),
    fromText: (value) => value,
  }
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
}

/** Model id to family name; `none` for a model that belongs to no known family. */
export const families: Kind<Readonly<Record<string, string>>> = {
  schema: v.pipe(
    v.custom<Record<string, unknown>>(isMapping, 'must map model ids to families'),
    v.record(v.string(), line('must be the name of a family, or none')),
    // Without a prototype, a model called `constructor` has no family by accident.
    v.transform((mapping) => Object.assign(Object.create(null) as Record<string, string>, mapping)),
  ),
  fromText: (value) => value,
}

/** What is wrong with a value, as clauses that follow the setting's name; or the value as the program uses it. */
export function parseValue<Value>(
  kind: Kind<Value>,
  input: unknown,
): { readonly value: Value } | { readonly wrong: readonly string[] } {
  if (input === null) return { wrong: ['has no value'] }
  const result = v.safeParse(kind.schema, input, { abortPipeEarly: true })
  if (result.success) return { value: result.output }
  return {
    wrong: result.issues.map((issue) => {
      const inner = issue.path?.map(({ key }) =>
        typeof key === 'number' ? `item ${key + 1}` : quoted(String(key)),
      )
      return `${inner === undefined ? '' : `(${inner.join(', ')}) `}${issue.message}, not ${shown(issue.input)}`
    }),
  }
}

export function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Names a wrong value. Long text is not repeated: it may be a key that ended up in the wrong place. */
function shown(value: unknown): string {
  if (value === '') return 'empty'
  if (typeof value === 'string' && value.length <= 16) return quoted(value)
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : kindOf(value)
}

/** Names what something is, without repeating it. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'a mapping'
  return typeof value === 'string' ? 'text' : `a ${typeof value}`
}

function line(message: string) {
  return v.pipe(
    v.string(message),
    v.check((value) => value.trim() !== '', message),
    v.check((value) => !/[\u0000-\u001f\u007f]/.test(value), `${message} in one line`),
  )
}

function numberFrom(value: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : value
}
