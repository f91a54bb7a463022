import { htmlTag } from './block-starts.ts'
import { code, createDelimiters, html, type DelimiterRun, type Link, type Piece } from './inline-pieces.ts'
import { entityAt, mayBeEntity, targetAt, type Definitions } from './link-targets.ts'

export interface InlineOptions {
  /** The character before the text; empty at the beginning of a block. */
  readonly before: string
  /** Whether no more text follows. */
  readonly isWhole: boolean
  /** Marks before this place that wait for others are text: too much has been held back for them. */
  readonly textUntil?: number
  readonly definitions: Definitions
}

export interface ParsedInline {
  /** What is decided, whatever follows. */
  readonly pieces: readonly Piece[]
  /** As much of the source as they are made from. */
  readonly length: number
  readonly waits: Wait
}

/**
 * What can decide: the `next` character, whatever it is; the end of code, of a tag, of the address of a link; a bracket;
 * or a mark that closes.
 */
export type Wait = 'next' | 'code' | 'tag' | 'address' | 'bracket' | 'closer'

interface Bracket {
  /** Its place among the pieces. */
  readonly place: number
  readonly isImage: boolean
  /** Behind it in the source. */
  readonly textStart: number
  /** Delimiter runs before it. */
  readonly bottom: number
  isActive: boolean
}

