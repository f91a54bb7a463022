import type { AssetReport, ReportAsset, ReportFile } from '../../events/asset-report.ts'
import { runStates, type RunDocument, type RunInstance } from '../../events/run-document.ts'
import { nextCommand } from '../../files/next-command.ts'
import { counted } from '../../quantities.ts'
import * as words from './report-words.ts'

/** A column of a table: its heading, and the Markdown of a cell; null for an empty one. */
type Column<Item> = readonly [heading: string, cell: (item: Item) => string | null]

/** A report for where there is no room for pictures, such as the summary of a job: at most 1 MiB. */
export function markdownReport(report: AssetReport): string {
  const { name, manifest, time, sandbox, sums } = report
  const origin = `${literal(manifest)}, ${words.timeText(time)}${sandbox ? ', from the sandbox' : ''}`
  const lines = ['<!-- modelgate run report -->', '', `# ${literal(name)}`, '', origin, '']
  const changes = words.sinceFacts(report, literal)
  if (changes !== null) lines.push(changes, '')
  lines.push(words.sumFacts(report, literal), '')
  const money = ({ cost }: { readonly cost: number | null }) => literal(words.costText(cost, sums.currency))
  for (const { title, tone, assets } of words.sectionsOf(report.assets)) {
    const heading = `${title} (${assets.length})`
    if (tone === 'decision') {
      const candidates = assets.flatMap(({ id, candidates }) => candidates.map((one) => ({ id, ...one })))
      addTable(lines, heading, candidates, [
        ['asset', ({ id }) => literal(id)],
        ['candidate', ({ number }) => String(number)],
        ['file', ({ files }) => files.map((file) => literal(file.stored ?? file.path)).join(' ')],
        ['size', ({ files }) => sizesOf(files)],
        ['cost', money],
        ['to pick it', ({ pick, reasons }) => (pick === null ? linesOf(reasons) : commandText(pick))],
      ])
    } else if (tone === 'done') {
      addTable(lines, heading, assets, [
        ['asset', ({ id }) => literal(id)],
        ['file', ({ files }) => pathsOf(files)],
        ['size', ({ files }) => sizesOf(files)],
        ['model', ({ model }) => literal(model)],
        ['took', ({ took_s }) => words.tookText(took_s)],
        ['cost', money],
        ['before', ({ before }) => sizesOf(before)],
      ])
    } else {
      addTable(lines, heading, assets, [
        ['asset', ({ id }) => literal(id)],
        ['state', (asset) => `${marks[tone]} ${words.wordsFor(asset).label}`],
        ['why', whyText],
        ['to continue', ({ next }) => next && commandText(next)],
      ])
    }
  }
  const removed = report.since?.removed ?? []
  addTable(lines, `Removed (${removed.length})`, removed, [
    ['asset', ({ id }) => literal(id)],
    ['file', ({ files }) => pathsOf(files)],
    ['size', ({ files }) => sizesOf(files)],
  ])
  return withinLimit(lines)
}

const marks = { failed: '❌', work: '🔷' }

function whyText({ state, reasons, failure }: ReportAsset): string {
  const why = [...(failure === null ? [] : [failure.message]), ...reasons]
  return why.length === 0 ? words.stateWords[state].meaning : linesOf(why)
}

