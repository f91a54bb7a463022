import { flagName, type Field, type Fields } from './field.ts'

/** A field of a request, by the name that users give it. */
export interface FieldFlag {
  /** Without dashes in front: `top-logprobs`. In a manifest it has underscores. */
  readonly name: string
  /** Where it is in the body. */
  readonly path: readonly string[]
  readonly field: Field
}

/** One flag for every field of a request, and for the known inner fields of its objects. */
export function flagsOf(fields: Fields, path: readonly string[] = []): FieldFlag[] {
  return Object.entries(fields).flatMap(([key, field]) => {
    const own =
      field.flag === false ? [] : [{ name: field.flag ?? flagName(key), path: [...path, key], field }]
    return [...own, ...flagsOf(field.fields ?? {}, [...path, key])]
  })
}

/** The allowed values, if the contract lists them. */
export function wordsOf(field: Field): readonly string[] | undefined {
  return field.values ?? field.known ?? field.items?.values ?? field.items?.known
}

/** A list of strings is given by repeating the flag. */
export function isList(field: Field): boolean {
  return field.type === 'array' && field.items?.type === 'string'
}
