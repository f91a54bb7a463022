import { sanitise } from '../gate.ts'
import { plainLook, type LineWriter, type Look, type Run } from '../line-writer.ts'
import type { BlockEvent, Container } from './block-parser.ts'
import type { CodeHighlighter } from './code-highlight.ts'
import { languageOf } from './code-language.ts'
import {
  createInlineStream,
  parseInline,
  code,
  emphasis,
  html,
  strikethrough,
  strong,
  type Link,
  type Piece,
} from './inline-parser.ts'
import { createTable, type Cell } from './table.ts'

export interface Abilities {
  /** Bold, italic and the like, too. Without them, marks are shown as they were written. */
  readonly colors: boolean
  /** Links (OSC 8). Without them, their addresses are shown in parentheses. */
  readonly hyperlinks: boolean
}

const bullets = ['•', '◦', '▪']
const maxLine = 2000
const usualColumns = 80

/** @param highlighter for code whose fence names that language, asked for with its first line */
export function createBlockWriter(
  writer: LineWriter,
  abilities: Abilities,
  highlighter: (language: string) => CodeHighlighter | undefined,
): (event: BlockEvent) => void {
  const { colors } = abilities
  const faint = colors ? faintLook : plainLook
  const containers: Container[] = []
  /** Around an empty line that is still to be shown. */
  let emptyDepth: number | undefined
  let hasBegun = false
  let inline: ReturnType<typeof createInlineStream> | undefined
  let table: ReturnType<typeof createTable> | undefined
  let fence: string | undefined
  let language: string | undefined
  let highlight: CodeHighlighter | undefined
  let line = ''
  const room = () => (writer.columns === 0 ? usualColumns : writer.room)

  const begin = () => {
    if (emptyDepth !== undefined && hasBegun) writer.emptyLine(emptyDepth)
    emptyDepth = undefined
    hasBegun = true
  }
  const open = (container: Container) => {
    begin()
    const depth = containers.filter(({ kind }) => kind === 'item').length
    containers.push(container)
    const isQuote = container.kind === 'quote'
    const first = isQuote ? '│ ' : `${markerOf(container, depth)} `
    const rest = isQuote ? first : ' '.repeat(first.length)
    writer.indents.push({ first, rest, look: isQuote ? faint : plainLook })
  }
  const beginText = (level: number | undefined) => {
    begin()
    if (level !== undefined && !colors) writer.text(`${'#'.repeat(level)} `)
    const looks = createInlineLooks(abilities, level === undefined ? '' : headingCodes[level - 1])
    inline = createInlineStream((pieces) => {
      for (const piece of pieces) for (const { text, look } of looks(piece)) writer.text(text, look)
    })
  }
  const writeCode = () => {
    const code = line.replace(/\r?\n$/, '')
    for (const { text, look } of highlight!(code)) writer.verbatim(text, look)
    if (code.length < line.length) writer.verbatim('\n')
    line = ''
  }
  const addCode = (text: string) => {
    if (language !== undefined) highlight = highlighter(language)
    language = undefined
    if (highlight === undefined) return writer.verbatim(text.replace(/\r\n$/, '\n'))
    line += text
    if (line.endsWith('\n') || line.length >= maxLine) writeCode()
  }
  const cellOf = (source: string, base: string): Cell =>
    parseInline(source)
      .pieces.map((piece) => (/^<br\s*\/?>$/i.test(piece.text) ? { ...piece, text: '\n', style: 0 } : piece))
      .flatMap(createInlineLooks(abilities, base))
      .map(({ text, look }) => ({ text: sanitise(text), look }))

  return (event) => {
    switch (event.type) {
      case 'open':
        return open(event.container)
      case 'close':
        writer.endLine()
        containers.pop()
        writer.indents.pop()
        if (emptyDepth !== undefined) emptyDepth = Math.min(emptyDepth, containers.length)
        return
      case 'blank':
        emptyDepth ??= containers.length
        return
      case 'text-begin':
        return beginText(event.level)
      case 'text':
        return inline!.push(event.text)
      case 'text-end':
        inline!.end()
        return writer.endLine()
      case 'code-begin':
        begin()
        fence = event.fence?.marks
        highlight = undefined
        if (event.fence === undefined) return
        writer.verbatim(`${fence}${event.fence.info}\n`, faint)
        if (colors) language = languageOf(event.fence.info)
        return
      case 'code':
        return addCode(event.text)
      case 'code-end':
        if (line !== '') writeCode()
        language = undefined
        writer.endLine()
        if (event.isClosed) writer.verbatim(`${fence}\n`, faint)
        return
      case 'rule':
        begin()
        return writer.verbatim(`${'─'.repeat(Math.min(room(), usualColumns))}\n`, faint)
      case 'table-begin': {
        begin()
        const head = event.head.map((cell) => cellOf(cell, '1'))
        const write = (text: string) => writer.dressedLine(text)
        table = createTable({ head, alignments: event.alignments, room, look: faint, write })
        return
      }
      case 'row':
        return table!.add(fitting(event.cells, table!.columns).map((cell) => cellOf(cell, '')))
      case 'table-end':
        return table!.end()
    }
  }
}

