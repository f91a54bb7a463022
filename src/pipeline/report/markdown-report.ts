import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { visible } from './markup.ts'
import {
  costText,
  fileFacts,
  sectionsOf,
  stateLabel,
  stateWords,
  sumFacts,
  timeText,
  tookText,
  type Tone,
} from './report-words.ts'

/**
 * A report for where there is no room for pictures, such as the summary of a job: what failed first, at most 1 MiB. No
 * text from outside becomes markup.
 */
export function markdownReport(report: AssetReport): string {
  const { name, manifest, time, sandbox, sums } = report
  const page = createMarkdownPage()
  page.paragraph('<!-- modelgate run report -->')
  page.paragraph(`# ${literal(name)}`)
  page.paragraph(`${literal(manifest)}, ${timeText(time)}${sandbox ? ', from the sandbox' : ''}`)
  // The currency is the only word from outside.
  page.paragraph(
    sumFacts(report)
      .map((fact) => (/^[\w .]+$/.test(fact) ? fact : literal(fact)))
      .join(' · '),
  )
  const candidates = report.assets.flatMap((asset) => candidateRows(asset, sums.currency))
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    page.paragraph(`## ${title} (${assets.length})`)
    if (tone === 'decision')
      page.table(['asset', 'candidate', 'file', 'size', 'cost', 'to pick it'], candidates)
    else if (tone === 'done')
      page.table(
        doneHead,
        assets.map((asset) => doneRow(asset, sums.currency)),
      )
    else
      page.table(
        ['asset', 'state', 'why', 'to go on'],
        assets.map((asset) => openRow(asset, tone)),
      )
  }
  return page.end()
}

const doneHead = ['asset', 'file', 'size', 'model', 'took', 'cost', 'before']

function doneRow(asset: ReportAsset, currency: string | null): string[] {
  const { id, files, model, took_s, cost, before } = asset
  return [
    literal(id),
    files.map((file) => literal(file.path)).join(' '),
    sizesOf(files),
    literal(model ?? ''),
    took_s === null ? '' : tookText(took_s),
    cost === null ? '' : literal(costText(cost, currency)),
    sizesOf(before),
  ]
}

function openRow(asset: ReportAsset, tone: Tone): string[] {
  const { id, state, reasons, failure, next } = asset
  const why = [...(failure === null ? [] : [failure.message]), ...reasons]
  return [
    literal(id),
    `${marks[tone]} ${stateLabel(asset)}`,
    why.length === 0 ? stateWords[state].meaning : why.map(literal).join('<br>'),
    next === null ? '' : literal(nextCommand(next).toString()),
  ]
}

function candidateRows(asset: ReportAsset, currency: string | null): string[][] {
  if (asset.state !== 'awaiting' || asset.failure !== null) return []
  return asset.candidates.map(({ number, files, cost, pick, reasons }) => [
    literal(asset.id),
    String(number),
    files.map((file) => literal(file.stored ?? file.path)).join(' '),
    sizesOf(files),
    cost === null ? '' : literal(costText(cost, currency)),
    pick === null ? reasons.map(literal).join('<br>') : literal(nextCommand(pick).toString()),
  ])
}

function sizesOf(files: readonly ReportFile[]): string {
  return files.map((file) => fileFacts(file).join(' · ')).join(', ')
}

const marks: Readonly<Record<Tone, string>> = { failed: '❌', decision: '🔶', work: '🔷', done: '✅' }

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
