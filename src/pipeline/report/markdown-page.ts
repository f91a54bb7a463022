import { visible } from './markup.ts'

/** GitHub refuses a job summary of more. */
const maxBytes = 1_048_576

/** Room for what is written when nothing else fits. */
const reservedBytes = 1024

/** A Markdown page that is built line by line, and ends before it is too long. */
export interface MarkdownPage {
  /** @param text Markdown, in which everything from outside has gone through `literal` */
  paragraph(text: string): void
  /** Rows as long as there is room; then how many more there are. */
  table(head: readonly string[], rows: readonly (readonly string[])[]): void
  end(): string
}

export function createMarkdownPage(): MarkdownPage {
  const lines: string[] = []
  let room = maxBytes - reservedBytes

  function add(line: string): boolean {
    const bytes = Buffer.byteLength(line) + 1
    if (bytes > room) return false
    room -= bytes
    lines.push(line)
    return true
  }

  return {
    paragraph(text) {
      if (add(text)) add('')
    },
    table(head, rows) {
      if (rows.length === 0) return
      if (!add(rowOf(head)) || !add(rowOf(head.map(() => '---')))) return
      let shown = 0
      while (shown < rows.length && add(rowOf(rows[shown]!))) shown++
      if (shown < rows.length) lines.push('', `… and ${rows.length - shown} more: the page is full.`)
      // Without the empty line the next paragraph would be a row.
      lines.push('')
    },
    end: () => lines.join('\n'),
  }
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** A longer text is cut in a table. */
const maxLiteral = 300

/**
 * Text from outside, in one line: neither markup nor a link nor a mention can come of it. It stands in `<code>`, where
 * GitHub looks for no names and numbers; what has a meaning in Markdown is a character reference. Addresses are found
 * even in what such references mean, but not across an element.
 */
export function literal(text: string): string {
  const line = visible(text).replaceAll(/\s+/g, ' ').trim()
  const short = line.length > maxLiteral ? `${line.slice(0, maxLiteral).toWellFormed()}…` : line
  if (short === '') return ''
  const characters = short.replaceAll(/[!#$&*.:<>@[-`{-~]/g, (character) => {
    const reference = `&#${character.charCodeAt(0)};`
    return /[@:.]/.test(character) ? `<wbr>${reference}` : reference
  })
  return `<code>${characters}</code>`
}
