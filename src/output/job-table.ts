import type { JobSummary } from '../events/video.ts'
import { otherWord, stateText } from '../contract/video-state.ts'
import { sanitise } from './gate.ts'
import { isoTime, roughTime } from './job-progress.ts'

export interface TableView {
  /** Unix seconds. */
  readonly now: number
  /** The width of the terminal; undefined for a script, which gets all that is known, with tabs between. */
  readonly columns: number | undefined
}

/** Jobs as rows, each with its newline; nothing for none. What could act on a terminal is shown as a mark. */
export function jobTable(jobs: readonly JobSummary[], { now, columns }: TableView): string {
  if (jobs.length === 0) return ''
  const lines =
    columns === undefined
      ? jobs.map((job) => fieldsOf(job, now).join('\t'))
      : terminalLines(jobs, now, columns)
  return lines.map((line) => `${line}\n`).join('')
}

/** Whether the result of a job can no longer be fetched. @param now Unix seconds */
export function isExpired({ expires_at }: Pick<JobSummary, 'expires_at'>, now: number): boolean {
  return expires_at !== null && expires_at <= now
}

/** The whole id, times that a calendar has, one line of the prompt, and the gateway's word where it is another. */
function fieldsOf(job: JobSummary, now: number): string[] {
  const { id, state, status, progress, created_at, expires_at, model, prompt } = job
  return [
    id ?? `key:${job.idempotency_key}`,
    state,
    progress === null ? '' : `${progress}%`,
    isoTime(created_at),
    expires_at === null ? '' : isoTime(expires_at),
    resultWord(job, now),
    model,
    prompt.slice(0, longestPrompt),
    otherWord(state, status) ?? '',
  ].map(oneLine)
}

const longestPrompt = 200
const gap = '  '
/** Less of a prompt says nothing. */
const shortestPrompt = 8
/** What is left out first where there is little room, each as long as the prompt has less than this. */
const yielding = [
  ['MODEL', 20],
  ['AGE', 16],
  ['DONE', 16],
  ['RESULT', 10],
  ['GATEWAY SAYS', 8],
] as const

interface Column {
  readonly heading: string
  readonly cells: readonly string[]
}

function terminalLines(jobs: readonly JobSummary[], now: number, columns: number): string[] {
  const ids = shortIds(jobs)
  const words = jobs.map(({ state, status }) => oneLine(otherWord(state, status) ?? ''))
  const column = (heading: string, cell: (job: JobSummary, at: number) => string): Column => ({
    heading,
    cells: jobs.map((job, at) => oneLine(cell(job, at))),
  })
  const all = [
    column('ID', (_, at) => ids[at]!),
    column('STATE', ({ state }) => stateText({ state })),
    ...(words.some(Boolean) ? [column('GATEWAY SAYS', (_, at) => shortened(words[at]!, 24))] : []),
    column('DONE', ({ progress, state }) =>
      progress === null || state === 'completed' ? '' : `${progress}%`,
    ),
    column('AGE', ({ created_at }) => roughTime(Math.max(0, now - created_at))),
    column('RESULT', (job) => resultText(job, now)),
    column('MODEL', ({ model }) => shortened(model, 24)),
  ]
  const shown = yielding.reduce(
    (kept, [heading, wanted]) =>
      widthOf(kept) + wanted <= columns ? kept : kept.filter((one) => one.heading !== heading),
    all,
  )
  const prompts = ['PROMPT', ...jobs.map(({ prompt }) => oneLine(prompt.slice(0, 4 * longestPrompt)))]
  return prompts.flatMap((prompt, row) => {
    const cells = shown.map(({ heading, cells }) =>
      padded(row === 0 ? heading : cells[row - 1]!, columnWidth({ heading, cells })),
    )
    const room = columns - widthOf(shown)
    const words = room >= shortestPrompt ? [shortened(prompt, room)] : []
    const line = shortened([...cells, ...words].join(gap).trimEnd(), columns)
    const job = jobs[row - 1]
    // Without an id the key is all there is to ask for the job by, so it is shown whole.
    return job !== undefined && job.id === null
      ? [line, `${gap}no reply came; idempotency key:`, `${gap}${oneLine(job.idempotency_key)}`]
      : [line]
  })
}

function resultText(job: JobSummary, now: number): string {
  const { state, expires_at } = job
  const word = resultWord(job, now)
  const hasTime = word === '' && state !== 'failed' && expires_at !== null
  return hasTime ? `for ${roughTime(expires_at - now)}` : word
}

function resultWord(job: JobSummary, now: number): string {
  if (job.files.length > 0) return 'saved'
  return job.state !== 'failed' && isExpired(job, now) ? 'expired' : ''
}

const shortestId = 12
const longestId = 40

/**
 * As much of each id, or of the last part of an operation's name, as tells it from all others: it can be pasted as the
 * id that another command takes.
 */
function shortIds(jobs: readonly JobSummary[]): string[] {
  const known = [...new Set(jobs.flatMap(({ id }) => (id === null ? [] : [id])))]
  const names = known.map((id) => id.slice(id.lastIndexOf('/') + 1))
  let length = shortestId
  while (length < longestId && new Set(names.map((name) => name.slice(0, length))).size < names.length)
    length++
  return jobs.map(({ id }) => (id === null ? '-' : id.slice(id.lastIndexOf('/') + 1).slice(0, length)))
}

function widthOf(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + columnWidth(column) + gap.length, 0)
}

function columnWidth({ heading, cells }: Column): number {
  return Math.max(...[heading, ...cells].map(textWidth))
}

/** At most: what is not ASCII may take two columns. */
function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += /[ -~]/.test(character) ? 1 : 2
  return width
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

function shortened(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (textWidth(kept + character) > width - 2) break
    kept += character
  }
  return width < 2 ? '' : `${kept}…`
}

function oneLine(text: string): string {
  return sanitise(text.replaceAll(/\s+/g, ' ').trim())
}
