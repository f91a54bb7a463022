/** What documents and events consist of: valibot schemas with a description each. */

import * as v from 'valibot'
import { outputVersion } from './version.ts'

/** A part of the output: written once, with its type and its JSON Schema derived from it. */
export type Schema<Value> = v.GenericSchema<unknown, Value>

export type Infer<Described extends v.GenericSchema> = v.InferOutput<Described>

type Properties = Readonly<Record<string, Schema<unknown>>>
type Shape<Fields extends Properties> = { readonly [Name in keyof Fields]: Infer<Fields[Name]> }

const described = <Value>(schema: Schema<Value>, description: string): Schema<Value> =>
  v.pipe(schema, v.description(description))

/** A kind of value: what describes one, and one that may be null. */
function kind<Value>(schema: Schema<Value>) {
  return [
    (description: string) => described(schema, description),
    (description: string) => orNull(description, schema),
  ] as const
}

const wholeNumber = v.pipe(v.number(), v.integer())

export const [, textOrNull] = kind(v.string())
export const [number, numberOrNull] = kind(v.number())
export const [flag] = kind(v.boolean())
export const [, integerOrNull] = kind(wholeNumber)
/** A whole number from 0 on. */
export const [count, countOrNull] = kind(v.pipe(wholeNumber, v.minValue(0)))
export const [seconds, secondsOrNull] = kind(v.pipe(v.number(), v.minValue(0)))
/** A value whose shape the gateway decides. */
export const [anything] = kind(v.unknown())
export const [sha256] = kind(v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)))
/** A word that stays the same: the code of an error. */
export const [stableWord] = kind(v.pipe(v.string(), v.regex(/^[a-z0-9_]+$/)))

/** @typeParam Value a narrower type than any text, where the program knows the words */
export const text = <Value extends string = string>(description: string) =>
  described(v.string(), description) as Schema<Value>

export const oneOf = <const Word extends string>(words: readonly Word[], description: string): Schema<Word> =>
  described(v.picklist(words), description)

/** What a list or a value that may be null consists of: a schema, or the fields of an object. */
type Content = Schema<unknown> | Properties
type ValueOf<Of extends Content> = Of extends Schema<unknown> ? Infer<Of> : Shape<Extract<Of, Properties>>

const contentOf = (content: Content) => ('~run' in content ? content : v.object(content)) as Schema<unknown>

export const list = <const Item extends Content>(description: string, item: Item) =>
  described(v.array(contentOf(item)), description) as Schema<readonly ValueOf<Item>[]>

export const texts = (description: string) => list(description, v.string())

export const orNull = <const Value extends Content>(description: string, value: Value) =>
  described(v.nullable(contentOf(value)), description) as Schema<ValueOf<Value> | null>

/** A command to paste, or none. */
export const commandOrNull = (description: string) => orNull(description, texts('words'))

/** Every field is always present; null means no value. Readers must accept fields that a later version adds. */
export function object<const Fields extends Properties>(
  entries: Fields,
): Schema<Shape<Fields>> & { readonly entries: Fields } {
  return v.object(entries) as unknown as Schema<Shape<Fields>> & { readonly entries: Fields }
}

/** The shapes that several documents and events refer to: each stands once in the JSON Schema, under its name. */
export const definitions: Record<string, Schema<unknown>> = {}

/** An object that enters `definitions`. */
export function shape<const Fields extends Properties>(name: string, entries: Fields) {
  return (definitions[name] = object(entries)) as Schema<Shape<Fields>>
}

/** The union of events that a table describes, each with its `type`. */
export type EventsOf<Table extends Readonly<Record<string, Properties>>> = {
  [Type in keyof Table]: { readonly type: Type } & Shape<Table[Type]>
}[keyof Table]

/** The field that every document begins with. */
export const version: Schema<number> = described(v.literal(outputVersion), 'version of this description')

export const warnings = texts('warnings of the command')

/** A document, which says first of which command it is. */
export function plainDocument<const Command extends string, const Fields extends Properties>(
  commands: readonly Command[],
  fields: Fields,
) {
  return object({ version, command: oneOf(commands, 'the command that ran'), ...fields })
}

/** One that ends with the warnings of the command. */
export function document<const Command extends string, const Fields extends Properties>(
  commands: readonly Command[],
  fields: Fields,
) {
  return plainDocument(commands, { ...fields, warnings })
}