/** What a run did, for the summary of a job: at most 1 MiB. */
export function runSummary(document: RunDocument): string {
  const { manifest, instances, left, creates, mode, shard, sandbox, warnings } = document
  const cost = document.cost ?? document.estimate
  const states = runStates.filter((state) => document.states[state] > 0)
  const facts = words.factLine([
    counted(instances.length, 'asset'),
    ...states.map((state) => `${document.states[state]} ${words.stateWords[state].label}`),
    `${creates.made} created${creates.limit === null ? '' : ` of at most ${creates.limit}`}`,
    cost?.amount == null ? null : literal(`${words.costText(cost.amount, cost.currency)} estimated`),
    mode === 'run' ? null : `mode: ${mode}`,
    shard === null ? null : `part ${literal(shard)}`,
    sandbox ? 'from the sandbox' : null,
  ])
  const lines = [`# modelgate run ${literal(manifest)}`, '', facts, '']
  const failed = instances.filter(({ error }) => error !== null)
  addTable(lines, `Failed (${failed.length})`, failed, [
    ['asset', ({ instance }) => literal(instance)],
    ['exit code', ({ error }) => String(error!.exit_code)],
    ['why', ({ error }) => literal(error!.message)],
    ['billed', ({ error }) => error!.billed],
  ])
  addTable(lines, 'Left to do', left, [
    ['assets', ({ instances }) => namesText(instances)],
    ['state', ({ state }) => (state === 'failed' ? 'failed' : words.stateWords[state].label)],
    ['what it means', ({ message }) => literal(message)],
    ['to continue', ({ commands }) => commands.map(commandText).join('<br>')],
  ])
  const done = instances.filter(({ action, error }) => error === null && doneActions.has(action))
  addTable(lines, `Done (${done.length})`, done, [
    ['asset', ({ instance }) => literal(instance)],
    ['action', ({ action }) => action!],
    ['files', ({ files }) => pathsOf(files)],
    ['size', ({ files }) => sizesOf(files)],
    ['took', ({ took_s }) => words.tookText(took_s)],
    ['cost', ({ cost }) => cost && literal(words.costText(cost.amount, cost.currency))],
  ])
  addTable(lines, `Warnings (${warnings.length})`, warnings, [['warning', literal]])
  return withinLimit(lines)
}

const doneActions: ReadonlySet<RunInstance['action']> = new Set([
  'generated',
  'restored',
  'moved',
  'accepted',
])

function linesOf(sentences: readonly string[]): string {
  return sentences.map(literal).join('<br>')
}

function pathsOf(files: readonly { readonly path: string }[]): string {
  return files.map(({ path }) => literal(path)).join(' ')
}

function sizesOf(files: readonly Pick<ReportFile, 'width' | 'height' | 'seconds' | 'bytes'>[]): string {
  return files.map(words.fileFacts).join(', ')
}

function commandText(command: readonly string[]): string {
  return literal(nextCommand(command).toString())
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, 20).map(literal).join(' ')
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown
}

/** A table under a heading; neither without rows. Cells are Markdown, in which everything from outside went through `literal`. */
function addTable<Item>(
  lines: string[],
  heading: string,
  items: readonly Item[],
  columns: readonly Column<Item>[],
): void {
  if (items.length === 0) return
  lines.push(`## ${heading}`, '', rowOf(columns.map(([name]) => name)), rowOf(columns.map(() => '---')))
  for (const item of items) lines.push(rowOf(columns.map(([, cell]) => cell(item))))
  // Without the empty line the next paragraph would be a row.
  lines.push('')
}

/** GitHub refuses a job summary of more than 1 MiB; 1 KiB is for what is written when nothing else fits. */
const maxBytes = 1_048_576 - 1024

function withinLimit(lines: readonly string[]): string {
  let room = maxBytes
  const shown = lines.findIndex((line) => (room -= Buffer.byteLength(line) + 1) < 0)
  if (shown === -1) return lines.join('\n')
  const left = lines.slice(shown).filter((line) => line !== '').length
  return [...lines.slice(0, shown), '', `… and ${left} more: the page is full.`, ''].join('\n')
}

function rowOf(cells: readonly (string | null)[]): string {
  return `| ${cells.join(' | ')} |`
}

/** In characters. A longer text is cut. */
const maxLiteral = 300

/**
 * Text from outside, in one line: neither markup nor a link nor a mention can come of it. It stands in `<code>`, where
 * GitHub looks for no names and numbers; what has a meaning in Markdown is a character reference. Addresses are found
 * even in what such references mean, but not across an element.
 */
function literal(text: string | null): string {
  const line = words
    .visible(text ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const short = line.length > maxLiteral ? `${line.slice(0, maxLiteral).toWellFormed()}…` : line
  if (short === '') return ''
  const characters = short.replaceAll(/[!#$&*.:<>@[-`{-~]/g, (character) => {
    const reference = `&#${character.charCodeAt(0)};`
    return /[@:.]/.test(character) ? `<wbr>${reference}` : reference
  })
  return `<code>${characters}</code>`
}
