import { characterEntities } from 'character-entities'

export const strong = 1
export const emphasis = 2
export const strikethrough = 4
export const code = 8
export const html = 16

export interface Piece {
  readonly text: string
  style: number
  link: Link | undefined
  /** Marks of a style are shown where the style cannot be; those of links and images stand around their text. */
  mark: 'style' | 'opening' | 'closing' | undefined
  readonly start: number
}

export interface Link {
  readonly kind: 'link' | 'image' | 'autolink'
  readonly url: string
  readonly text: string
  /** With a picture in it, which leads elsewhere. */
  readonly hasImage: boolean
}

/** A run of `*`, `_` or `~`, or `[` or `![`, that waits for the one that answers it. */
interface Opener {
  readonly mark: string
  /** Its place among the pieces; each mark of a run is one. */
  readonly place: number
  count: number
}

interface InlineOptions {
  /** Empty at the beginning of a block. */
  readonly before?: string
  readonly isWhole?: boolean
  /** Marks before this place that wait for others are text: too much has been held back for them. */
  readonly textUntil?: number
}

const special = /[\\`<&*_~![\]]/g
const address = /<((?:https?|ftp|mailto):[^\s<>]*|[^\s<>@]+@[^\s<>@]+\.[^\s<>@]+)>/y
const tag = /<\/?[A-Za-z][^<>\n]*>|<!--[^]*?-->/y
const entity = /&(?:#[xX]([0-9a-fA-F]{1,6})|#(\d{1,7})|([A-Za-z][A-Za-z0-9]{1,31}));/y
const escape = /[!-/:-@[-`{-~]/

/** What comes before the first mark whose meaning depends on what follows, and the length of its source. */
export function parseInline(
  source: string,
  { before = '', isWhole = true, textUntil = 0 }: InlineOptions = {},
): { readonly pieces: readonly Piece[]; readonly length: number } {
  const pieces: Piece[] = []
  const open: Opener[] = []
  let at = 0
  let undecided: number | undefined

  const add = (text: string, style = 0, mark?: Piece['mark'], link?: Link, start = at) =>
    void pieces.push({ text, style, link, mark, start })
  const take = (length: number, text = source.slice(at, at + length), style = 0) => {
    add(text, style)
    at += length
  }
  /** What follows may make this more than text. */
  const holdBack = (length = 1) => {
    if (isWhole || at < textUntil) take(length)
    else undecided = at
  }
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at
    return pattern.exec(source)
  }
  /** Code ends in its line: a backtick without a partner is commoner than code over several lines. */
  const takeCode = () => {
    const [{ length }] = match(/`+/y)!
    const start = at + length
    if (start === source.length) return holdBack(length)
    const marks = source.slice(at, start)
    const lineEnd = source.indexOf('\n', start)
    let end = source.indexOf(marks, start)
    while (end !== -1 && (source[end - 1] === '`' || source[end + length] === '`'))
      end = source.indexOf(marks, end + 1)
    if (end === -1 || (lineEnd !== -1 && end > lineEnd)) {
      if (lineEnd === -1) holdBack(length)
      else take(length)
    } else if (end + length === source.length && !isWhole) holdBack(length)
    else {
      const text = source.slice(start, end)
      add(marks, 0, 'style')
      add(/^ .*[^ ].* $/.test(text) ? text.slice(1, -1) : text, code)
      add(marks, 0, 'style')
      at = end + length
    }
  }
  const takeAngle = () => {
    const [all, url] = match(address) ?? []
    if (url !== undefined) {
      const whole = /^\w+:/.test(url) ? url : `mailto:${url}`
      const link: Link = { kind: 'autolink', url: whole, text: url, hasImage: false }
      add('', 0, 'opening', link)
      add(url, 0, undefined, link)
      add('', 0, 'closing', link)
      at += all!.length
      return
    }
    const found = match(tag)
    if (found !== null) take(found[0].length, found[0], html)
    else if (match(/<(?:[A-Za-z/][^<>\n]*|!(?:-(?:-[^]*)?)?)?$/y) !== null) holdBack()
    else take(1)
  }
  const takeRun = () => {
    const mark = source[at]!
    let end = at
    while (source[end] === mark) end++
    let count = end - at
    if (end === source.length && !isWhole) return holdBack(count)
    const previous = source[at - 1] ?? before
    const next = source[end] ?? ''
    let place = pieces.length
    for (; at < end; at++) add(mark)
    if (mark === '~' ? count !== 2 : count > 3) return
    // Within words underscores are names, and a single star is a multiplication.
    const isNoWord = mark === '_' || (mark === '*' && count === 1)
    if (isText(previous) && !(mark === '_' && isWord(next))) {
      for (let used = 0; count > 0; count -= used, place += used) {
        used = pair(mark, count, place)
        if (used === 0) break
      }
    }
    if (count > 0 && isText(next) && !(isNoWord && isWord(previous))) open.push({ mark, place, count })
  }
  const pair = (mark: string, count: number, place: number): number => {
    const same = open.findLastIndex((opener) => opener.mark === mark && opener.count === count)
    const index = same === -1 ? open.findLastIndex((opener) => opener.mark === mark) : same
    if (index === -1) return 0
    const opener = open[index]!
    const used = Math.min(opener.count, count, 2)
    const style = mark === '~' ? strikethrough : used === 2 ? strong : emphasis
    const begin = opener.place + opener.count - used
    for (const [at, piece] of pieces.slice(begin, place + used).entries()) {
      if (at < used || begin + at >= place) piece.mark = 'style'
      piece.style |= style
    }
    opener.count -= used
    // What was opened in between is text.
    open.length = opener.count === 0 ? index : index + 1
    return used
  }
  const closeBracket = () => {
    const index = open.findLastIndex(({ mark }) => mark.endsWith('['))
    if (index === -1) return take(1)
    if (at + 1 === source.length) return holdBack()
    const target = source[at + 1] === '(' ? targetAt(source, at + 1, isWhole) : 'none'
    if (target === 'undecided') return holdBack()
    const { mark, place } = open[index]!
    if (target === 'none') {
      open.splice(index, 1)
      return take(1)
    }
    open.length = index
    const inside = pieces.slice(place + 1)
    const isImage = mark === '!['
    const text = inside.map((piece) => (piece.mark === undefined ? piece.text : '')).join('')
    const hasImage = inside.some((piece) => piece.link !== undefined)
    const link: Link = { kind: isImage ? 'image' : 'link', url: target.url, text, hasImage }
    for (const piece of inside) if (isImage || piece.link === undefined) piece.link = link
    const opening = isImage ? '[image' + (text === '' ? '' : ': ') : ''
    pieces[place] = { ...pieces[place]!, text: opening, mark: 'opening', link }
    add(isImage ? ']' : '', 0, 'closing', link)
    at = target.end
  }
  const takeEntity = () => {
    const found = match(entity)
    const text = found === null ? undefined : entityText(found)
    if (text !== undefined) take(found![0].length, text)
    else if (match(/&#?\w{0,32}$/y) !== null) holdBack()
    else take(1)
  }

  while (at < source.length && undecided === undefined) {
    special.lastIndex = at
    const place = special.exec(source)?.index ?? source.length
    if (place > at) {
      take(place - at)
      continue
    }
    const next = source[at + 1]
    switch (source[at]) {
      case '\\':
        if (next === undefined) holdBack()
        else if (next === '\n' || escape.test(next)) take(2, next)
        else take(1)
        break
      case '`':
        takeCode()
        break
      case '<':
        takeAngle()
        break
      case '&':
        takeEntity()
        break
      case '!':
      case '[': {
        const mark = source[at] === '!' ? '![' : '['
        if (mark === '![' && next === undefined) holdBack()
        else if (mark === '![' && next !== '[') take(1)
        else {
          open.push({ mark, place: pieces.length, count: 1 })
          take(mark.length)
        }
        break
      }
      case ']':
        closeBracket()
        break
      default:
        takeRun()
    }
  }
  const starts = open.map(({ place }) => pieces[place]!.start).filter((start) => start >= textUntil)
  const length = isWhole ? source.length : Math.min(undecided ?? source.length, ...starts)
  return { pieces: pieces.filter(({ start }) => start < length), length }
}

