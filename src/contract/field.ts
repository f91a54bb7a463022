import type { FamilyId } from './families.ts'

/**
 * The types of the specification's request tables, written as data. Commands derive flags, help and checks from them;
 * the sandbox validates requests with the same data.
 */

export type JsonType = 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array'

export interface Field {
  readonly type: JsonType | readonly JsonType[]
  /** One line for `--help`, in the specification's words. */
  readonly about: string
  readonly required?: true
  readonly nullable?: true
  /** The closed set of allowed strings (or of array entries' strings, via `items`). */
  readonly values?: readonly string[]
  /** Values from public practice where the specification lists none: suggested, never enforced. */
  readonly known?: readonly string[]
  readonly min?: number
  readonly max?: number
  /** Characters of a string, entries of an array. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: Field
  /** Inner fields. Known from public practice unless stated otherwise, so unknown names are allowed. */
  readonly fields?: Fields
  readonly default?: string | number | boolean
  /** What to use instead of a deprecated field. */
  readonly deprecated?: string
  /** The flag's name, if it is not the field's name with dashes; false if there is no flag. */
  readonly flag?: string | false
}

export type Fields = Readonly<Record<string, Field>>

/** A rule about a combination of fields. */
export type Rule =
  | { readonly kind: 'exclusive'; readonly fields: readonly [string, string]; readonly about: string }
  | {
      readonly kind: 'requires'
      readonly field: string
      /** The values of the field that trigger it; any value by default. */
      readonly when?: readonly (string | number | boolean)[]
      /** The other field, and its allowed values. */
      readonly other: string
      readonly values: readonly (string | number | boolean)[]
      /** The other field may be missing, because its default is allowed. */
      readonly mayBeMissing?: true
      readonly about: string
    }

/** How a model family narrows an endpoint's fields: stricter limits, or false for an unsupported field. */
export type FamilyFields = Readonly<
  Record<string, Pick<Field, 'values' | 'min' | 'max' | 'maxLength'> | false>
>

export interface Endpoint {
  readonly method: 'POST' | 'GET'
  /** Path below the base URL, with `{name}` for path parameters. */
  readonly path: string
  readonly fields: Fields
  readonly rules: readonly Rule[]
  /** The families that the endpoint serves, where the specification distinguishes them. */
  readonly families?: Readonly<Partial<Record<FamilyId, FamilyFields>>>
  /** Which of the two public error envelopes this family of endpoints answers with. */
  readonly envelope: 'google' | 'openai'
}

/** A field name as a flag: `topLogprobs` and `top_logprobs` are both `top-logprobs`. */
export function flagName(field: string): string {
  return field
    .replaceAll('_', '-')
    .replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
    .replace(/^-/, '')
}
