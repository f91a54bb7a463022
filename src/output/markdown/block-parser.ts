export type Container =
  | { readonly kind: 'quote' }
  | {
      readonly kind: 'item'
      /** `3.` or `3)`, counted from the first item of its list. */
      readonly number: string | undefined
      readonly task: 'open' | 'done' | undefined
    }

export interface Fence {
  /** ```` ``` ```` or longer, or `~~~`. */
  readonly marks: string
  readonly info: string
}

export type Alignment = 'left' | 'right' | 'center'

/** The beginning of a block is shown before its end is known. */
export type BlockEvent =
  | { readonly type: 'open'; readonly container: Container }
  | { readonly type: 'close' | 'blank' | 'rule' | 'text-end' | 'table-end' }
  | { readonly type: 'text-begin'; readonly level: number | undefined }
  /** Its lines end with `\n`; without the white space at their beginning. */
  | { readonly type: 'text'; readonly text: string }
  /** `fence` is undefined for code that is only indented, and keeps its indentation. */
  | { readonly type: 'code-begin'; readonly fence: Fence | undefined }
  | { readonly type: 'code'; readonly text: string }
  | { readonly type: 'code-end'; readonly isClosed: boolean }
  | {
      readonly type: 'table-begin'
      readonly head: readonly string[]
      readonly alignments: readonly Alignment[]
    }
  | { readonly type: 'row'; readonly cells: readonly string[] }

interface Leaf {
  readonly type: 'paragraph' | 'heading' | 'code' | 'table'
  /** Of code; undefined where it is only indented. */
  readonly fence?: { readonly marks: string; readonly indent: number }
}

/** Lines of an item are indented by that many columns. */
interface Open {
  readonly container: Container
  readonly indent: number
}

/** What a line does; undefined as long as that is not known, and `line` if only its end will show. */
type Decision = (() => void) | 'line' | undefined

const maxStart = 1000
const maxRow = 8000
const maxEnd = 200
const maxDepth = 24

/**
 * Finds blocks while the text comes: of a line only as much is held back as it takes to know what it is. Which events
 * come depends on the characters alone, not on how they were cut.
 */
export class BlockParser {
  readonly #emit: (event: BlockEvent) => void
  readonly #containers: Open[] = []
  /** At each depth, if the next item follows. */
  readonly #lists: ({ readonly sign: string; next: number } | undefined)[] = []
  #leaf: Leaf | undefined
  /** A line that is the head of a table if the next one says so, else text. */
  #head: string | undefined
  #isDecided = false
  /** What is not decided of the line, or at the end of a heading. */
  #held = ''
  #takesLine = false
  #unpaired = ''

  constructor(emit: (event: BlockEvent) => void) {
    this.#emit = emit
  }

  push(piece: string): void {
    const text = this.#unpaired + piece
    this.#unpaired = unpairedEnd(text)
    this.#take(text.slice(0, text.length - this.#unpaired.length))
  }

