import { win32 } from 'node:path'
import type { CallSummary, CallFile, WholeCall } from '../events/call.ts'
import { shownIdLength } from '../files/calls/call-record.ts'
import { isObject, objectOf, stringOf } from '../json.ts'
import { byteText, counted, roundedDuration } from '../quantities.ts'
import type { Tone } from './screen.ts'
import {
  commandText,
  oneLine,
  reportText,
  tabbedText,
  tableText,
  type Column,
  type Columns,
  type TableView,
} from './table-cells.ts'
import { shellWord } from '../files/file-error.ts'
import { localSecond } from '../local-time.ts'
import { breakLine } from './line-breaks.ts'
import { sanitise } from './gate.ts'
import { tokenCounts } from './notices.ts'

const maxSubject = 200

/** Empty if there are none. Safe for a terminal. */
export function logTable(calls: readonly CallSummary[], { now, columns, styles }: TableView): string {
  if (columns === undefined) return tabbedText(calls, fieldsOf)
  const all: readonly Column<CallSummary>[] = [
    ['ID', ({ id }) => id.slice(0, shownIdLength)],
    ['AGE', ({ time }) => roundedDuration(Math.max(0, now - Date.parse(time) / 1000)), { dropOrder: 2 }],
    ['COMMAND', ({ command }) => command],
    ['MODEL', ({ model }) => model ?? '', { dropOrder: 1, widest: 20 }],
    ['OUTCOME', outcomeOf, { dropOrder: 3, tone: toneOf }],
    ['PROMPT', subjectOf, { dropOrder: 4, least: 12 }],
  ]
  return tableText(calls, all, { columns, styles })
}

function fieldsOf(call: CallSummary): (string | number | null)[] {
  const { id, time, command, model, exit_code, error, files, prompt } = call
  const paths = files.map(({ path }) => path).join(' ')
  const code = error?.code ?? call.finish_reason
  return [id, time, command, model, exit_code, code, paths, (prompt ?? '').slice(0, maxSubject)]
}

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

function outcomeOf({ exit_code: code, error, finish_reason: reason, created, files }: CallSummary): string {
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
  // The job continues; some of several came; the answer does not match its schema.
  return code !== null && [11, 12, 14].includes(code) ? 'warning' : 'error'
}

function subjectOf({ prompt, files, jobs }: CallSummary): string {
  // Of a path of any system: a log may be looked at elsewhere.
  const words = prompt ?? (files.map(({ path }) => win32.basename(path)).join(' ') || jobs.join(' '))
  return words.slice(0, 4 * maxSubject)
}

export function callReport(call: WholeCall, columns: Columns): string {
  const { id, command, cwd, profile, model, error, usage, created } = call
  const typed = call.arguments && `modelgate ${call.arguments.map(shellWord).join(' ')}`
  const facts = reportText(
    [
      ['call', id],
      ['when', timeText(call)],
      ['command', command],
      ['typed', call.again === null ? typed : null],
      ['folder', cwd],
      ['gateway', call.sandbox ? 'sandbox' : call.origin],
      ['profile', profile],
      ['model', model],
      ['outcome', outcomeText(call)],
      ['error', error && oneLine(error.message)],
      ['billed', error && error.billed],
      ['request id', call.request_id],
      // As `--usage` has it.
      ['tokens', isObject(usage) ? tokenCounts(usage) || null : null],
      ['created', createdText(created)],
      ['jobs', jobsText(call)],
      ...call.inputs.map(({ path, bytes }): Row => [
        'sent',
        `${path || 'media in the request'}, ${byteText(bytes)}`,
      ]),
      ...call.files.map((file): Row => ['file', fileText(file)]),
      ...call.rescued.map((path): Row => ['rescued', path]),
    ],
    columns,
  )
  const blocks = [
    ['prompt', inWords(call.prompt, columns)],
    ['request', call.request === null ? null : JSON.stringify(call.request, undefined, 2)],
    ['answer', inWords(answerText(call), columns)],
  ] as const
  const texts = blocks.flatMap(([name, text]) =>
    text === null ? [] : [`\n${name}\n${indented(sanitise(text))}\n`],
  )
  return facts + commandText('again', call.again, columns) + texts.join('')
}

type Row = readonly [name: string, value: string | null]

function outcomeText(call: WholeCall): string {
  const { exit_code: code, error, finish_reason: reason } = call
  const details = [code === null ? null : `exit ${code}`, error?.code, reason].filter((fact) => fact != null)
  return `${outcomeOf(call)} (${details.join(', ')})`
}

function jobsText({ created, jobs }: WholeCall): string | null {
  const started = stringOf(objectOf(created)['job']) ?? []
  return [started, ...jobs].flat().join(' ') || null
}

function timeText({ time, duration_ms: took }: WholeCall): string {
  return `${localSecond(Date.parse(time))}, took ${took < 10_000 ? (took / 1000).toFixed(1) : Math.round(took / 1000)} s`
}

/** `2 images, 1024x1024, high`; `8 s of video, 720p`. Jobs have a row of their own. */
function createdText(created: WholeCall['created']): string | null {
  const { images, video_seconds: seconds, video_size: videoSize } = objectOf(created)
  const { count, size, quality } = objectOf(images)
  const facts = [
    typeof count === 'number' ? counted(count, 'image') : undefined,
    typeof seconds === 'number' ? `${seconds} s of video` : undefined,
    ...[size, quality, videoSize].map(stringOf),
  ]
  return facts.filter((fact) => fact !== undefined).join(', ') || null
}

const states: Readonly<Record<CallFile['state'], string>> = {
  unchanged: '',
  changed: ' (changed since)',
  missing: ' (no longer there)',
  unknown: ' (cannot be read)',
}

function fileText({ path, bytes, format, width, height, seconds, state }: CallFile): string {
  const size = width === null || height === null ? [] : [`${width}x${height}`]
  const facts = [...size, format, ...(seconds === null ? [] : [`${seconds} s`]), byteText(bytes)]
  return `${path}, ${facts.join(' ')}${states[state]}`
}

function answerText({ reply }: WholeCall): string | null {
  const { text, is_partial: isPartial } = objectOf(reply)
  const words = stringOf(text) ?? ''
  if (reply === null || (words === '' && !isPartial)) return null
  return isPartial ? `${words}\n[incomplete answer]` : words
}

/** On a terminal, in lines that break between words; code and tables are left as they are. */
function inWords(text: string | null, columns: Columns): string | null {
  if (text === null || columns === undefined) return text
  const room = columns - 2
  let isCode = false
  const lines = text.split('\n').flatMap((line) => {
    const isFence = /^\s*(?:```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    if (isCode || isFence || /^\s*\|/.test(line)) return [line]
    const [indent = ''] = /^\s*/.exec(line) ?? []
    return breakLine(line.slice(indent.length), room - indent.length).map((words) => indent + words)
  })
  return lines.join('\n')
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, '  ')
}