function markerOf({ number, task }: Extract<Container, { kind: 'item' }>, depth: number): string {
  const box = task === undefined ? [] : [task === 'open' ? '☐' : '☑']
  if (number !== undefined) return [number, ...box].join(' ')
  return box[0] ?? bullets[depth % bullets.length]!
}

/** No more cells than columns. A pipe in code parts cells as well, and nothing that was written may be missing. */
function fitting(cells: readonly string[], columns: number): readonly string[] {
  if (cells.length <= columns) return cells
  return [...cells.slice(0, columns - 1), cells.slice(columns - 1).join(' | ')]
}

const styleCodes: readonly (readonly [style: number, sgr: string])[] = [
  [strong, '1'],
  [emphasis, '3'],
  [strikethrough, '9'],
  [code, '36'],
  [html, '2'],
]
const linkCode = '4'

const faintLook: Look = { sgr: '2' }

const headingCodes = ['1;4;35', '1;35', '1', '1;3', '3', '3']

/** Longer addresses than this, such as whole images, are cut where they are shown. */
const maxShown = 500

/** @param base what the block itself looks like */
function createInlineLooks({ colors, hyperlinks }: Abilities, base = ''): (piece: Piece) => Run[] {
  const lookOf = (style: number, link: Link | undefined): Look => {
    const url = link !== undefined && hyperlinks ? linkAddress(link.url) : undefined
    const codes = styleCodes.filter(([flag]) => (style & flag) !== 0).map(([, sgr]) => sgr)
    const all = [...(base === '' ? [] : [base]), ...codes, ...(link === undefined ? [] : [linkCode])]
    const sgr = colors ? all.join(';') : ''
    return sgr === '' && url === undefined ? plainLook : { sgr, url }
  }
  /** The address, where the terminal does not lead to it, or would lead elsewhere than the text says. */
  const addressOf = ({ kind, url, text, hasImage }: Link): Run[] => {
    const isShown = [url, url.replace(/^(?:mailto:|https?:\/\/)/, '')].includes(text.trim())
    const isHidden = hyperlinks && linkAddress(url) !== undefined && !isDisguise(text, url) && !hasImage
    if (url === '' || kind === 'autolink' || isShown || isHidden) return []
    const short = url.length > maxShown ? `${url.slice(0, 60)}…` : url
    return [{ text: ` (${short})`, look: colors ? faintLook : plainLook }]
  }
  return ({ text, style, link, mark }) => {
    const isSeen = text !== '' && !(mark === 'style' && colors)
    const own = isSeen ? [{ text, look: lookOf(style, link) }] : []
    return mark === 'closing' && link !== undefined ? [...own, ...addressOf(link)] : own
  }
}

const maxAddress = 2000

/**
 * In a sequence for the terminal: printable ASCII, of schemes that open pages or mail. Any other is shown as text.
 */
function linkAddress(url: string): string | undefined {
  if (!/^(?:https?|ftp|mailto):/i.test(url) || url.length > maxAddress) return undefined
  return url.toWellFormed().replaceAll(/[^!-~]/gu, (character) => encodeURIComponent(character))
}

/** Whether a text passes for another address than the one that it leads to: then that is shown. */
function isDisguise(text: string, url: string): boolean {
  const shown = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]|$)/i.exec(text.trim())?.[1]
  return shown !== undefined && URL.parse(url)?.hostname.toLowerCase() !== shown.toLowerCase()
}
