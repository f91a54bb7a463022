/** Grows when a field is added or changed in meaning; readers may rely on fields never going away. */
export const outputVersion = 1

/** The part of JSON Schema (draft 2020-12) that the descriptions of the output need. */
export interface JsonSchema {
  readonly $schema?: string
  readonly $id?: string
  readonly title?: string
  readonly description?: string
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, JsonSchema>>
  readonly type?: string | readonly string[]
  readonly const?: string | number
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly pattern?: string
  readonly items?: JsonSchema
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly oneOf?: readonly JsonSchema[]
}

declare const described: unique symbol

/** A JSON Schema that knows the type it describes: each shape of the output is written once, and its type is derived. */
export interface Schema<Value> extends JsonSchema {
  readonly [described]?: () => Value
}

export type Infer<Described> = Described extends Schema<infer Value> ? Value : never

type Properties = Readonly<Record<string, Schema<unknown>>>
type Shape<Fields extends Properties> = { readonly [Name in keyof Fields]: Infer<Fields[Name]> }

/** @typeParam Value a narrower type than any text, where the program knows the words */
export function text<Value extends string = string>(description: string): Schema<Value> {
  return { type: 'string', description }
}

export function textOrNull(description: string): Schema<string | null> {
  return { type: ['string', 'null'], description }
}

export function textMatching(pattern: string, description: string): Schema<string> {
  return { type: 'string', pattern, description }
}

/** A whole number from 0 on. */
export function count(description: string): Schema<number> {
  return { type: 'integer', minimum: 0, description }
}

export function countOrNull(description: string): Schema<number | null> {
  return { type: ['integer', 'null'], minimum: 0, description }
}

export function integerOrNull(description: string): Schema<number | null> {
  return { type: ['integer', 'null'], description }
}

export function number(description: string): Schema<number> {
  return { type: 'number', description }
}

export function numberOrNull(description: string): Schema<number | null> {
  return { type: ['number', 'null'], description }
}

export function seconds(description: string): Schema<number> {
  return { type: 'number', minimum: 0, description }
}

export function secondsOrNull(description: string): Schema<number | null> {
  return { type: ['number', 'null'], minimum: 0, description }
}

export function flag(description: string): Schema<boolean> {
  return { type: 'boolean', description }
}

/** A value whose shape the gateway decides. The name of such a field belongs to `openFields` in `json-output.ts`. */
export function anything(description: string): Schema<unknown> {
  return { description }
}

export function oneOf<const Word extends string>(words: readonly Word[], description: string): Schema<Word> {
  return { enum: words, description }
}

export function list<Item>(items: Schema<Item>, description: string): Schema<readonly Item[]> {
  return { type: 'array', items, description }
}

export function texts(description: string): Schema<readonly string[]> {
  return list<string>({ type: 'string' }, description)
}

export function orNull<Value>(schema: Schema<Value>, description: string): Schema<Value | null> {
  return { oneOf: [schema, { type: 'null' }], description }
}

/** Every field is always present; null means no value. Readers must accept fields that a later version adds. */
export function object<const Fields extends Properties>(properties: Fields): Schema<Shape<Fields>> {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** A shape that several documents and events refer to. */
export interface Definition<Value> {
  readonly name: string
  readonly schema: Schema<Value>
  readonly reference: Schema<Value>
}

export function define<Value>(name: string, schema: Schema<Value>): Definition<Value> {
  return { name, schema, reference: { $ref: `#/$defs/${name}` } }
}

/** The union of events that a table describes, each with its `type`. */
export type EventsOf<Table extends Readonly<Record<string, Properties>>> = {
  [Type in keyof Table]: { readonly type: Type } & Shape<Table[Type]>
}[keyof Table]

/** The field that every document begins with. */
export const version: Schema<number> = {
  const: outputVersion,
  description: 'version of this description',
}
