/**
 * Characters that could act on a terminal: C0 but tab and newline, DEL, C1, the bidirectional overrides and isolates,
 * tag characters. Characters are replaced, not sequences parsed, so that no cut between chunks can hide one.
 */
const acting = /\r\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
const everyActing = new RegExp(acting, 'gu')

/** Text that is safe to show on a terminal: what could act on it is shown as a mark instead (`ESC` as `␛`). */
export function sanitise(text: string): string {
  return acting.test(text) ? text.replace(everyActing, mark) : text
}

/**
 * JSON in which the same characters are written as escapes: the same document, safe to show.
 * Only for JSON without raw control characters, as `JSON.stringify` makes it.
 */
export function sanitiseJson(json: string): string {
  return acting.test(json) ? json.replace(everyActing, escapeUnits) : json
}

function mark(character: string): string {
  if (character === '\r\n') return '\n'
  const code = character.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
}

function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
  }).join('')
}