  end(): void {
    this.#take(this.#unpaired)
    this.#unpaired = ''
    if (this.#isDecided || this.#held !== '') this.#endLine('')
    this.#closeTo(0)
    this.#lists.length = 0
  }

  #take(text: string): void {
    for (let from = 0; from < text.length;) {
      const end = text.indexOf('\n', from)
      const isPair = end > 0 && text[end - 1] === '\r'
      const lineEnd = end === -1 ? text.length : isPair ? end - 1 : end
      while (!this.#isDecided && from < lineEnd) this.#addToStart(text[from++]!)
      if (from < lineEnd) this.#emitMore(text.slice(from, lineEnd))
      if (end === -1) return
      this.#endLine(isPair ? '\r\n' : '\n')
      from = end + 1
    }
  }

  #addToStart(character: string): void {
    // A longer run says nothing new.
    const isRun = this.#held.length > 8 && this.#held.endsWith(character)
    this.#held += character
    const isLimit = this.#held.length > (/^[\s>]*\|/.test(this.#held) ? maxRow : maxStart)
    if ((isRun || this.#takesLine) && !isLimit) return
    const decision = isLimit ? this.#text(this.#held) : this.#decide(this.#held, false)
    this.#takesLine = decision === 'line'
    if (typeof decision !== 'function') return
    this.#held = ''
    this.#isDecided = true
    decision()
  }

  #emitMore(text: string): void {
    const { type } = this.#leaf!
    if (type === 'code') return this.#emit({ type, text })
    if (type !== 'heading') return this.#emit({ type: 'text', text })
    // Marks at the end of a heading are no part of it.
    const all = this.#held + text
    this.#held = /(?<![ \t])[ \t]+#*[ \t]*$/.exec(all.slice(-maxEnd))?.[0] ?? ''
    const shown = all.slice(0, all.length - this.#held.length)
    if (shown !== '') this.#emit({ type: 'text', text: shown })
  }

  #endLine(ending: string): void {
    if (!this.#isDecided) {
      const line = this.#held
      this.#held = ''
      this.#takesLine = false
      const decision = this.#decide(line, true)
      this.#isDecided = false
      if (typeof decision === 'function') decision()
      // Nothing was shown of the line but what it is.
      if (!this.#isDecided) return
    }
    this.#isDecided = false
    const type = this.#leaf?.type
    if (type === 'code') this.#emit({ type, text: ending })
    else if (type === 'heading') {
      this.#held = ''
      this.#closeLeaf()
    } else this.#emit({ type: 'text', text: '\n' })
  }

  #content(text: string): void {
    this.#isDecided = true
    if (text !== '') this.#emitMore(text)
  }

  #decide(line: string, isWhole: boolean): Decision {
    let rest = line
    let matched = 0
    for (const { container, indent } of this.#containers) {
      const isEmpty = isBlank(rest)
      if (isEmpty && !isWhole) return undefined
      if (container.kind === 'quote') {
        const [marker] = /^ {0,3}> ?/.exec(rest) ?? []
        if (marker === undefined) break
        rest = rest.slice(marker.length)
        if (rest === '' && !marker.endsWith(' ') && !isWhole) return undefined
      } else if (isEmpty || indentOf(rest) >= indent) rest = withoutIndent(rest, indent)
      else break
      matched++
    }
    const isAll = matched === this.#containers.length
    if (isAll && this.#leaf?.fence !== undefined) return this.#continueCode(this.#leaf.fence, rest, isWhole)
    if (isAll && this.#head !== undefined && /^[ \t]*[|:-][ \t|:-]*$/.test(rest)) {
      if (!isWhole) return undefined
      const alignments = delimiterRow(rest)
      const head = splitRow(this.#head)
      if (alignments?.length === head.length) {
        return () => {
          this.#head = undefined
          this.#closeLeaf()
          this.#openLeaf({ type: 'table' }, { type: 'table-begin', head, alignments })
        }
      }
    }
    return this.#startBlocks(rest, isWhole, matched)
  }

  #continueCode({ marks, indent }: NonNullable<Leaf['fence']>, rest: string, isWhole: boolean): Decision {
    const [, closing] = /^ {0,3}(`*|~*)[ \t]*$/.exec(rest) ?? []
    if (closing !== undefined && (closing === '' || closing[0] === marks[0])) {
      if (!isWhole) return undefined
      if (closing.startsWith(marks)) return () => this.#closeLeaf(true)
    }
    return () => this.#content(withoutIndent(rest, indent))
  }

  #startBlocks(line: string, isWhole: boolean, matched: number): Decision {
    const opened: (() => void)[] = []
    const begin = (action: () => void) => () => {
      this.#releaseHead()
      this.#closeTo(matched)
      for (const open of opened) open()
      action()
    }
    const isParagraph = this.#leaf?.type === 'paragraph' || this.#head !== undefined
    const isAll = matched === this.#containers.length
    for (let rest = line; ;) {
      if (isBlank(rest)) return isWhole ? begin(() => this.#emit({ type: 'blank' })) : undefined
      const indent = indentOf(rest)
      const text = rest.trimStart()
      const goesOn = isParagraph && opened.length === 0
      if (indent > 3) {
        if (goesOn) return () => this.#continueText(text)
        if (this.#leaf?.type === 'code' && isAll && opened.length === 0) return () => this.#content(rest)
        return begin(() => {
          this.#openLeaf({ type: 'code' }, { type: 'code-begin', fence: undefined })
          this.#content(rest)
        })
      }
      const canNest = matched + opened.length < maxDepth
      if (canNest && text.startsWith('>')) {
        if (text === '>' && !isWhole) return undefined
        opened.push(() => this.#open({ container: { kind: 'quote' }, indent: 0 }))
        rest = text.slice(1).replace(/^ /, '')
        continue
      }
      if (!isWhole && /^(?:#{1,6}|`{1,2}|~{1,2}|\d{1,9})$/.test(text)) return undefined
      const [heading, { length: level } = ''] = /^(#{1,6})(?:[ \t]+|$)/.exec(text) ?? []
      if (heading !== undefined) {
        return begin(() => {
          this.#openLeaf({ type: 'heading' }, { type: 'text-begin', level })
          this.#content(text.slice(heading.length))
        })
      }
      // Backticks in the same line make it code within text.
      const [, marks, info = ''] = /^(`{3,}(?=[^`]*$)|~{3,})(.*)$/.exec(text) ?? []
      if (marks !== undefined) {
        if (!isWhole) return 'line'
        return begin(() => {
          const fence = { marks, info: info.trim() }
          this.#openLeaf({ type: 'code', fence: { marks, indent } }, { type: 'code-begin', fence })
        })
      }
      if (/^(?:(?:\*[ \t]*)+|(?:_[ \t]*)+|(?:-[ \t]*)+)$/.test(text)) {
        if (!isWhole) return undefined
        if (text.replaceAll(/[ \t]/g, '').length >= 3) {
          return begin(() => {
            this.#lists[this.#containers.length] = undefined
            this.#emit({ type: 'rule' })
          })
        }
      }
      const [marker, digits, point] = (canNest && /^(?:[-*+]|(\d{1,9})([.)]))(?=[ \t]|$)/.exec(text)) || []
      if (marker !== undefined) {
        const content = text.slice(marker.length)
        const isEmpty = isBlank(content)
        if (isEmpty && !isWhole) return undefined
        // A number at the beginning of a line of text is rarely an item, unless it is the first.
        const isText = goesOn && isAll && (isEmpty || Number(digits ?? 1) !== 1)
        if (!isText) {
          const spaces = isEmpty || indentOf(content) > 4 ? 1 : indentOf(content)
          rest = withoutIndent(content, spaces)
          if (!isWhole && /^\[(?:[ xX]\]?)?$/.test(rest)) return undefined
          const [box, mark] = /^\[([ xX])\][ \t]+/.exec(rest) ?? []
          const task = mark === undefined ? undefined : mark === ' ' ? 'open' : 'done'
          opened.push(() => {
            const number = this.#number(point ?? marker, digits)
            this.#open({ container: { kind: 'item', number, task }, indent: indent + marker.length + spaces })
          })
          if (isEmpty) return begin(() => {})
          if (box !== undefined) return begin(() => this.#beginText(rest.slice(box.length)))
          continue
        }
      }
      if (text.startsWith('|')) {
        if (!isWhole) return 'line'
        if (this.#leaf?.type === 'table' && isAll && opened.length === 0) {
          return () => this.#emit({ type: 'row', cells: splitRow(text) })
        }
        const offer = () => void (this.#head = text)
        if (!goesOn) return begin(offer)
        return () => {
          this.#releaseHead()
          offer()
        }
      }
      return goesOn ? () => this.#continueText(text) : begin(() => this.#beginText(text))
    }
  }

  #text(line: string): () => void {
    if (this.#leaf?.fence !== undefined) return () => this.#content(line)
    if (this.#leaf?.type === 'paragraph') return () => this.#continueText(line.trimStart())
    return () => {
      this.#releaseHead()
      this.#closeLeaf()
      this.#beginText(line.trimStart())
    }
  }
  #beginText(text: string): void {
    this.#openLeaf({ type: 'paragraph' }, { type: 'text-begin', level: undefined })
    this.#content(text)
  }
  #continueText(text: string): void {
    this.#releaseHead()
    this.#content(text)
  }

  #releaseHead(): void {
    const head = this.#head
    if (head === undefined) return
    this.#head = undefined
    if (this.#leaf?.type !== 'paragraph') {
      this.#openLeaf({ type: 'paragraph' }, { type: 'text-begin', level: undefined })
    }
    this.#emit({ type: 'text', text: `${head}\n` })
  }

  #open(next: Open): void {
    if (next.container.kind === 'quote') this.#lists[this.#containers.length] = undefined
    this.#containers.push(next)
    this.#emit({ type: 'open', container: next.container })
  }
  #openLeaf(leaf: Leaf, event: BlockEvent): void {
    this.#leaf = leaf
    this.#lists[this.#containers.length] = undefined
    this.#emit(event)
  }
  #closeLeaf(isClosed = false): void {
    const type = this.#leaf?.type
    this.#leaf = undefined
    if (type === 'paragraph' || type === 'heading') this.#emit({ type: 'text-end' })
    else if (type === 'code') this.#emit({ type: 'code-end', isClosed })
    else if (type === 'table') this.#emit({ type: 'table-end' })
  }
  #closeTo(depth: number): void {
    this.#releaseHead()
    this.#closeLeaf()
    for (; this.#containers.length > depth; this.#containers.pop()) this.#emit({ type: 'close' })
    this.#lists.length = depth + 1
  }
  /** Items are counted from the first of their list, whatever their own numbers are. */
  #number(sign: string, digits: string | undefined): string | undefined {
    const depth = this.#containers.length
    if (this.#lists[depth]?.sign !== sign) this.#lists[depth] = { sign, next: Number(digits ?? 0) }
    return digits === undefined ? undefined : `${this.#lists[depth]!.next++}${sign}`
  }
}

