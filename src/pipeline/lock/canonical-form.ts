import { UsageError } from '../../errors.ts'
import { isObject } from '../../json.ts'

/** The one JSON text of a value of JSON (RFC 8785), without members that are undefined. @throws UsageError `wrong_type` */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isObject(value)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined)
    const members = names.sort().map((name) => `${canonicalJson(name)}:${canonicalJson(value[name])}`)
    return `{${members.join(',')}}`
  }
  if (typeof value === 'string') requireUnicode(value)
  return JSON.stringify(value)
}

/** A text without byte-order mark, and with LF: checkouts differ in both. So it enters requests and keys. */
export function canonicalText(text: string): string {
  return text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
}

export function requireUnicode(text: string): void {
  if (text.isWellFormed()) return
  const at = [...text].findIndex((character) => !character.isWellFormed())
  const start = JSON.stringify([...text].slice(0, at).join('').slice(-20))
  throw new UsageError(`A text is not valid Unicode: after ${start} there is half of a surrogate pair.`, {
    code: 'wrong_type',
    hint: 'Write the character itself instead of an escape such as \\ud83d.',
  })
}
