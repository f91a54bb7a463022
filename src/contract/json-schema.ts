import type { SavedFile } from './text-event.ts'

/** As much of JSON Schema (draft 2020-12) as the descriptions of the output need. */
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

/** Builders, each with its description. */
export const text = (description: string): JsonSchema => ({ type: 'string', description })
export const textOrNull = (description: string): JsonSchema => ({ type: ['string', 'null'], description })
export const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description })
export const countOrNull = (description: string): JsonSchema => ({
  type: ['integer', 'null'],
  minimum: 0,
  description,
})
export const anything = (description: string): JsonSchema => ({ description })
export const list = (items: JsonSchema, description: string): JsonSchema => ({
  type: 'array',
  items,
  description,
})
/** Every field of the type, none more: the compiler compares. All are always there; null says that there is nothing. */
export function object<Shape>(properties: Readonly<Record<keyof Shape & string, JsonSchema>>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

export const verified: JsonSchema = {
  type: 'boolean',
  description: 'false when neither the file nor its connection told whether all of it came',
}

/** What is told of every file that was written. */
export const savedFileFields: Readonly<Record<keyof SavedFile, JsonSchema>> = {
  path: text('where the file is'),
  bytes: count('its size'),
  sha256: { type: 'string', pattern: '^[0-9a-f]{64}$', description: 'its SHA-256 in hexadecimal' },
  mime_type: text('its media type'),
}
