import { UsageError } from '../../errors.ts'

/** The one JSON text of a value (RFC 8785), without members that are undefined. @throws UsageError `wrong_type`; TypeError */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return canonicalString(value)
  if (value === null || typeof value === 'boolean') return String(value)
  if (Number.isFinite(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (isPlainObject(value)) {
    const members = Object.keys(value)
      .filter((name) => value[name] !== undefined)
      .sort()
      .map((name) => `${canonicalString(name)}:${canonicalJson(value[name])}`)
    return `{${members.join(',')}}`
  }
  throw new TypeError(`${typeof value === 'object' ? 'such an object' : String(value)} is not a JSON value`)
}

/** A text without byte-order mark, and with LF: checkouts differ in both. So it enters requests and keys. */
export function canonicalText(text: string): string {
  return text.replace(/^\ufeff/, '').replaceAll('\r\n', '\n')
}

function canonicalString(text: string): string {
  requireUnicode(text)
  return JSON.stringify(text)
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

/** Other objects, such as dates, would lose their content. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}
