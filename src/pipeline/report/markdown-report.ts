import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { runStates, type RunDocument, type RunInstance } from '../../events/run-document.ts'
import { nextCommand } from '../../files/next-command.ts'
import { visible } from './markup.ts'
import {
  costText,
  counted,
  factLine,
  fileFacts,
  sectionsOf,
  sinceFacts,
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
  const page = new MarkdownPage()
  page.paragraph('<!-- modelgate run report -->')
  page.paragraph(`# ${literal(name)}`)
  page.paragraph(`${literal(manifest)}, ${timeText(time)}${sandbox ? ', from the sandbox' : ''}`)
  const since = sinceFacts(report, literal)
  if (since !== null) page.paragraph(since)
  page.paragraph(sumFacts(report, literal))
  for (const { title, tone, assets } of sectionsOf(report.assets)) {
    page.paragraph(`## ${title} (${assets.length})`)
    if (tone === 'decision') {
      page.table(
        ['asset', 'candidate', 'file', 'size', 'cost', 'to pick it'],
        assets.flatMap((asset) => candidateRows(asset, sums.currency)),
      )
    } else if (tone === 'done') {
      page.table(
        ['asset', 'file', 'size', 'model', 'took', 'cost', 'before'],
        assets.map((asset) => doneRow(asset, sums.currency)),
      )
    } else {
      page.table(
        ['asset', 'state', 'why', 'to go on'],
        assets.map((asset) => openRow(asset, tone)),
      )
    }
  }
  const removed = report.since?.removed ?? []
  if (removed.length > 0) page.paragraph(`## Removed (${removed.length})`)
  page.table(
    ['asset', 'file', 'size'],
    removed.map(({ id, files }) => [literal(id), pathsOf(files), sizesOf(files)]),
  )
  return page.toString()
}

function doneRow({ id, files, model, took_s, cost, before }: ReportAsset, currency: string | null): string[] {
  return [
    literal(id),
    pathsOf(files),
    sizesOf(files),
    literal(model ?? ''),
    took_s === null ? '' : tookText(took_s),
    cost === null ? '' : literal(costText(cost, currency)),
    sizesOf(before),
  ]
}

const marks = { failed: '❌', work: '🔷' }

function openRow(asset: ReportAsset, tone: Exclude<Tone, 'decision' | 'done'>): string[] {
  const { id, state, reasons, failure, next } = asset
  const why = [...(failure === null ? [] : [failure.message]), ...reasons]
  return [
    literal(id),
    `${marks[tone]} ${stateLabel(asset)}`,
    why.length === 0 ? stateWords[state].meaning : why.map(literal).join('<br>'),
    next === null ? '' : commandText(next),
  ]
}

function candidateRows({ id, candidates }: ReportAsset, currency: string | null): string[][] {
  return candidates.map(({ number, files, cost, pick, reasons }) => [
    literal(id),
    String(number),
    files.map((file) => literal(file.stored ?? file.path)).join(' '),
    sizesOf(files),
    cost === null ? '' : literal(costText(cost, currency)),
    pick === null ? reasons.map(literal).join('<br>') : commandText(pick),
  ])
}

/**
 * What a run did, for the summary of a job: failures first, then what is left to do, then what was made; at most 1 MiB. No
 * text from outside becomes markup.
 */
