import type { CallSummary } from '../events/call.ts'
import { shownIdLength } from '../files/calls/call-record.ts'
import { isObject } from '../json.ts'
import { roundedDuration } from '../quantities.ts'
import type { Tone } from './screen.ts'
import { tabbedText, tableText, type Column, type TableView } from './table-cells.ts'

/** The prompt in a row for scripts. */
const maxSubject = 200

/** Formats calls as rows, each with a newline; empty if there are none. Safe for a terminal. */
export function logTable(calls: readonly CallSummary[], { now, columns, styles }: TableView): string {
  if (columns === undefined) return tabbedText(calls, fieldsOf)
  const all: readonly Column<CallSummary>[] = [
    { heading: 'ID', cell: ({ id }) => id.slice(0, shownIdLength) },
    {
      heading: 'AGE',
      cell: ({ time }) => roundedDuration(Math.max(0, now - Date.parse(time) / 1000)),
      dropOrder: 2,
    },
    { heading: 'COMMAND', cell: ({ command }) => command },
    { heading: 'MODEL', cell: ({ model }) => model ?? '', dropOrder: 1, widest: 20 },
    { heading: 'OUTCOME', cell: outcomeOf, dropOrder: 3, tone: toneOf },
    { heading: 'PROMPT', cell: subjectOf, dropOrder: 4, least: 12 },
  ]
  return tableText(calls, all, { columns, styles })
}

/** Everything, for scripts: the whole id and time, codes, the paths of the files. */
function fieldsOf(call: CallSummary): (string | number | null)[] {
  const { id, time, command, model, exit_code, error, files, prompt } = call
  const paths = files.map(({ path }) => path).join(' ')
  const code = error?.code ?? call.finish_reason
  return [id, time, command, model, exit_code, code, paths, (prompt ?? '').slice(0, maxSubject)]
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

/** What a call was about: its prompt, else its files or jobs. */
function subjectOf({ prompt, files, jobs }: CallSummary): string {
  const words = prompt ?? (files.map(({ path }) => nameOf(path)).join(' ') || jobs.join(' '))
  return words.slice(0, 4 * maxSubject)
}

/** The last part of a path of any system: a log may be looked at elsewhere. */
function nameOf(path: string): string {
  return path.split(/[/\\]/).at(-1)!
}
