import type { BlockHandler, Container } from './block-handler.ts'
import type { CodeHighlighter } from './code-highlight.ts'
import { languageOf } from './code-language.ts'
import { createInlineLooks, dim, headingLook, type Abilities } from './inline-looks.ts'
import { parseInline } from './inline-parser.ts'
import { createInlineStream, type InlineStream } from './inline-stream.ts'
import { plainLook, type LineWriter, type Look } from './line-writer.ts'
import { createDefinitions } from './link-targets.ts'
import { createTableLayout, type Cell, type TableLayout } from './table-layout.ts'
import type { Alignment } from './table-rows.ts'

/** Rows of a table that its widths are chosen from; later ones appear as they come. */
const measuredRows = 3
const codeIndent = ' '.repeat(4)
const bullets = ['•', '◦', '▪']
/** As much of a line of HTML or code as is held back. */
const maxLine = 2000
/** For tables and rules, where the width is unknown. */
const usualColumns = 80

/** @param highlighter for code whose fence names that language; undefined where it is shown as it is */
export function createBlockWriter(
  writer: LineWriter,
  abilities: Abilities,
  highlighter: (language: string) => CodeHighlighter | undefined,
): BlockHandler {
  const { colors } = abilities
  const faint: Look = colors ? { sgr: dim } : plainLook
  const definitions = createDefinitions()
  const containers: Container[] = []
  let inline: InlineStream | undefined
  /** Containers around an empty line that is still to be shown. */
  let emptyDepth: number | undefined
  let hasBegun = false
  let table: TableWriter | undefined
  /** Whether the code is marked by its indentation; else the marks around it. */
  let isIndented = false
  let fence = ''
  let highlight: CodeHighlighter | undefined
  /** The line so far, of HTML and of code with colours. */
  let line = ''
  const room = () => (writer.columns === 0 ? usualColumns : writer.room)

  const begin = () => {
    if (emptyDepth !== undefined && hasBegun) writer.emptyLine(emptyDepth)
    emptyDepth = undefined
    hasBegun = true
  }
  /** Text that is written by whole lines. */
  const takeLine = (text: string, write: (line: string) => void) => {
    line += text
    if (!line.endsWith('\n') && line.length < maxLine) return
    const ended = line.replace(/\r?\n$/, '')
    const ending = ended.length < line.length ? '\n' : ''
    line = ''
    write(ended)
    writer.verbatim(ending, plainLook)
  }
  const writeCode = (text: string) => {
    for (const run of highlight!.line(text)) writer.verbatim(run.text, colors ? run.look : plainLook)
  }
  const writeHtml = (text: string) => writer.verbatim(text, faint)
  const endLines = (write: (line: string) => void) => {
    if (line !== '') write(line)
    line = ''
    writer.endLine()
  }
  const cellOf =
    (isHead: boolean) =>
    (source: string): Cell => {
      const { pieces } = parseInline(source, { before: '', isWhole: true, definitions })
      const lines = pieces.map((piece) =>
        /^<br\s*\/?>$/i.test(piece.text) ? { ...piece, text: '\n', style: 0 } : piece,
      )
      return createInlineLooks(abilities, isHead ? '1' : '').runs(lines)
    }

  return {
    open(container) {
      begin()
      const depth = containers.filter(({ kind }) => kind === 'item').length
      containers.push(container)
      const first = container.kind === 'quote' ? '│ ' : `${markerOf(container, depth)} `
      const rest = container.kind === 'quote' ? first : ' '.repeat(first.length)
      writer.indents.push({ first, rest, look: container.kind === 'quote' ? faint : plainLook })
    },
    close() {
      writer.endLine()
      containers.pop()
      writer.indents.pop()
      if (emptyDepth !== undefined) emptyDepth = Math.min(emptyDepth, containers.length)
    },
    blank() {
      emptyDepth ??= containers.length
    },
    beginText(level) {
      begin()
      const heading = level === undefined ? undefined : headingLook(level, abilities)
      if (heading !== undefined) writer.text(heading.mark, plainLook)
      const looks = createInlineLooks(abilities, heading?.base)
      inline = createInlineStream(definitions, (pieces) => {
        for (const { text, look } of looks.runs(pieces)) writer.text(text, look)
      })
    },
    text: (text) => inline?.push(text),
    endText() {
      inline?.end()
      inline = undefined
      writer.endLine()
    },
    underline(level) {
      const width = Math.min(room(), Math.max(3, writer.lineWidth))
      writer.verbatim(`${(level === 1 ? '═' : '─').repeat(width)}\n`, faint)
    },
    beginCode(opening) {
      begin()
      highlight = undefined
      isIndented = opening === undefined
      if (opening === undefined) {
        writer.indents.push({ first: codeIndent, rest: codeIndent, look: plainLook })
        return
      }
      fence = opening.character.repeat(opening.length)
      writer.verbatim(`${fence}${opening.info}\n`, faint)
      highlight = highlighter(languageOf(opening.info))
    },
    code(text) {
      if (highlight !== undefined) takeLine(text, writeCode)
      else writer.verbatim(text.replace(/\r\n$/, '\n'), plainLook)
    },
    endCode(isClosed) {
      endLines(writeCode)
      if (isClosed) writer.verbatim(`${fence}\n`, faint)
      if (isIndented) writer.indents.pop()
    },
    beginHtml: begin,
    html: (text) => takeLine(text, writeHtml),
    endHtml: () => endLines(writeHtml),
    rule() {
      begin()
      writer.verbatim(`${'─'.repeat(Math.min(room(), usualColumns))}\n`, faint)
    },
    definition(text) {
      definitions.add(text)
      begin()
      writer.verbatim(`${text}\n`, faint)
    },
    beginTable(head, alignments, isBegun) {
      if (isBegun) {
        inline?.end()
        inline = undefined
        writer.flush()
      } else begin()
      table = createTableWriter(writer, head.map(cellOf(true)), alignments, { room, faint, isBegun })
    },
    row: (cells) => table?.add(fitting(cells, table.columns).map(cellOf(false))),
    endTable() {
      table?.end()
      table = undefined
    },
  }
}

