import type { Field } from '../../src/contract/field.ts'

/** One valid value for a field, as a flag is given it and as the body holds it; a list of texts has two. */
export function sampleFor(field: Field): { readonly words: readonly string[]; readonly value: unknown } {
  const types = typeof field.type === 'string' ? [field.type] : field.type
  const word = field.values?.[0] ?? field.known?.[0] ?? 'some text'
  switch (types[0]) {
    case 'integer':
    case 'number': {
      const value = field.max ?? (field.min ?? 0) + 7
      return { words: [String(value)], value }
    }
    case 'boolean':
      return { words: [], value: true }
    case 'string':
      return { words: [word], value: word }
    case 'array': {
      if (field.items?.type !== 'string') return asJson([exampleObject(field.items)])
      const texts = [field.items.values?.[0] ?? field.items.known?.[0] ?? 'a', field.items.values?.[1] ?? 'b']
      return { words: texts, value: texts }
    }
    default:
      return asJson(exampleObject(field))
  }
}

/** An object with what is required, and a field that the contract does not know. */
function exampleObject(field: Field | undefined): Record<string, unknown> {
  const required = Object.entries(field?.fields ?? {}).filter(([, inner]) => inner.required)
  const entries = required.map(([name, inner]) => [name, sampleFor(inner).value])
  return { ...Object.fromEntries(entries), 'x-own': { deep: [1, null, 'é'] } }
}

const asJson = (value: unknown) => ({ words: [JSON.stringify(value)], value })
