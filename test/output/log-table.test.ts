import { expect, test } from 'vitest'
import type { CallSummary, WholeCall } from '../../src/events/call.ts'
import { callReport, logTable } from '../../src/output/log-table.ts'
import { sampleCallDocument, sampleEvents } from '../support/output-samples.ts'

const now = Date.UTC(2026, 10, 22, 9, 30) / 1000
const sample: CallSummary = { ...sampleEvents['call-list'].call, exit_code: 0, error: null }
const long = 'Tell me a long story about a paper boat on the river at night'

const calls: readonly CallSummary[] = [
  { ...sample, id: '1'.repeat(16), command: 'generate', model: 'text-model', prompt: long, files: [] },
  { ...sample, id: '2'.repeat(16), time: '2026-11-22T06:00:00.000Z', exit_code: 7, command: 'image create' },
  { ...sample, id: '3'.repeat(16), time: '2026-11-19T06:00:00.000Z', command: 'wait', prompt: null },
  { ...sample, id: '4'.repeat(16), command: 'wait', prompt: null, files: [], model: null },
]

test.each<[number, string]>([
  [
    80,
    `
ID        AGE     COMMAND       MODEL          OUTCOME  PROMPT
11111111  30 min  generate      text-model     ok       Tell me a long story a…
22222222  3 h     image create  image-model-a  unknown  A boat
33333333  3 d     wait          image-model-a  ok       boat.png
44444444  30 min  wait                         ok       video_1
`,
  ],
  [
    40,
    `
ID        COMMAND       PROMPT
11111111  generate      Tell me a long…
22222222  image create  A boat
33333333  wait          boat.png
44444444  wait          video_1
`,
  ],
])('the calls on a terminal of %i columns', (columns, table) => {
  expect(`\n${logTable(calls, { now, columns })}`).toBe(table)
  for (const line of table.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
})

test('the name of a file with a Windows path', () => {
  const files = [{ ...sample.files[0]!, path: String.raw`C:\Users\A B\boat.png` }]
  expect(logTable([{ ...sample, prompt: null, files }], { now, columns: 80 })).toMatch(/ ok {7}boat\.png$/m)
})

test.each<[Partial<CallSummary>, string]>([
  [{ finish_reason: 'stop' }, 'ok'],
  [{ finish_reason: 'length' }, 'cut'],
  [{ finish_reason: 'tool_calls' }, 'tool call'],
  [{ created: { job: 'resp_1' }, files: [] }, 'started'],
  [{ created: { job: 'video_1' } }, 'ok'],
  [{ error: { code: 'output_closed', message: '', billed: 'yes' } }, 'closed'],
  [{ exit_code: 4 }, 'rejected'],
  [{ exit_code: 5 }, 'later'],
  [{ exit_code: 9 }, 'failed'],
  [{ exit_code: 11 }, 'running'],
  [{ exit_code: 130 }, 'stopped'],
  [{ exit_code: 99 }, 'exit 99'],
])('a call that ends with %j is %s', (end, outcome) => {
  const row = logTable([{ ...sample, ...end }], { now, columns: 100 }).split('\n')[1]!
  expect(row.slice(45, 54).trim()).toBe(outcome)
})

test('scripts get whole ids, times, codes and paths, separated by tabs', () => {
  const error = { code: 'some_failed', message: '', billed: 'yes' } as const
  const table = logTable([{ ...sample, exit_code: 12, error }], { now, columns: undefined })
  expect(table.replaceAll('\t', ' | ')).toBe(
    '0123456789abcdef | 2026-11-22T09:00:00.000Z | image edit | image-model-a | 12 | some_failed | ' +
      '/home/a b/boat.png | A boat\n',
  )
})

const whole: WholeCall = {
  ...sampleCallDocument.call,
  arguments: ['image', 'edit', 'A boat'],
  files: [{ ...sampleCallDocument.call.files[0]!, state: 'changed' }],
  reply: { text: 'One\n\u001b[31mtwo', is_partial: true },
}

test('one call, with all that is known of it', () => {
  expect(callReport({ ...whole, time: new Date(2026, 10, 22, 9).toISOString() }, 60)).toBe(`\
call        0123456789abcdef
when        2026-11-22 09:00:00, took 1.2 s
command     image edit
folder      /home/a b
gateway     https://gateway.example
profile     work
model       image-model-a
outcome     partial (exit 12, some_failed)
error       One image failed.
billed      yes
request id  req_1
tokens      3 in
created     1 image, 1024x1024
jobs        video_1
sent        /home/a b/in.png, 9 B
file        /home/a b/boat.png, 1024x1024 png 5 B (changed
            since)
rescued     /home/a b/rescued.png
again
modelgate image edit "A boat"

prompt
  A boat

request
  {
    "prompt": "A boat"
  }

answer
  One
  ␛[31mtwo
  [incomplete answer]
`)
})

test('prompt and answer break between words, code and tables do not', () => {
  const code = `\`\`\`sh\necho ${'word '.repeat(9)}\n\`\`\``
  const table = `| ${'cell | '.repeat(9).trim()}`
  const text = `  - A list item that is longer than forty columns\n${code}\n${table}\n日本語の長い文 日本語の長い文 日本語の長い文`
  const call = { ...whole, prompt: 'Words that are longer than forty columns', reply: { text } }
  const report = callReport(call, 40)
  expect(report).toContain('\nprompt\n  Words that are longer than forty\n  columns\n')
  expect(report.slice(report.indexOf('\nanswer'))).toBe(`
answer
    - A list item that is longer than
    forty columns
  \`\`\`sh
  echo word word word word word word word word word 
  \`\`\`
  ${table}
  日本語の長い文 日本語の長い文
  日本語の長い文
`)
  expect(callReport(call, undefined)).toContain('\n  Words that are longer than forty columns\n')
})
