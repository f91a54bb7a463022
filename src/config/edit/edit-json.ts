import { isObject } from '../../json.ts'

/** One change of a configuration file. */
export interface Change {
  /** The keys that lead to the value: `['timeout']`, `['profiles', 'work', 'base_url']`. */
  readonly path: readonly string[]
  /** JSON data; undefined removes the key. */
  readonly value: unknown
}

/**
 * The data of a file after a change; mappings on the way are created, and stay when they become empty.
 * @returns a copy; the document itself if there is nothing to change
 */
export function changedData(document: unknown, { path, value }: Change): unknown {
  const [key, ...rest] = path
  if (key === undefined) return value
  const mapping = isObject(document) ? document : {}
  const isThere = Object.hasOwn(mapping, key)
  const inner = isThere ? mapping[key] : undefined
  if (value === undefined && (!isThere || (rest.length > 0 && !isObject(inner)))) return document
  const next = changedData(inner, { path: rest, value })
  const entries = Object.entries(mapping)
  if (!isThere) return Object.fromEntries([...entries, [key, next]])
  return Object.fromEntries(
    entries.flatMap(([name, old]) =>
      name !== key ? [[name, old]] : next === undefined ? [] : [[name, next]],
    ),
  )
}

/** A JSON text after the changes, with its indentation. */
export function editJson(text: string, changes: readonly Change[]): string {
  const document = changes.reduce<unknown>(changedData, text.trim() === '' ? {} : JSON.parse(text))
  // A file in one line stays in one line.
  const [, indent] = /^[ \t]*[{[][ \t]*\r?\n([ \t]+)/.exec(text) ?? []
  const isOneLine = indent === undefined && /^\s*[{[]./.test(text) && !/^\s*\{\s*\}\s*$/.test(text)
  const edited = JSON.stringify(document, undefined, isOneLine ? undefined : (indent ?? 2))
  const [end] = /\s*$/.exec(text)!
  return edited + (text.trim() === '' ? '\n' : end)
}
