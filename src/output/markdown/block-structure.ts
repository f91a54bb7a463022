import type { BlockHandler, Container } from './block-handler.ts'
import {
  headingLevel,
  htmlBlock,
  isClosingFence,
  isRule,
  listMarker,
  mayDefine,
  openingFence,
  taskState,
  underlineLevel,
  type Fence,
  type HtmlBlock,
} from './block-starts.ts'
import { LineCursor } from './line-cursor.ts'
import { isDefinition } from './link-targets.ts'
import { delimiterRow, mayBeDelimiterRow, splitRow } from './table-rows.ts'

/** The block that lines are added to. */
export type Leaf =
  | { readonly kind: 'paragraph' | 'heading' | 'indented' | 'table' }
  | { readonly kind: 'fence'; readonly fence: Fence; readonly indent: number }
  | { readonly kind: 'html'; readonly block: HtmlBlock }

interface Nested {
  readonly container: Container
  /** Columns that the lines of an item are indented by. */
  readonly indent: number
  hasContent: boolean
}

/** The blocks that are open, and what the next line does to them. */
export interface BlockStructure {
  readonly leaf: Leaf | undefined
  /**
   * What a line does, as far as its beginning says; undefined as long as that is not known, and `line` if only the end
   * of the line will tell.
   * @param ending the end of the line, if it has come; `limit` where no more of it is held back
   */
  decide(line: string, ending: string | undefined): Decision
  /** The line that has ended may be the head of a table. */
  offerHead(head: TableHead): void
  closeLeaf(): void
  closeAll(): void
}

type Decision = (() => void) | 'line' | undefined

/** A line of a paragraph. */
export interface TableHead {
  /** As much of it as has been told. */
  readonly before: string
  readonly rest: string
}

/** Takes what a line holds behind all that says what it is. */
export interface LineContent {
  /** Of code and HTML. */
  raw(text: string): void
  /** @param mayBeHead whether a table may begin with the line */
  inline(text: string, mayBeHead: boolean): void
}

/** Deeper containers are text. */
const maxDepth = 24

