/** What documents and events consist of: valibot schemas with a description each. */

import * as v from 'valibot'
import { outputVersion } from './version.ts'

/** A part of the output: written once, with its type and its JSON Schema derived from it. */
export type Schema<Value> = v.GenericSchema<unknown, Value>

export type Infer<Described extends v.GenericSchema> = v.InferOutput<Described>

type Properties = Readonly<Record<string, Schema<unknown>>>
type Shape<Fields extends Properties> = { readonly [Name in keyof Fields]: Infer<Fields[Name]> }

function described<Value>(schema: Schema<Value>, description: string): Schema<Value> {
  return v.pipe(schema, v.description(description))
}

const wholeNumber = v.pipe(v.number(), v.integer())
const natural = v.pipe(wholeNumber, v.minValue(0))
const positive = v.pipe(v.number(), v.minValue(0))

/** @typeParam Value a narrower type than any text, where the program knows the words */
export function text<Value extends string = string>(description: string): Schema<Value> {
  return described(v.string(), description) as Schema<Value>
}

export function textOrNull(description: string): Schema<string | null> {
  return orNull(v.string(), description)
}

export function textMatching(pattern: string, description: string): Schema<string> {
  return described(v.pipe(v.string(), v.regex(new RegExp(pattern))), description)
}

/** A whole number from 0 on. */
export function count(description: string): Schema<number> {
  return described(natural, description)
}

export function countOrNull(description: string): Schema<number | null> {
  return orNull(natural, description)
}

export function integerOrNull(description: string): Schema<number | null> {
  return orNull(wholeNumber, description)
}

export function number(description: string): Schema<number> {
  return described(v.number(), description)
}

export function numberOrNull(description: string): Schema<number | null> {
  return orNull(v.number(), description)
}

export function seconds(description: string): Schema<number> {
  return described(positive, description)
}

export function secondsOrNull(description: string): Schema<number | null> {
  return orNull(positive, description)
}

export function flag(description: string): Schema<boolean> {
  return described(v.boolean(), description)
}

/** A value whose shape the gateway decides. */
export function anything(description: string): Schema<unknown> {
  return described(v.unknown(), description)
}

export function oneOf<const Word extends string>(words: readonly Word[], description: string): Schema<Word> {
  return described(v.picklist(words), description)
}

export function list<Item>(items: Schema<Item>, description: string): Schema<readonly Item[]> {
  return described(v.array(items), description)
}

export function texts(description: string): Schema<readonly string[]> {
  return list(v.string(), description)
}

export function orNull<Value>(schema: Schema<Value>, description: string): Schema<Value | null> {
  return described(v.nullable(schema), description)
}

/** Every field is always present; null means no value. Readers must accept fields that a later version adds. */
export function object<const Fields extends Properties>(
  entries: Fields,
): Schema<Shape<Fields>> & { readonly entries: Fields } {
  return v.object(entries) as unknown as Schema<Shape<Fields>> & { readonly entries: Fields }
}

/** The shapes that several documents and events refer to: each stands once in the JSON Schema, under its name. */
export const definitions: Record<string, Schema<unknown>> = {}

/** Enters a shape in `definitions`. */
export function define<Value>(name: string, schema: Schema<Value>): Schema<Value> {
  definitions[name] = schema
  return schema
}

/** The union of events that a table describes, each with its `type`. */
export type EventsOf<Table extends Readonly<Record<string, Properties>>> = {
  [Type in keyof Table]: { readonly type: Type } & Shape<Table[Type]>
}[keyof Table]

/** The field that every document begins with. */
export const version: Schema<number> = described(v.literal(outputVersion), 'version of this description')

/** A document, which says first of which command it is. */
export function document<const Command extends string, const Fields extends Properties>(
  commands: readonly Command[],
  fields: Fields,
) {
  return object({ version, command: oneOf(commands, 'the command that ran'), ...fields })
}
