/** HTML that is whole: tags and quotes are closed, and everything from outside is escaped. */
export interface Markup {
  readonly html: string
}

type Insert = string | number | null | undefined | Markup | readonly Insert[]

/**
 * Writes HTML from a template. What is inserted is text, wherever it stands: in an element, or in an attribute, which the
 * template has to put in double quotes. Markup is inserted as it is, null as nothing.
 */
export function markup(parts: TemplateStringsArray, ...inserts: readonly Insert[]): Markup {
  return { html: parts.reduce((html, part, index) => html + htmlOf(inserts[index - 1]) + part) }
}

export const nothing: Markup = { html: '' }

function htmlOf(insert: Insert): string {
  if (insert === null || insert === undefined) return ''
  if (typeof insert === 'number') return String(insert)
  if (typeof insert === 'string') return escapeText(insert)
  return 'html' in insert ? insert.html : insert.map(htmlOf).join('')
}

const special = /[&<>"']/g

/** Text that is the same in an element and in an attribute, with what cannot be seen made visible. */
function escapeText(text: string): string {
  return visible(text).replace(special, (character) => `&#${character.charCodeAt(0)};`)
}

/**
 * Characters that are not shown, or that change how others are: C0 except tab and line feed, DEL, C1, separators of lines
 * and paragraphs, bidirectional controls, tag characters.
 */
const unseen =
  /\r\n|[\0-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Writes marks in place of characters that act without being seen: `␛`, `\u{202e}`. Half characters become `�`. */
export function visible(text: string): string {
  return text.toWellFormed().replace(unseen, (character) => {
    if (character === '\r\n') return '\n'
    const code = character.codePointAt(0)!
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    return code === 0x7f ? '␡' : `\\u{${code.toString(16)}}`
  })
}