/** The block structure of CommonMark (0.31.2, appendix "phase 1") and GitHub's tables, told before a line has ended. */
export function createBlockStructure(handler: BlockHandler, content: LineContent): BlockStructure {
  const containers: Nested[] = []
  /** The list that goes on at each depth, if its next item follows. */
  const lists: ({ readonly sign: string; readonly isOrdered: boolean; next: number } | undefined)[] = []
  let leaf: Leaf | undefined
  /** Empty lines in indented code, which may be behind it. */
  let emptyLines = ''
  let head: TableHead | undefined

  const closeLeaf = (isClosed = false) => {
    const { kind } = leaf ?? {}
    leaf = undefined
    if (kind === 'paragraph' || kind === 'heading') handler.endText()
    else if (kind === 'fence' || kind === 'indented') handler.endCode(isClosed)
    else if (kind === 'html') handler.endHtml()
    else if (kind === 'table') handler.endTable()
    if (kind === 'indented' && emptyLines !== '') handler.blank()
    emptyLines = ''
  }
  const closeTo = (depth: number) => {
    closeLeaf()
    for (; containers.length > depth; containers.pop()) handler.close()
    lists.length = depth + 1
  }
  const open = (container: Container, indent: number) => {
    if (containers.length > 0) containers.at(-1)!.hasContent = true
    if (container.kind === 'quote') lists[containers.length] = undefined
    containers.push({ container, indent, hasContent: false })
    handler.open(container)
  }
  const openLeaf = (next: Leaf) => {
    leaf = next
    if (containers.length > 0) containers.at(-1)!.hasContent = true
    lists[containers.length] = undefined
  }
  const numbered = (sign: string, number: number | undefined): number | undefined => {
    const depth = containers.length
    const isOrdered = number !== undefined
    const list = lists[depth]
    if (list?.sign !== sign || list.isOrdered !== isOrdered) {
      lists[depth] = { sign, isOrdered, next: number ?? 0 }
    }
    return isOrdered ? lists[depth]!.next++ : undefined
  }
  /** The line that might have been the head of a table is text. */
  const releaseHead = () => {
    if (head === undefined) return
    const { rest } = head
    head = undefined
    handler.text(`${rest}\n`)
  }

  const decide = (line: string, ending: string | undefined): Decision => {
    const isWhole = ending !== undefined
    const at = new LineCursor(line)
    let matched = 0
    for (const { container, indent, hasContent } of containers) {
      if (at.isBlank && !isWhole) return undefined
      if (container.kind === 'quote') {
        if (at.indent > 3 || !at.text.startsWith('>')) break
        at.takeText(1)
        if (at.rest === '' && !isWhole) return undefined
        at.takeIndent(1)
      } else if (at.isBlank) {
        if (!hasContent) break
        at.takeIndent(indent)
      } else if (at.indent >= indent) at.takeIndent(indent)
      else break
      matched++
    }
    const isAll = matched === containers.length
    if (isAll && (leaf?.kind === 'fence' || leaf?.kind === 'html' || leaf?.kind === 'indented')) {
      const goOn = continueLeaf(leaf, at, ending)
      if (goOn !== 'ends') return goOn
    }
    const isParagraph = leaf?.kind === 'paragraph'
    if (
      isAll &&
      ending !== 'limit' &&
      head !== undefined &&
      at.indent < 4 &&
      !at.isBlank &&
      mayBeDelimiterRow(at.text)
    ) {
      if (!isWhole) return undefined
      const begin = tableHead(at.text)
      if (begin !== undefined) return begin
    }
    return startBlocks(at, ending, matched, isAll && isParagraph)
  }

  const continueLeaf = (
    current: Extract<Leaf, { kind: 'fence' | 'html' }> | Leaf,
    at: LineCursor,
    ending: string | undefined,
  ): (() => void) | undefined | 'ends' => {
    const isWhole = ending !== undefined
    const { rest } = at
    if (current.kind === 'fence') {
      const closes = isClosingFence(rest, current.fence, isWhole && ending !== 'limit')
      if (closes === undefined && ending !== 'limit') return undefined
      if (closes) return () => closeLeaf(true)
      if (at.isBlank && !isWhole) return undefined
      at.takeIndent(Math.min(at.indent, current.indent))
      return () => content.raw(at.rest)
    }
    if (at.isBlank && !isWhole) return undefined
    if (current.kind === 'html') {
      if (at.isBlank && current.block.end === undefined) return 'ends'
      return () => content.raw(rest)
    }
    if (at.isBlank) {
      at.takeIndent(4)
      return () => void (emptyLines += `${at.rest}\n`)
    }
    if (at.indent < 4) return 'ends'
    at.takeIndent(4)
    return () => {
      handler.code(emptyLines)
      emptyLines = ''
      content.raw(at.rest)
    }
  }

  const startBlocks = (
    at: LineCursor,
    ending: string | undefined,
    matched: number,
    inParagraph: boolean,
  ): Decision => {
    const isWhole = ending !== undefined
    const opened: (() => void)[] = []
    let interrupts = inParagraph
    const hasParagraph = () => leaf?.kind === 'paragraph' && opened.length === 0
    const begin = (action: () => void) => () => {
      releaseHead()
      closeTo(matched)
      for (const next of opened) next()
      action()
    }
    for (;;) {
      if (at.isBlank) {
        if (!isWhole) return undefined
        return begin(() => handler.blank())
      }
      const { text } = at
      if (at.indent > 3) {
        if (hasParagraph()) break
        at.takeIndent(4)
        return begin(() => {
          openLeaf({ kind: 'indented' })
          handler.beginCode(undefined)
          content.raw(at.rest)
        })
      }
      const canNest = matched + opened.length < maxDepth && ending !== 'limit'
      if (canNest && text.startsWith('>')) {
        at.takeText(1)
        if (at.rest === '' && !isWhole) return undefined
        at.takeIndent(1)
        opened.push(() => open({ kind: 'quote' }, 0))
        interrupts = false
        continue
      }
      const heading = headingLevel(text, isWhole)
      if (heading === undefined) return undefined
      if (heading) {
        at.takeText(heading)
        at.takeIndent(at.indent)
        return begin(() => {
          openLeaf({ kind: 'heading' })
          handler.beginText(heading)
          content.inline(at.rest, false)
        })
      }
      const fence = ending === 'limit' ? false : openingFence(text, isWhole)
      if (fence === undefined) return /^(?:`{3}|~{3})/.test(text) ? 'line' : undefined
      if (fence) {
        const { indent } = at
        return begin(() => {
          openLeaf({ kind: 'fence', fence, indent })
          handler.beginCode(fence)
        })
      }
      const block = htmlBlock(text, hasParagraph(), isWhole)
      if (block === undefined) return undefined
      if (block) {
        return begin(() => {
          openLeaf({ kind: 'html', block })
          handler.beginHtml()
          content.raw(at.rest)
        })
      }
      const level = interrupts && ending !== 'limit' ? underlineLevel(text, isWhole) : false
      if (level === undefined) return undefined
      if (level) {
        return () => {
          releaseHead()
          closeLeaf()
          handler.underline(level)
        }
      }
      const rule = ending === 'limit' ? false : isRule(text, isWhole)
      if (rule === undefined) return undefined
      if (rule) {
        return begin(() => {
          lists[containers.length] = undefined
          if (containers.length > 0) containers.at(-1)!.hasContent = true
          handler.rule()
        })
      }
      const marker = canNest ? listMarker(text, interrupts, isWhole) : false
      if (marker === undefined) return undefined
      if (!marker) break
      const { indent } = at
      at.takeText(marker.length)
      const spaces = at.indent > 4 || marker.isEmpty ? 1 : at.indent
      at.takeIndent(spaces)
      const task = marker.isEmpty || at.indent > 3 ? 'none' : taskState(at.text, isWhole)
      if (task === undefined) return undefined
      if (task !== 'none') at.takeText(3)
      if (task !== 'none') at.takeIndent(at.indent)
      opened.push(() =>
        open(
          { kind: 'item', number: numbered(marker.sign, marker.number), sign: marker.sign, task },
          indent + marker.length + spaces,
        ),
      )
      interrupts = false
      if (marker.isEmpty) return begin(() => {})
      if (task !== 'none') break
    }
    return startText(at, ending, matched, opened, inParagraph, begin)
  }

  /** The line is text: of the paragraph above, of a new one, or of a table. */
  const startText = (
    at: LineCursor,
    ending: string | undefined,
    matched: number,
    opened: readonly (() => void)[],
    inParagraph: boolean,
    begin: (action: () => void) => () => void,
  ): Decision => {
    const isWhole = ending !== undefined
    const { text } = at
    if (leaf?.kind === 'paragraph' && opened.length === 0) {
      return () => {
        releaseHead()
        content.inline(text, inParagraph)
      }
    }
    if (leaf?.kind === 'table' && opened.length === 0 && matched === containers.length) {
      if (!isWhole) return 'line'
      if (ending !== 'limit') return () => handler.row(splitRow(text))
    }
    const defines = ending === 'limit' ? false : mayDefine(text, isWhole)
    if (defines === undefined) return text.includes(']:') ? 'line' : undefined
    return begin(() => {
      if (defines && isDefinition(text)) {
        handler.definition(text)
        lists[containers.length] = undefined
        if (containers.length > 0) containers.at(-1)!.hasContent = true
        return
      }
      openLeaf({ kind: 'paragraph' })
      handler.beginText(undefined)
      content.inline(text, true)
    })
  }

  const tableHead = (line: string): (() => void) | undefined => {
    const { before: told, rest } = head!
    const alignments = delimiterRow(line)
    const cells = splitRow(told + rest)
    if (alignments?.length !== cells.length) return undefined
    return () => {
      head = undefined
      const isBegun = told.trim() !== ''
      if (!isBegun) handler.endText()
      openLeaf({ kind: 'table' })
      handler.beginTable(cells, alignments, isBegun)
    }
  }

  return {
    get leaf() {
      return leaf
    },
    decide,
    offerHead: (offered) => void (head = offered),
    closeLeaf,
    closeAll() {
      releaseHead()
      closeTo(0)
      lists.length = 0
    },
  }
}
