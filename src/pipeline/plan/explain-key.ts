import type { FieldValue, Instance } from '../manifest/manifest.ts'

type FieldDigests = Readonly<Record<string, string>>

/**
 * What distinguishes a request from the one that was locked, a sentence for each field, with the files and references
 * that the field names. Empty when it is the number of the variant alone.
 * @param locked short digests of its fields, `$command` and `$gateway` among them
 */
export function explainKey(instance: Instance, locked: FieldDigests, current: FieldDigests): string[] {
  // A run that was killed had put the file in place, and not yet locked it.
  if (Object.keys(locked).length === 0) return ['What is there was made by another request.']
  const names = new Set([...Object.keys(current), ...Object.keys(locked)])
  return [...names].flatMap((name) => {
    if (locked[name] === current[name]) return []
    const shown = name.startsWith('$') ? `\`${name.slice(1)}\`` : `\`${name}\``
    if (!Object.hasOwn(current, name)) return [`${shown} was removed.`]
    const sources = sourcesOf(instance.fields[name])
    const from = sources.length === 0 ? '' : ` (${sources.join(', ')})`
    return [Object.hasOwn(locked, name) ? `${shown} changed${from}.` : `${shown} was added${from}.`]
  })
}

/** The files and references that a field takes its value from, as the manifest has them. */
function sourcesOf(field: FieldValue | undefined): readonly string[] {
  switch (field?.kind) {
    case 'text':
      return field.path === null ? [] : [field.path]
    case 'text of':
      return [field.reference.text]
    case 'files':
      return field.files.map(({ source }) => ('path' in source ? source.path : source.reference.text))
    default:
      return []
  }
}