export function runSummary(document: RunDocument): string {
  const { manifest, instances, left, creates, mode, shard, sandbox, warnings } = document
  const cost = document.cost ?? document.estimate
  const states = runStates.filter((state) => document.states[state] > 0)
  const page = new MarkdownPage()
  page.paragraph(`# modelgate run ${literal(manifest)}`)
  page.paragraph(
    factLine([
      counted(instances.length, 'asset'),
      ...states.map((state) => `${document.states[state]} ${stateWords[state].label}`),
      `${creates.made} created${creates.limit === null ? '' : ` of at most ${creates.limit}`}`,
      cost?.amount == null ? null : literal(`${costText(cost.amount, cost.currency)} estimated`),
      mode === 'run' ? null : `mode: ${mode}`,
      shard === null ? null : `part ${literal(shard)}`,
      sandbox ? 'from the sandbox' : null,
    ]),
  )
  const failed = instances.filter(({ error }) => error !== null)
  if (failed.length > 0) page.paragraph(`## Failed (${failed.length})`)
  page.table(
    ['asset', 'exit code', 'why', 'billed'],
    failed.map(({ instance, error }) => [
      literal(instance),
      String(error!.exit_code),
      literal(error!.message),
      error!.billed,
    ]),
  )
  if (left.length > 0) page.paragraph('## Left to do')
  page.table(
    ['assets', 'state', 'what it means', 'to go on'],
    left.map(({ state, instances, message, commands }) => [
      namesText(instances),
      state === 'failed' ? 'failed' : stateWords[state].label,
      literal(message),
      commands.map(commandText).join('<br>'),
    ]),
  )
  const done = instances.filter(({ action, error }) => error === null && doneActions.has(action))
  if (done.length > 0) page.paragraph(`## Done (${done.length})`)
  page.table(
    ['asset', 'action', 'files', 'size', 'took', 'cost'],
    done.map(({ instance, action, files, took_s, cost }) => [
      literal(instance),
      action!,
      pathsOf(files),
      sizesOf(files),
      took_s === null ? '' : tookText(took_s),
      cost?.amount == null ? '' : literal(costText(cost.amount, cost.currency)),
    ]),
  )
  page.table(
    ['warnings'],
    warnings.map((warning) => [literal(warning)]),
  )
  return page.toString()
}

const doneActions: ReadonlySet<RunInstance['action']> = new Set([
  'generated',
  'restored',
  'moved',
  'accepted',
])

function pathsOf(files: readonly { readonly path: string }[]): string {
  return files.map(({ path }) => literal(path)).join(' ')
}

function sizesOf(files: readonly Pick<ReportFile, 'width' | 'height' | 'seconds' | 'bytes'>[]): string {
  return files.map(fileFacts).join(', ')
}

function commandText(words: readonly string[]): string {
  return literal(nextCommand(words).toString())
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, 20).map(literal).join(' ')
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown
}

/** GitHub refuses a job summary of more. */
const maxBytes = 1_048_576

/** Room for what is written when nothing else fits. */
const reservedBytes = 1024

/** A Markdown page that is built line by line, and ends before it is too long. */
class MarkdownPage {
  readonly #lines: string[] = []
  #room = maxBytes - reservedBytes

  /** @param text Markdown, in which everything from outside has gone through `literal` */
  paragraph(text: string): void {
    if (this.#add(text)) this.#add('')
  }

  table(head: readonly string[], rows: readonly (readonly string[])[]): void {
    if (rows.length === 0) return
    if (!this.#add(rowOf(head)) || !this.#add(rowOf(head.map(() => '---')))) return
    let shown = 0
    while (shown < rows.length && this.#add(rowOf(rows[shown]!))) shown++
    if (shown < rows.length) this.#lines.push('', `… and ${rows.length - shown} more: the page is full.`)
    // Without the empty line the next paragraph would be a row.
    this.#lines.push('')
  }

  toString(): string {
    return this.#lines.join('\n')
  }

  #add(line: string): boolean {
    const bytes = Buffer.byteLength(line) + 1
    if (bytes > this.#room) return false
    this.#room -= bytes
    this.#lines.push(line)
    return true
  }
}

function rowOf(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

/** In characters. A longer text is cut. */
const maxLiteral = 300

/**
 * Text from outside, in one line: neither markup nor a link nor a mention can come of it. It stands in `<code>`, where
 * GitHub looks for no names and numbers; what has a meaning in Markdown is a character reference. Addresses are found
 * even in what such references mean, but not across an element.
 */
function literal(text: string): string {
  const line = visible(text).replaceAll(/\s+/g, ' ').trim()
  const short = line.length > maxLiteral ? `${line.slice(0, maxLiteral).toWellFormed()}…` : line
  if (short === '') return ''
  const characters = short.replaceAll(/[!#$&*.:<>@[-`{-~]/g, (character) => {
    const reference = `&#${character.charCodeAt(0)};`
    return /[@:.]/.test(character) ? `<wbr>${reference}` : reference
  })
  return `<code>${characters}</code>`
}
