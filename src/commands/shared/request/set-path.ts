import { UsageError } from '../../../errors.ts'
import { parseJson } from '../../../files/parse-json.ts'
import { dangerousNames, type JsonObject } from '../../../json.ts'
import type { Body } from '../../../operations/operation.ts'
import { underFlag } from './flag-values.ts'

export interface Setting {
  /** At least one name or index. */
  readonly path: readonly string[]
  readonly value: unknown
}

const maxNames = 64

/**
 * `path.to.field=JSON`; `\.`, `\=`, `\[`, `\]` and `\\` in a name are the literal characters. The value must be JSON, so
 * that `"5"` and `5` stay different.
 * @throws UsageError `invalid_request`
 */
export function parseSet(text: string): Setting {
  const [, written, json = ''] = /^((?:\\[^]|[^\\=])*)=([^]*)$/.exec(text) ?? []
  if (written === undefined) throw invalid(`${shown(text)} has no "="`, `Write --set path.to.field=JSON.`)
  const path = splitPath(written)
  const { value, problem } = parseJson(json)
  if (problem === undefined) return { path, value }
  const isWord = /^[\w .:/-]{1,40}$/.test(json)
  const hint = isWord ? `Text needs quotes: --set '${written}="${json}"'` : undefined
  throw invalid(`the value of ${shown(written)} ${problem}`, hint)
}

/**
 * Missing objects are created. A number indexes an existing array or, if it is 0, creates one; the index after the last appends.
 * @param depth how much of the path leads to the container
 * @returns a copy with the value @throws UsageError `invalid_request` when the path leads through a text, a number or past
 *   the end of an array
 */
export function setPath(container: unknown, path: readonly string[], value: unknown, depth = 0): unknown {
  const name = path[depth]
  if (name === undefined) return value
  if (dangerousNames.has(name)) throw invalid(`the name "${name}" is not allowed`)
  const inside = (current: unknown) => setPath(current, path, value, depth + 1)
  const field = shown(path.slice(0, depth).join('.'))
  const isMissing = container === undefined || container === null
  if (Array.isArray(container) || (isMissing && name === '0')) {
    const entries = (container ?? []) as unknown[]
    const index = /^(?:0|[1-9][0-9]*)$/.test(name) ? Number(name) : -1
    if (index >= 0 && index <= entries.length) return entries.toSpliced(index, 1, inside(entries[index]))
    const range = `an array of ${entries.length}, so its index is 0 to ${entries.length}`
    throw invalid(`${field} is ${range}, not ${shown(name)}`)
  }
  if (!isMissing && typeof container !== 'object') throw invalid(`${field} is neither an object nor an array`)
  const fields = (container ?? {}) as JsonObject
  return { ...fields, [name]: inside(Object.hasOwn(fields, name) ? fields[name] : undefined) }
}

/** @param flag the flag that sets it, for the message */
export function setField(body: Body, path: readonly string[], value: unknown, flag = '--set'): void {
  const name = path[0]!
  body[name] = (underFlag(flag, () => setPath(body, path, value)) as Body)[name]
}

function splitPath(text: string): string[] {
  const names = ['']
  for (const [character] of text.matchAll(/\\?[^]/g)) {
    if (character === '.') names.push('')
    else if (character === '[' || character === ']') {
      // Other programs write indices so; here that would create a field of that name.
      const dotted = text
        .replaceAll('[]', '[0]')
        .replaceAll(/\[["']?([^\]"']*)["']?\]/g, '.$1')
        .replaceAll(/[[\]"']|^\./g, '')
      throw invalid(
        `${shown(text)} has brackets in its path`,
        `Write --set '${dotted}=…': a number is an index. \\[ and \\] stand for brackets in a name.`,
      )
    } else names.push(names.pop()! + character.at(-1))
  }
  if (names.includes('')) throw invalid(`${shown(text)} has an empty name in its path`)
  if (names.length > maxNames)
    throw invalid(`the path has ${names.length} names, at most ${maxNames} are allowed`)
  return names
}

function shown(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 37)}…` : text)
}

function invalid(clause: string, hint?: string): UsageError {
  return new UsageError(`${clause}.`, { code: 'invalid_request', hint })
}
