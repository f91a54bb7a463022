/**
 * What a line of Markdown begins with, told from as little of it as possible (CommonMark 0.31.2, sections 4 and 5;
 * GFM 0.29, section 4.10). Each function gets the text behind the indentation, and whether the line ends with it;
 * `undefined` says that it takes more of the line to know.
 */

/** Whether the text is the whole rest of the line. */
export type IsWhole = boolean

export interface Fence {
  readonly character: string
  readonly length: number
  /** What the first line says of the code: its language is the first word. */
  readonly info: string
}

/** The opening fence of a block of code; false where there is none. */
export function openingFence(text: string, isWhole: IsWhole): Fence | false | undefined {
  const [, marks = ''] = /^(`+|~+)/.exec(text) ?? []
  if (marks === '') return false
  const rest = text.slice(marks.length)
  if (rest === '' && !isWhole) return undefined
  // Backticks in the same line make it a code span.
  if (marks.length < 3 || (marks.startsWith('`') && rest.includes('`'))) return false
  return isWhole ? { character: marks[0]!, length: marks.length, info: rest.trim() } : undefined
}

/** @param text the line from its container on, with its indentation */
export function isClosingFence(text: string, fence: Fence, isWhole: IsWhole): boolean | undefined {
  const [, marks] = /^ {0,3}(`*|~*)[ \t]*$/.exec(text) ?? []
  if (marks === undefined) return false
  if (marks !== '' && !marks.startsWith(fence.character)) return false
  if (!isWhole) return undefined
  return marks.length >= fence.length
}

/** The level of a heading (`## Heading`). */
export function headingLevel(text: string, isWhole: IsWhole): number | false | undefined {
  const [, marks, next] = /^(#{1,6})([^]?)/.exec(text) ?? []
  if (marks === undefined) return false
  if (next === '') return isWhole ? marks.length : undefined
  return next === ' ' || next === '\t' ? marks.length : false
}

/** The level of the heading that a line makes of the paragraph above it. */
export function underlineLevel(text: string, isWhole: IsWhole): 1 | 2 | false | undefined {
  if (!/^(?:=+|-+)[ \t]*$/.test(text)) return false
  if (!isWhole) return undefined
  return text.startsWith('=') ? 1 : 2
}

export function isRule(text: string, isWhole: IsWhole): boolean | undefined {
  if (!/^(?:(?:\*[ \t]*)+|(?:_[ \t]*)+|(?:-[ \t]*)+)$/.test(text)) return false
  if (!isWhole) return undefined
  return text.replaceAll(/[ \t]/g, '').length >= 3
}

export interface ListMarker {
  /** `-`, `*`, `+`, or what follows a number: `.` or `)`. */
  readonly sign: string
  /** The number of an ordered item. */
  readonly number: number | undefined
  /** Characters. */
  readonly length: number
  /** Whether nothing follows in its line. */
  readonly isEmpty: boolean
}

/** @param interrupts whether it would end a paragraph, which only some markers may */
export function listMarker(
  text: string,
  interrupts: boolean,
  isWhole: IsWhole,
): ListMarker | false | undefined {
  if (/^\d{1,9}$/.test(text)) return isWhole ? false : undefined
  const [marker, digits, point] = /^(?:[-*+]|(\d{1,9})([.)]))/.exec(text) ?? []
  if (marker === undefined) return false
  const rest = text.slice(marker.length)
  if (!/^(?:[ \t]|$)/.test(rest)) return false
  const isEmpty = rest.trim() === ''
  if (isEmpty && !isWhole) return undefined
  const number = digits === undefined ? undefined : Number(digits)
  if (interrupts && (isEmpty || (number ?? 1) !== 1)) return false
  return { sign: point ?? marker, number, length: marker.length, isEmpty }
}

/** How a block of HTML ends: with the line in which the pattern is found, or before an empty line. */
export interface HtmlBlock {
  readonly end: RegExp | undefined
}

const htmlStarts: readonly (readonly [RegExp, RegExp | undefined])[] = [
  [/^<(?:script|pre|textarea|style)(?:[\s>]|$)/i, /<\/(?:script|pre|textarea|style)>/i],
  [/^<!--/, /-->/],
  [/^<\?/, /\?>/],
  [/^<![A-Za-z]/, />/],
  [/^<!\[CDATA\[/, /\]\]>/],
  [
    /^<\/?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|track|ul)(?:\s|\/?>|$)/i,
    undefined,
  ],
]

const openTag =
  '<[A-Za-z][A-Za-z0-9-]*(?:\\s+[a-zA-Z_:][a-zA-Z0-9:._-]*(?:\\s*=\\s*(?:[^"\'=<>`\\x00-\\x20]+|\'[^\']*\'|"[^"]*"))?)*\\s*\\/?>'
const closeTag = '<\\/[A-Za-z][A-Za-z0-9-]*\\s*>'
/** An inline tag, comment, instruction, declaration or section of characters (section 6.6). */
export const htmlTag = new RegExp(
  `${openTag}|${closeTag}|<!-->|<!--->|<!--[^]*?-->|<\\?[^]*?\\?>|<![A-Za-z][^>]*>|<!\\[CDATA\\[[^]*?\\]\\]>`,
  'y',
)
const tagAtStart = new RegExp(`^(?:${openTag}|${closeTag})`)

/** @param interrupts whether it would end a paragraph, which a line with any single tag may not */
export function htmlBlock(
  text: string,
  interrupts: boolean,
  isWhole: IsWhole,
): HtmlBlock | false | undefined {
  if (!text.startsWith('<')) return false
  if (/^<(?:[A-Za-z][A-Za-z0-9+.-]*[:@]|[^A-Za-z/!?])/.test(text)) return false
  // The name of the tag may go on.
  if (!isWhole && /^<[/!]?[A-Za-z0-9[-]*$/.test(text)) return undefined
  const found = htmlStarts.find(([start]) => start.test(text))
  if (found !== undefined) return { end: found[1] }
  if (interrupts) return false
  const [tag] = tagAtStart.exec(text) ?? []
  if (tag === undefined) return text.includes('>') || isWhole ? false : undefined
  if (text.slice(tag.length).trim() !== '') return false
  return isWhole ? { end: undefined } : undefined
}

/** Whether a line may define where references lead to (`[label]: address "title"`). */
export function mayDefine(text: string, isWhole: IsWhole): boolean | undefined {
  if (!text.startsWith('[')) return false
  const [label, colon] = /^\[(?:[^\\[\]]|\\.)*\](:?)/s.exec(text) ?? []
  if (label === undefined) return isWhole || /^\[(?:[^\\[\]]|\\.)*\[/s.test(text) ? false : undefined
  if (colon === ':') return isWhole ? true : undefined
  return text.length > label.length || isWhole ? false : undefined
}

/** Whether a paragraph in a list item begins as a task does (`[x] `). */
export function taskState(text: string, isWhole: IsWhole): 'open' | 'done' | 'none' | undefined {
  const [, mark] = /^\[([ xX])\][ \t]/.exec(text) ?? []
  if (mark !== undefined) return mark === ' ' ? 'open' : 'done'
  const mayFollow = /^\[(?:[ xX]\]?)?$/.test(text)
  return mayFollow && !isWhole ? undefined : 'none'
}