function markerOf(item: Extract<Container, { kind: 'item' }>, depth: number): string {
  const { number, sign, task } = item
  const box = { open: '☐', done: '☑', none: '' }[task]
  if (number !== undefined) return box === '' ? `${number}${sign}` : `${number}${sign} ${box}`
  return box === '' ? bullets[depth % bullets.length]! : box
}

/** No more cells than columns. A pipe in code parts cells as well, and nothing that was written may be missing. */
function fitting(cells: readonly string[], columns: number): readonly string[] {
  if (cells.length <= columns) return cells
  return [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')]
}

interface TableWriter {
  readonly columns: number
  add(cells: readonly Cell[]): void
  end(): void
}

/** @param options.isBegun whether the first cell of the head has been written */
function createTableWriter(
  writer: LineWriter,
  head: readonly Cell[],
  alignments: readonly Alignment[],
  { room, faint, isBegun }: { readonly room: () => number; readonly faint: Look; readonly isBegun: boolean },
): TableWriter {
  const first: (readonly Cell[])[] = []
  let layout: TableLayout | undefined
  const write = (lines: readonly string[]) => {
    for (const line of lines) writer.dressedLine(line)
  }
  const lay = () => {
    const used = isBegun ? writer.used : 0
    layout = createTableLayout(head, first, alignments, room(), faint, used)
    if (isBegun) goOn(layout.head([[], ...head.slice(1)]), used)
    else write(layout.head(head))
    for (const row of first) write(layout.row(row))
  }
  /** The head follows its first cell, where that has left room for it. */
  const goOn = ([line = '', ...others]: readonly string[], used: number) => {
    const isRoom = line.startsWith(' '.repeat(used))
    if (isRoom && line !== '') writer.dressedLine(line.slice(used))
    else writer.endLine()
    write(isRoom || line === '' ? others : [line, ...others])
  }
  return {
    columns: head.length,
    add(cells) {
      if (layout !== undefined) return write(layout.row(cells))
      if (first.push(cells) === measuredRows) lay()
    },
    end() {
      if (layout === undefined) lay()
    },
  }
}
