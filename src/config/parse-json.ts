import { dangerousNames } from '../files/dangerous-names.ts'
import { findJsonError } from '../files/json-error.ts'
import { configError, quoted } from './problem.ts'
import { isMapping } from './setting-kind.ts'

/** Deeper than any configuration, and far from what would exhaust the stack. */
export const deepest = 64

/**
 * Reads JSON as data that is safe to walk.
 * @param file named in the messages, as `file:line:column`; no message repeats a value
 * @param part what of the document is ours; the rest is not looked at
 * @throws UsageError
 */
export function parseJson(file: string, text: string, part: (document: unknown) => unknown = whole): unknown {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    const error = findJsonError(text)
    const place = error === undefined ? file : `${file}:${error.line}:${error.column}`
    // Without the excerpt that the error has: it may be a key in the wrong place.
    const problem = error === undefined ? 'it cannot be read' : `expected ${error.expected}`
    throw configError(`${place}: not valid JSON: ${problem}.`)
  }
  checkShape(file, part(document))
  return document
}

function checkShape(file: string, root: unknown): void {
  const waiting = [{ value: root, depth: 1 }]
  for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
    const { value, depth } = item
    if (typeof value !== 'object' || value === null) continue
    if (depth > deepest) throw configError(`${file}: nested more than ${deepest} levels deep.`)
    if (isMapping(value)) {
      const name = Object.keys(value).find((key) => dangerousNames.has(key))
      if (name !== undefined) throw configError(`${file}: ${quoted(name)} is not allowed as a name.`)
    }
    for (const inner of Object.values(value)) waiting.push({ value: inner, depth: depth + 1 })
  }
}

function whole(document: unknown): unknown {
  return document
}