/** `(address "title")` @param place where the parenthesis is */
function targetAt(
  source: string,
  place: number,
  isWhole: boolean,
): { readonly url: string; readonly end: number } | 'none' | 'undecided' {
  const whole =
    /\(\s*(<[^<>\n]*>|(?:[^\s()<\\]|\\.|\((?:[^\s()\\]|\\.)*\))*)(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/y
  whole.lastIndex = place
  const [all, url] = whole.exec(source) ?? []
  if (all !== undefined) {
    const plain = url!.replace(/^<(.*)>$/, '$1').replaceAll(/\\([!-/:-@[-`{-~])/g, '$1')
    return { url: plain.replaceAll(entityEverywhere, resolved), end: place + all.length }
  }
  const mayFollow = /\(\s*(?:<[^<>\n]*>?|[^\s<]\S*)?(?:\s+(?:"[^"]*"?|'[^']*'?)?)?\s*$/y
  mayFollow.lastIndex = place
  return !isWhole && mayFollow.test(source) ? 'undecided' : 'none'
}

const entityEverywhere = new RegExp(entity.source, 'g')

function resolved(all: string, ...groups: string[]): string {
  return entityText([all, ...groups]) ?? all
}

function entityText([, hexadecimal, decimal, name]: readonly (string | undefined)[]): string | undefined {
  if (name !== undefined) return Object.hasOwn(characterEntities, name) ? characterEntities[name] : undefined
  const character = hexadecimal === undefined ? Number(decimal) : Number.parseInt(hexadecimal, 16)
  const isCharacter = character > 0 && character <= 0x10_ffff && !(character >= 0xd800 && character <= 0xdfff)
  return isCharacter ? String.fromCodePoint(character) : '\ufffd'
}

function isText(character: string): boolean {
  return /\S/.test(character)
}

/** Of writing with spaces between words. */
function isWord(character: string): boolean {
  return /[\w\u00c0-\u052f]/.test(character)
}

/** Characters held back for a mark that may begin something. Then it is text, as one that no other answers is. */
const limits: Readonly<Record<string, number>> = {
  '*': 80,
  '**': 160,
  _: 80,
  '~~': 160,
  '`': 400,
  '<': 300,
  '&': 40,
}
const usualLimit = 120
const addressLimit = 2000

export function createInlineStream(emit: (pieces: readonly Piece[]) => void) {
  let held = ''
  let before = ''

  const parse = (options: InlineOptions) => {
    const { pieces, length } = parseInline(held, { before, ...options })
    if (length === 0) return
    before = held[length - 1]!
    held = held.slice(length)
    emit(pieces)
  }
  const add = (character: string) => {
    // Between two letters or digits nothing is decided.
    const mayDecide = /[^A-Za-z0-9]/.test(held.at(-1)! + character)
    held += character
    if (mayDecide) parse({ isWhole: false })
    const [mark = ''] = /^(?:\*{1,2}|~~|[^])/.exec(held) ?? []
    const isAddress = /\]\([^)\n]*$/.test(held)
    if (held.length <= (isAddress ? addressLimit : (limits[mark] ?? usualLimit))) return
    // All in the first half at once: whatever comes, little is read again and again.
    parse({ isWhole: false, textUntil: held.length >> 1 })
  }
  return {
    push(text: string): void {
      for (let at = 0; at < text.length;) {
        if (held !== '') {
          add(text[at++]!)
          continue
        }
        special.lastIndex = at
        const place = special.exec(text)?.index ?? text.length
        if (place > at) {
          emit([{ text: text.slice(at, place), style: 0, link: undefined, mark: undefined, start: 0 }])
          before = text[place - 1]!
        }
        held = text[place] ?? ''
        at = place + 1
      }
    },
    end(): void {
      if (held !== '') parse({ isWhole: true })
      before = ''
    },
  }
}
