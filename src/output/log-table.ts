import type { CallSummary } from '../events/call.ts'
import { shownIdLength } from '../files/calls/call-record.ts'
import { isObject } from '../json.ts'
import { roundedDuration } from '../quantities.ts'
import type { Tone } from './screen.ts'
import { cellsOf } from './cell-width.ts'
import { gap, oneLine, padded, shortened, type TableView } from './table-cells.ts'

/** Formats calls as rows, each with a newline; empty if there are none. Safe for a terminal. */
export function logTable(calls: readonly CallSummary[], { now, columns, styles }: TableView): string {
  if (calls.length === 0) return ''
  const lines =
    columns === undefined
      ? calls.map((call) => fieldsOf(call).map(oneLine).join('\t'))
      : terminalLines(calls, { now, columns, styles })
  return lines.map((line) => `${line}\n`).join('')
}

const maxSubject = 200

/** Everything, for scripts: the whole id and time, codes, the paths of the files. */
function fieldsOf(call: CallSummary): string[] {
  const { id, time, command, model, exit_code, error, files, prompt } = call
  const paths = files.map(({ path }) => path).join(' ')
  const code = error?.code ?? call.finish_reason ?? ''
  const words = (prompt ?? '').slice(0, maxSubject)
  return [id, time, command, model ?? '', String(exit_code ?? ''), code, paths, words]
}

/** How calls end, by their exit codes. */
const outcomes: Readonly<Record<number, string>> = {
  1: 'bug',
  2: 'usage',
  3: 'no key',
  4: 'rejected',
  5: 'later',
  6: 'not sent',
  7: 'unknown',
  8: 'bad reply',
  9: 'failed',
  10: 'file',
  11: 'running',
  12: 'partial',
  14: 'schema',
  15: 'limit',
  129: 'hung up',
  130: 'stopped',
  143: 'ended',
}

/** How a call ended, in a word or two. */
export function outcomeOf({
  exit_code: code,
  error,
  finish_reason: reason,
  created,
  files,
}: CallSummary): string {
  if (code === null) return 'no end'
  if (code !== 0) return outcomes[code] ?? `exit ${code}`
  if (error !== null) return 'closed'
  if (reason === 'length') return 'cut'
  if (reason === 'tool_calls') return 'tool call'
  const hasJob = isObject(created) && created['job'] !== undefined
  return hasJob && reason === null && files.length === 0 ? 'started' : 'ok'
}

function toneOf({ exit_code: code }: CallSummary): Tone {
  if (code === 0) return 'success'
  // The job goes on; some of several came; the answer does not match its schema.
  return code !== null && [11, 12, 14].includes(code) ? 'warning' : 'error'
}

/** Columns that are dropped, in this order, while what the call was about has less room than given here. */
const optionalColumns = [
  ['MODEL', 24],
  ['AGE', 16],
  ['OUTCOME', 9],
] as const

/** The shortest useful piece of a prompt. */
const minSubject = 8
const outcomeHeading = 'OUTCOME'

function terminalLines(
  calls: readonly CallSummary[],
  { now, columns, styles }: TableView & { readonly columns: number },
): string[] {
  const column = (heading: string, cell: (call: CallSummary) => string) => {
    const cells = calls.map((call) => oneLine(cell(call)))
    return { heading, cells, width: Math.max(...[heading, ...cells].map(cellsOf)) }
  }
  const all = [
    column('ID', ({ id }) => id.slice(0, shownIdLength)),
    column('AGE', ({ time }) => roundedDuration(Math.max(0, now - Date.parse(time) / 1000))),
    column('COMMAND', ({ command }) => command),
    column('MODEL', ({ model }) => shortened(model ?? '', 20)),
    column(outcomeHeading, outcomeOf),
  ]
  const widthOf = (some: typeof all) => some.reduce((sum, { width }) => sum + width + gap.length, 0)
  const visible = optionalColumns.reduce(
    (kept, [heading, wanted]) =>
      widthOf(kept) + wanted <= columns ? kept : kept.filter((one) => one.heading !== heading),
    all,
  )
  const room = columns - widthOf(visible)
  const rowOf = (cells: readonly string[], subject: string) =>
    [...cells, ...(room >= minSubject ? [shortened(subject, room)] : [])].join(gap).trimEnd()
  const head = rowOf(
    visible.map(({ heading, width }) => padded(heading, width)),
    'PROMPT',
  )
  const rows = calls.map((call, row) => {
    const cells = visible.map(({ cells: own, width }) => padded(own[row]!, width))
    const plain = rowOf(cells, subjectOf(call))
    // Where there is no room for it, the id tells how it ended.
    const at = Math.max(
      0,
      visible.findIndex(({ heading }) => heading === outcomeHeading),
    )
    if (styles === undefined || cellsOf(plain) > columns) return shortened(plain, columns)
    return rowOf(cells.with(at, styles[toneOf(call)](cells[at]!)), subjectOf(call))
  })
  return [shortened(head, columns), ...rows]
}

/** What a call was about: its prompt, else its files or jobs. */
function subjectOf({ prompt, files, jobs }: CallSummary): string {
  const words = prompt ?? (files.map(({ path }) => nameOf(path)).join(' ') || jobs.join(' '))
  return oneLine(words.slice(0, 4 * maxSubject))
}

/** The last part of a path of any system: a log may be looked at elsewhere. */
function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1)!
}
