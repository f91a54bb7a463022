import { characterEntities } from 'character-entities'

/** Where links lead to, as CommonMark writes it (0.31.2, sections 2.4, 2.5, 4.7 and 6.3). */
export interface LinkTarget {
  readonly url: string
  readonly title: string
}

/** Addresses by their labels, as far as they have been defined. */
export interface Definitions {
  find(label: string): LinkTarget | undefined
  /** @param line a definition */
  add(line: string): void
}

/** A text with more definitions than this is hostile. */
const maxDefinitions = 10_000

const escaped = '\\\\[!-/:-@[-`{-~]'
const title = `"(?:${escaped}|[^"\\\\]|\\\\)*"|'(?:${escaped}|[^'\\\\]|\\\\)*'|\\((?:${escaped}|[^()\\\\]|\\\\)*\\)`
const definition = new RegExp(
  `^\\[((?:[^\\\\[\\]]|\\\\.){1,999})\\]:[ \\t]*(<(?:[^<>\\\\]|\\\\.)*>|[^\\s<][^\\s]*)(?:[ \\t]+(${title}))?[ \\t]*$`,
  's',
)

export function createDefinitions(): Definitions {
  const targets = new Map<string, LinkTarget>()
  return {
    find: (label) => targets.get(normalised(label)),
    add(line) {
      const [, label = '', address = '', title = ''] = definition.exec(line) ?? []
      const key = normalised(label)
      if (!targets.has(key) && targets.size < maxDefinitions) {
        targets.set(key, { url: unescaped(withoutBrackets(address)), title: unescaped(title.slice(1, -1)) })
      }
    },
  }
}

/** Whether a line says where a label leads to: `[label]: address "title"`. */
export function isDefinition(line: string): boolean {
  return (definition.exec(line)?.[1] ?? '').trim() !== ''
}

function normalised(label: string): string {
  return label.trim().replaceAll(/\s+/g, ' ').toLowerCase().toUpperCase()
}

function withoutBrackets(address: string): string {
  return address.startsWith('<') ? address.slice(1, -1) : address
}

const entity = /&(?:#[xX]([0-9a-fA-F]{1,6})|#(\d{1,7})|([A-Za-z][A-Za-z0-9]{1,31}));/y

/** The entity at a place of a text, and what it stands for. */
export function entityAt(
  text: string,
  place: number,
): { readonly length: number; readonly text: string } | undefined {
  entity.lastIndex = place
  const [all, hexadecimal, decimal, name] = entity.exec(text) ?? []
  if (all === undefined) return undefined
  if (name !== undefined) {
    return Object.hasOwn(characterEntities, name)
      ? { length: all.length, text: characterEntities[name]! }
      : undefined
  }
  const code = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)
  const isCharacter = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code <= 0xdfff)
  return { length: all.length, text: isCharacter ? String.fromCodePoint(code) : '\ufffd' }
}

/** Whether the end of a text may be the beginning of an entity. */
export function mayBeEntity(text: string): boolean {
  return /^&(?:#?|#[xX]?[0-9a-fA-F]{0,7}|[A-Za-z][A-Za-z0-9]{0,31})$/.test(text)
}

/** Without the backslashes of escapes, and with what entities stand for. */
export function unescaped(text: string): string {
  return text.replaceAll(/\\([!-/:-@[-`{-~])|&[^;\s]{1,33};/g, (all, character: string | undefined) => {
    if (character !== undefined) return character
    const found = entityAt(all, 0)
    return found?.length === all.length ? found.text : all
  })
}

/**
 * The target behind the text of a link: `(address "title")`.
 * @param place where the parenthesis is
 * @returns undefined as long as it may become one
 */
export function targetAt(
  text: string,
  place: number,
  isWhole: boolean,
): { readonly end: number; readonly target: LinkTarget } | false | undefined {
  const undecided = isWhole ? false : undefined
  const skip = (from: number) => {
    let at = from
    while (at < text.length && /[ \t\n]/.test(text[at]!)) at++
    return at
  }
  let at = skip(place + 1)
  if (at === text.length) return undecided
  const start = at
  if (text[at] === '<') {
    const [address] = /^<(?:[^<>\n\\]|\\.)*>/.exec(text.slice(at)) ?? []
    if (address === undefined) return /^<(?:[^<>\n\\]|\\.)*\\?$/.test(text.slice(at)) ? undecided : false
    at += address.length
  } else {
    let depth = 0
    for (; at < text.length; at++) {
      const character = text[at]!
      if (character === '\\' && /[!-/:-@[-`{-~]/.test(text[at + 1] ?? '')) at++
      else if (character === '(') depth++
      else if (character === ')') {
        if (depth === 0) break
        depth--
      } else if (/[\0-\x20\x7f]/.test(character)) break
    }
    if (at >= text.length) return undecided
    if (depth > 0) return false
  }
  const url = unescaped(withoutBrackets(text.slice(start, at)))
  const behind = at
  at = skip(at)
  if (at >= text.length) return undecided
  if (text[at] === ')') return { end: at + 1, target: { url, title: '' } }
  if (at === behind) return false
  const quote = text[at]!
  if (!/["'(]/.test(quote)) return false
  const titleStart = at
  const close = quote === '(' ? ')' : quote
  for (at++; at < text.length && text[at] !== close; at++) {
    if (text[at] === '\\') at++
    else if (quote === '(' && text[at] === '(') return false
  }
  if (at >= text.length) return undecided
  const titleText = unescaped(text.slice(titleStart + 1, at))
  at = skip(at + 1)
  if (at >= text.length) return undecided
  return text[at] === ')' ? { end: at + 1, target: { url, title: titleText } } : false
}
