import type { FamilyId } from './families.ts'

/**
 * The vocabulary in which the specification's request tables are written down as data.
 * Commands read it for flags, help and checks; the sandbox reads the same data to accept or refuse.
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
  /** Values seen in public practice where the specification shows none: suggested, never enforced. */
  readonly known?: readonly string[]
  readonly min?: number
  readonly max?: number
  /** Characters of a string, entries of an array. */
  readonly minLength?: number
  readonly maxLength?: number
  readonly items?: Field
  /** Inner fields. Known from public practice unless said otherwise, so unknown names inside are let through. */
  readonly fields?: Fields
  readonly default?: string | number | boolean
  /** What to use instead of a deprecated field. */
  readonly deprecated?: string
  /** The flag's name, where it is not the field's name with dashes; false for none of its own. */
  readonly flag?: string | false
}

export type Fields = Readonly<Record<string, Field>>

/** A rule that ties fields together. */
export type Rule =
  | { readonly kind: 'exclusive'; readonly fields: readonly [string, string]; readonly about: string }
  | {
      readonly kind: 'requires'
      readonly field: string
      /** The values of the field that need it; any value when left out. */
      readonly when?: readonly (string | number | boolean)[]
      /** The other field, and the values of which it must have one. */
      readonly other: string
      readonly values: readonly (string | number | boolean)[]
      /** Leaving the other field out will do, because of its default. */
      readonly mayBeMissing?: true
      readonly about: string
    }

/** What one model family takes of an endpoint's fields: narrower limits, or false for a field it does not have. */
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
