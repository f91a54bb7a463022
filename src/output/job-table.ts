import { isFinal } from '../contract/videos.ts'
import type { JobSummary } from '../events/video.ts'
import { isExpired, gatewayState, formatState, isoTime, shortIds } from '../events/format-job.ts'
import { roundedDuration } from '../quantities.ts'
import { stateTone } from './screen.ts'
import { gap, oneLine, tabbedText, tableText, type Column, type TableView } from './table-cells.ts'

const maxPrompt = 200

/** Empty if there are none. Safe for a terminal. */
export function jobTable(jobs: readonly JobSummary[], { now, columns, styles }: TableView): string {
  if (columns === undefined) return tabbedText(jobs, (job) => fieldsOf(job, now))
  const known = jobs.flatMap(({ id }) => id ?? [])
  const short = new Map(shortIds(known).map((id, at) => [known[at], id]))
  const all: readonly Column<JobSummary>[] = [
    ['ID', ({ id }) => (id === null ? '-' : short.get(id)!)],
    ['STATE', ({ state }) => formatState({ state }), { tone: ({ state }) => stateTone(state) }],
    ['GATEWAY SAYS', ({ state, status }) => gatewayState(state, status) ?? '', { dropOrder: 5, widest: 24 }],
    ['DONE', (job) => doneText(job, now), { dropOrder: 3 }],
    ['AGE', ({ created_at: created }) => roundedDuration(Math.max(0, now - created)), { dropOrder: 2 }],
    ['RESULT', (job) => resultText(job, now), { dropOrder: 4 }],
    ['MODEL', ({ model }) => model, { dropOrder: 1, widest: 24 }],
    ['PROMPT', ({ prompt }) => prompt.slice(0, 4 * maxPrompt), { dropOrder: 6, least: 12 }],
  ]
  // Without an id only the key identifies the job, so it is shown in full.
  const below = ({ id, idempotency_key: key }: JobSummary) =>
    id === null ? [`${gap}no reply received; idempotency key:`, `${gap}${oneLine(key)}`] : []
  return tableText(jobs, all, { columns, styles, below })
}

function fieldsOf(job: JobSummary, now: number): (string | null)[] {
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
    gatewayState(state, status) ?? null,
  ]
}

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
