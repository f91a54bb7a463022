import { runStates, type RunDocument, type RunInstance } from '../../events/run-document.ts'
import { nextCommand } from '../../files/next-command.ts'
import { createMarkdownPage, literal } from './markdown-report.ts'
import { costText, counted, fileFacts, stateWords, tookText } from './report-words.ts'

/**
 * What a run did, in Markdown for the summary of a job: failures first, then what is left to do, then what was made; at
 * most 1 MiB. No text from outside becomes markup.
 */
export function runSummary(document: RunDocument): string {
  const { manifest, instances, left, creates, cost, estimate, mode, shard, sandbox, warnings } = document
  const page = createMarkdownPage()
  page.paragraph(`# modelgate run ${literal(manifest)}`)
  const amount = cost ?? estimate
  page.paragraph(
    [
      counted(instances.length, 'asset'),
      ...runStates
        .filter((state) => document.states[state] > 0)
        .map((state) => `${document.states[state]} ${stateWords[state].label}`),
      `${creates.made} created${creates.limit === null ? '' : ` of at most ${creates.limit}`}`,
      ...(amount?.amount == null ? [] : [literal(`${costText(amount.amount, amount.currency)} estimated`)]),
      ...(mode === 'run' ? [] : [`mode: ${mode}`]),
      ...(shard === null ? [] : [`part ${literal(shard)}`]),
      ...(sandbox ? ['from the sandbox'] : []),
    ].join(' · '),
  )
  const failed = instances.filter(({ error }) => error !== null)
  if (failed.length > 0) {
    page.paragraph(`## Failed (${failed.length})`)
    page.table(['asset', 'exit code', 'why', 'billed'], failed.map(failedRow))
  }
  if (left.length > 0) {
    page.paragraph('## Left to do')
    page.table(
      ['assets', 'state', 'what it means', 'to go on'],
      left.map(({ state, instances, message, commands }) => [
        shortList(instances),
        state === 'failed' ? 'failed' : stateWords[state].label,
        literal(message),
        commands.map((words) => literal(nextCommand(words).toString())).join('<br>'),
      ]),
    )
  }
  const changed = instances.filter(({ action, error }) => error === null && doneActions.has(action))
  if (changed.length > 0) {
    page.paragraph(`## Done (${changed.length})`)
    page.table(['asset', 'action', 'files', 'size', 'took', 'cost'], changed.map(changedRow))
  }
  if (warnings.length > 0)
    page.table(
      ['warnings'],
      warnings.map((warning) => [literal(warning)]),
    )
  return page.end()
}

const doneActions: ReadonlySet<RunInstance['action']> = new Set([
  'generated',
  'restored',
  'moved',
  'accepted',
])

function failedRow({ instance, error }: RunInstance): string[] {
  return [literal(instance), String(error!.exit_code), literal(error!.message), error!.billed]
}

function changedRow({ instance, action, files, took_s, cost }: RunInstance): string[] {
  const facts = files.map(({ width, height, seconds, bytes }) =>
    fileFacts({ width, height, seconds, bytes }).join(' · '),
  )
  return [
    literal(instance),
    action ?? '',
    files.map((file) => literal(file.path)).join(' '),
    facts.join(', '),
    took_s === null ? '' : tookText(took_s),
    cost?.amount == null ? '' : literal(costText(cost.amount, cost.currency)),
  ]
}

/** Names of assets, as many as fit into a line. */
function shortList(names: readonly string[]): string {
  const shown = names.slice(0, 20).map(literal).join(' ')
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown
}