const special = /[\\`<&*_~![\]]/g
const autolink =
  /<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\0-\x20<>]*|[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*)>/y

/**
 * The inline structure of a text that may go on (CommonMark 0.31.2, section 6, with GitHub's strikethrough): all that
 * comes before the first mark whose meaning depends on what follows.
 */
export function parseInline(source: string, options: InlineOptions): ParsedInline {
  const { before, isWhole, textUntil = 0, definitions } = options
  const pieces: Piece[] = []
  const delimiters = createDelimiters(pieces)
  const brackets: Bracket[] = []
  let at = 0
  /** Where the first construct begins that is not complete, and what it waits for. */
  let undecided: number | undefined
  let waits: Wait = 'next'

  const add = (text: string, style = 0, mark?: Piece['mark'], link?: Link): void => {
    pieces.push({ text, style, link, mark, start: at })
  }
  /** Adds a piece of that many characters of the source. */
  const take = (length: number, text = source.slice(at, at + length), style = 0) => {
    add(text, style)
    at += length
  }
  /** The text may go on so that this is more than text. */
  const wait = (for_: Wait, length = 1) => {
    if (at < textUntil) return take(length)
    undecided = at
    waits = for_
  }
  const takeCode = () => {
    const [marks] = /^`+/.exec(source.slice(at))!
    const start = at + marks.length
    if (start === source.length && !isWhole) return wait('next', marks.length)
    for (let end = source.indexOf('`', start); end !== -1;) {
      const [closing] = /^`+/.exec(source.slice(end))!
      const behind = end + closing.length
      if (behind === source.length && !isWhole) return wait('next', marks.length)
      if (closing.length === marks.length) {
        add(marks, 0, 'style')
        add(codeText(source.slice(start, end)), code)
        add(marks, 0, 'style')
        return void (at = behind)
      }
      end = source.indexOf('`', behind)
    }
    if (isWhole) take(marks.length)
    else wait('code', marks.length)
  }
  const takeAngle = () => {
    autolink.lastIndex = at
    const [all, address] = autolink.exec(source) ?? []
    if (all !== undefined) {
      const url = /^[^:]*@/.test(address!) ? `mailto:${address}` : address!
      const link: Link = { kind: 'autolink', url, title: '' }
      add('<', 0, 'opening', link)
      add(address!, 0, undefined, link)
      add('>', 0, 'closing', link)
      return void (at += all.length)
    }
    htmlTag.lastIndex = at
    const [tag] = htmlTag.exec(source) ?? []
    if (tag !== undefined) return take(tag.length, tag, html)
    const rest = source.slice(at)
    const mayFollow =
      /^<(?:$|!(?:$|--|-$|\[)|\?)/.test(rest) || (/^<[A-Za-z/!]/.test(rest) && !rest.includes('>'))
    if (mayFollow && !isWhole) wait(rest.length > 2 ? 'tag' : 'next')
    else take(1)
  }
  const takeRun = () => {
    const character = source[at]!
    let end = at
    while (source[end] === character) end++
    if (end === source.length && !isWhole) return wait('next', end - at)
    const previous = at === 0 ? before : lastCharacter(source.slice(0, at))
    const next = end === source.length ? '' : String.fromCodePoint(source.codePointAt(end)!)
    delimiters.add(runOf(character, end - at, previous, next), at)
    at = end
    if (brackets.length === 0) delimiters.match(0, true)
  }
  const openBracket = (isImage: boolean) => {
    const bracket = {
      place: pieces.length,
      isImage,
      textStart: at + (isImage ? 2 : 1),
      bottom: delimiters.count,
      isActive: true,
    }
    brackets.push(bracket)
    take(isImage ? 2 : 1)
  }
  const closeBracket = () => {
    const bracket = brackets.at(-1)
    if (bracket === undefined) return take(1)
    if (!bracket.isActive) {
      brackets.pop()
      take(1)
      return matchOutside()
    }
    const found = linkBehind(bracket)
    const isText = pieces[bracket.place]!.start < textUntil
    if (found === undefined && !isText) return wait(source[at + 1] === '(' ? 'address' : 'next')
    brackets.pop()
    if (found === false || found === undefined) {
      take(1)
      return matchOutside()
    }
    delimiters.match(bracket.bottom, false)
    delimiters.drop(bracket.bottom)
    const { end, target } = found
    const link: Link = { ...target, kind: bracket.isImage ? 'image' : 'link' }
    const marks = pieces[bracket.place]!
    pieces[bracket.place] = { ...marks, mark: 'opening', link }
    for (const piece of pieces.slice(bracket.place + 1)) if (!piece.link || bracket.isImage) piece.link = link
    add(source.slice(at, end), 0, 'closing', link)
    at = end
    // A link holds no links.
    if (!bracket.isImage) for (const outer of brackets) if (!outer.isImage) outer.isActive = false
    matchOutside()
  }
  const matchOutside = () => {
    if (brackets.length === 0) delimiters.match(0, true)
  }
  const linkBehind = (bracket: Bracket) => {
    const next = source[at + 1]
    if (next === undefined && !isWhole) return undefined
    if (next === '(') {
      const found = targetAt(source, at + 1, isWhole)
      if (found !== false) return found
    }
    const own = source.slice(bracket.textStart, at)
    if (next === '[') {
      const [all, label] = /^\[((?:[^\\[\]]|\\.)*)\]/s.exec(source.slice(at + 1)) ?? []
      if (all === undefined && !isWhole && /^\[(?:[^\\[\]]|\\.)*\\?$/s.test(source.slice(at + 1)))
        return undefined
      const target = all === undefined ? undefined : definitions.find(label!.trim() === '' ? own : label!)
      if (target !== undefined) return { end: at + 1 + all!.length, target }
      if (all !== undefined && label!.trim() !== '') return false
    }
    const target = /^(?:[^\\[\]]|\\.)*$/s.test(own) && own.trim() !== '' ? definitions.find(own) : undefined
    return target === undefined ? false : { end: at + 1, target }
  }

  while (at < source.length && undecided === undefined) {
    special.lastIndex = at
    const place = special.exec(source)?.index ?? source.length
    if (place > at) {
      take(place - at)
      continue
    }
    const rest = at + 1 < source.length
    switch (source[at]) {
      case '\\': {
        const next = source[at + 1]
        if (next === undefined && !isWhole) wait('next')
        else if (next === '\n') take(2, '\n')
        else if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) take(2, next)
        else take(1)
        break
      }
      case '`':
        takeCode()
        break
      case '<':
        takeAngle()
        break
      case '&': {
        const found = entityAt(source, at)
        if (found !== undefined) take(found.length, found.text)
        else if (!isWhole && mayBeEntity(source.slice(at, at + 40))) wait('next')
        else take(1)
        break
      }
      case '!':
        if (!rest && !isWhole) wait('next')
        else if (source[at + 1] === '[') openBracket(true)
        else take(1)
        break
      case '[':
        openBracket(false)
        break
      case ']':
        closeBracket()
        break
      default:
        takeRun()
    }
  }
  const open = brackets.filter(({ isActive, place }) => isActive && pieces[place]!.start >= textUntil)
  if (isWhole || open.length === 0) delimiters.match(0, true)
  const ends = [
    undecided ?? source.length,
    ...open.map(({ place }) => pieces[place]!.start),
    delimiters.firstOpen(textUntil),
  ]
  const length = isWhole ? source.length : Math.min(...ends)
  if (undecided === undefined) waits = open.length > 0 ? 'bracket' : 'closer'
  return { pieces: pieces.filter(({ start, text }) => start < length && text !== ''), length, waits }
}

/** Line ends are spaces; one space is taken off each side, where there is anything else. */
function codeText(text: string): string {
  const line = text.replaceAll('\n', ' ')
  return /^ .* $/.test(line) && line.trim() !== '' ? line.slice(1, -1) : line
}

function lastCharacter(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$|[^]$/.exec(text.slice(-2))![0]
}

/** What a run of marks may do, by what is beside it (section 6.2). */
function runOf(character: string, length: number, before: string, after: string): DelimiterRun {
  const isSpace = (text: string) => text === '' || /^\s/u.test(text)
  const isPunctuation = (text: string) => /^[\p{P}\p{S}]/u.test(text)
  const opens = !isSpace(after) && (!isPunctuation(after) || isSpace(before) || isPunctuation(before))
  const closes = !isSpace(before) && (!isPunctuation(before) || isSpace(after) || isPunctuation(after))
  const isWord = character === '_'
  const isRun = character !== '~' || length <= 2
  return {
    character,
    length,
    canOpen: isRun && opens && (!isWord || !closes || isPunctuation(before)),
    canClose: isRun && closes && (!isWord || !opens || isPunctuation(after)),
  }
}
