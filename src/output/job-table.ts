import { isFinal } from '../contract/video-state.ts'
import type { JobSummary } from '../events/video.ts'
import { isExpired, gatewayState, formatState, isoTime, shortIds } from '../events/format-job.ts'

import { roundedDuration } from '../quantities.ts'
import { stateTone } from './screen.ts'
import { cellsOf } from './cell-width.ts'
import { gap, oneLine, padded, shortened, type TableView } from './table-cells.ts'

/** Formats jobs as rows, each with a newline; empty if there are none. Safe for a terminal. */
export function jobTable(jobs: readonly JobSummary[], { now, columns, styles }: TableView): string {
  if (jobs.length === 0) return ''
  const lines =
    columns === undefined
      ? jobs.map((job) => fieldsOf(job, now).join('\t'))
      : terminalLines(jobs, { now, columns, styles })
  return lines.map((line) => `${line}\n`).join('')
}

/** The complete id, full times, one line of the prompt, and the gateway's own state if it differs. */
function fieldsOf(job: JobSummary, now: number): string[] {
  const { id, state, status, progress, created_at, expires_at, model, prompt } = job
  return [
    id ?? `key:${job.idempotency_key}`,
    state,
    progress === null ? '' : `${progress}%`,
    isoTime(created_at),
    expires_at === null ? '' : isoTime(expires_at),
    resultLabel(job, now),
    model,
    prompt.slice(0, maxPrompt),
    gatewayState(state, status) ?? '',
  ].map(oneLine)
}

const maxPrompt = 200
/** Minimum useful length of a prompt. */
const minPrompt = 8
/** Columns that are dropped, in this order, while the prompt has less space than given here. */
const optionalColumns = [
  ['MODEL', 20],
  ['AGE', 16],
  ['DONE', 16],
  ['RESULT', 10],
  ['GATEWAY SAYS', 8],
] as const

/** The states are in the second column. */
const stateColumn = 1

interface Column {
  readonly heading: string
  readonly cells: readonly string[]
}

function terminalLines(
  jobs: readonly JobSummary[],
  { now, columns, styles }: TableView & { readonly columns: number },
): string[] {
  const known = jobs.flatMap(({ id }) => id ?? [])
  const short = new Map(shortIds(known).map((id, at) => [known[at], id]))
  const words = jobs.map(({ state, status }) => oneLine(gatewayState(state, status) ?? ''))
  const column = (heading: string, cell: (job: JobSummary, at: number) => string): Column => ({
    heading,
    cells: jobs.map((job, at) => oneLine(cell(job, at))),
  })
  const all = [
    column('ID', ({ id }) => (id === null ? '-' : short.get(id)!)),
    column('STATE', ({ state }) => formatState({ state })),
    ...(words.some(Boolean) ? [column('GATEWAY SAYS', (_, at) => shortened(words[at]!, 24))] : []),
    column('DONE', (job) => doneText(job, now)),
    column('AGE', ({ created_at }) => roundedDuration(Math.max(0, now - created_at))),
    column('RESULT', (job) => resultText(job, now)),
    column('MODEL', ({ model }) => shortened(model, 24)),
  ]
  const visible = optionalColumns.reduce(
    (kept, [heading, wanted]) =>
      widthOf(kept) + wanted <= columns ? kept : kept.filter((one) => one.heading !== heading),
    all,
  )
  const prompts = ['PROMPT', ...jobs.map(({ prompt }) => oneLine(prompt.slice(0, 4 * maxPrompt)))]
  return prompts.flatMap((prompt, row) => {
    const cells = visible.map(({ heading, cells }) =>
      padded(row === 0 ? heading : cells[row - 1]!, columnWidth({ heading, cells })),
    )
    const room = columns - widthOf(visible)
    const words = room >= minPrompt ? [shortened(prompt, room)] : []
    const plain = [...cells, ...words].join(gap).trimEnd()
    const job = jobs[row - 1]
    const isWhole = cellsOf(plain) <= columns
    const line =
      styles === undefined || job === undefined || !isWhole
        ? shortened(plain, columns)
        : [...cells.with(stateColumn, styles[stateTone(job.state)](cells[stateColumn]!)), ...words]
            .join(gap)
            .trimEnd()
    // Without an id only the key identifies the job, so it is shown in full.
    return job !== undefined && job.id === null
      ? [line, `${gap}no reply received; idempotency key:`, `${gap}${oneLine(job.idempotency_key)}`]
      : [line]
  })
}

/** How far a job is, or when it ended. */
function doneText({ state, progress, completed_at }: JobSummary, now: number): string {
  if (!isFinal(state)) return progress === null ? '' : `${progress}%`
  return completed_at === null ? '' : `${roundedDuration(Math.max(0, now - completed_at))} ago`
}

function resultText(job: JobSummary, now: number): string {
  const { state, expires_at } = job
  const word = resultLabel(job, now)
  const hasTime = word === '' && state !== 'failed' && expires_at !== null
  return hasTime ? `for ${roundedDuration(expires_at - now)}` : word
}

function resultLabel(job: JobSummary, now: number): string {
  if (job.files.length > 0) return 'saved'
  return job.state !== 'failed' && isExpired(job, now) ? 'expired' : ''
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + columnWidth(column) + gap.length, 0)
}

function columnWidth({ heading, cells }: Column): number {
  return Math.max(...[heading, ...cells].map(cellsOf))
}