/** The last character of a text if the next one may belong to it: half of a surrogate pair, or of a line end. */
export function unpairedEnd(text: string): string {
  return /[\r\ud800-\udbff]$/.exec(text.slice(-1))?.[0] ?? ''
}

function isBlank(text: string): boolean {
  return /^[ \t]*$/.test(text)
}

/** Columns of white space at the beginning; a tab counts as four. */
function indentOf(text: string): number {
  const [space = ''] = /^[ \t]+/.exec(text) ?? []
  return space.replaceAll('\t', '    ').length
}

/** Without that many columns of white space; what is left of a tab is spaces. */
function withoutIndent(text: string, columns: number): string {
  let at = 0
  let taken = 0
  for (; taken < columns && (text[at] === ' ' || text[at] === '\t'); at++) taken += text[at] === '\t' ? 4 : 1
  return ' '.repeat(Math.max(0, taken - columns)) + text.slice(at)
}

/** The columns that the line below the head of a table describes; undefined for any other line. */
function delimiterRow(text: string): Alignment[] | undefined {
  const cells = splitRow(text)
  if (!text.includes('|') || !cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => {
    if (!cell.endsWith(':')) return 'left'
    return cell.startsWith(':') ? 'center' : 'right'
  })
}

/** The cells of a row. A pipe after a backslash belongs to its cell, in code, too. */
function splitRow(line: string): string[] {
  const row = line
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '')
  return row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll(String.raw`\|`, '|'))
}
