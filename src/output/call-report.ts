import type { CallFile, WholeCall } from '../events/call.ts'
import { shellWord } from '../files/file-error.ts'
import { isObject, objectOf, stringOf } from '../json.ts'
import { localSecond } from '../local-time.ts'
import { byteText } from './quantities.ts'
import { sanitise } from './gate.ts'
import { outcomeOf } from './log-table.ts'
import { type Columns, oneLine, reportText } from './table-cells.ts'

/** All of one call: its facts, then prompt, request and answer. Safe for a terminal. */
export function callReport(call: WholeCall, columns: Columns): string {
  const { id, number, command, cwd, profile, model, error, usage, created, jobs } = call
  const facts = reportText(
    [
      ['call', `${number} (${id})`],
      ['when', timeText(call)],
      ['command', command],
      ['typed', call.arguments && `modelgate ${call.arguments.map(shellWord).join(' ')}`],
      ['folder', cwd],
      ['gateway', call.sandbox ? 'sandbox' : call.origin],
      ['profile', profile],
      ['model', model],
      ['outcome', outcomeText(call)],
      ['error', error && oneLine(error.message)],
      ['billed', error && error.billed],
      ['request id', call.request_id],
      ['usage', fieldsText(usage)],
      ['created', fieldsText(created)],
      ['jobs', jobs.length === 0 ? null : jobs.join(' ')],
      ['repeats', call.repeats],
      ...call.inputs.map(({ path, bytes }): Row => [
        'sent',
        `${path || 'media in the request'}, ${byteText(bytes)}`,
      ]),
      ...call.files.map((file): Row => ['file', fileText(file)]),
    ],
    columns,
  )
  const blocks = [
    ['prompt', call.prompt],
    ['request', requestText(call)],
    ['answer', answerText(call)],
  ] as const
  const texts = blocks.flatMap(([name, text]) =>
    text === null ? [] : [`\n${name}\n${indented(sanitise(text))}\n`],
  )
  return facts + texts.join('')
}

type Row = readonly [name: string, value: string | null]

function outcomeText(call: WholeCall): string {
  const { exit_code: code, error, finish_reason: reason } = call
  const details = [
    `exit ${code}`,
    ...(error === null ? [] : [error.code]),
    ...(reason === null ? [] : [reason]),
  ]
  return `${outcomeOf(call)} (${details.join(', ')})`
}

function timeText({ time, duration_ms: took }: WholeCall): string {
  return `${localSecond(Date.parse(time))}, took ${took < 10_000 ? `${(took / 1000).toFixed(1)} s` : `${Math.round(took / 1000)} s`}`
}

/** `input_tokens 12, output_tokens 30`: names and numbers, those of objects with the name around them. */
function fieldsText(value: unknown, prefix = ''): string | null {
  const texts = Object.entries(objectOf(value)).flatMap(([name, field]) => {
    if (field === null || field === undefined) return []
    if (isObject(field)) return fieldsText(field, `${prefix}${name}.`) ?? []
    return [`${prefix}${name} ${String(field)}`]
  })
  return texts.length === 0 ? null : texts.join(', ')
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

/** The body, unless the prompt is all there is in it. */
function requestText({ request }: WholeCall): string | null {
  return request === null ? null : JSON.stringify(request, undefined, 2)
}

function answerText({ reply }: WholeCall): string | null {
  const { text, is_partial: isPartial } = objectOf(reply)
  const words = stringOf(text) ?? ''
  if (reply === null || (words === '' && !isPartial)) return null
  return isPartial ? `${words}\n[not the whole answer]` : words
}

function indented(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, '  ')
}
