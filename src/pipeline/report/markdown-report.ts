import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { nextCommand } from '../../files/next-command.ts'
import { createMarkdownPage, literal } from './markdown-page.ts'
import { costText, fileFacts, sectionsOf, stateLabel, sumFacts, timeText, tookText } from './report-words.ts'
import { stateWords, type Tone } from './state-words.ts'

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
