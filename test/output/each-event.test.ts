import { expect, test } from 'vitest'
import { OutputClosed } from '../../src/errors.ts'
import type { OutputEvent } from '../../src/events/documents.ts'
import { createOutput, type OutputOptions } from '../../src/output/create-output.ts'
import { sampleEvents } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'
import { noticeOf } from '../../src/output/notices.ts'

type Settings = Partial<OutputOptions> & { readonly terminal?: boolean }

/** Every event on its own through a renderer: `>` standard output, `!` standard error, with marks for line ends. */
async function table({ terminal = false, ...options }: Settings): Promise<string> {
  const rows: string[] = []
  for (const event of Object.values(sampleEvents) as OutputEvent[]) {
    const context = testContext({ terminal, env: { NO_COLOR: '1' } })
    const resume = (id: string) => `modelgate wait ${id}`
    const output = createOutput(context, { quiet: false, usage: false, resume, ...options })
    if (options.mode === 'jsonl' && event.type !== 'start') output.event(sampleEvents.start)
    const before = context.stdout.text.length
    output.event(event)
    await output.flush()
    await output.error(closed)
    const [out, err] = [context.stdout.text.slice(before), context.stderr.text]
    if (out !== '') rows.push(`${event.type} > ${visible(out)}`)
    if (err !== '') rows.push(`${event.type} ! ${visible(err)}`)
  }
  return `\n${rows.join('\n')}\n`
}

const closed = new OutputClosed()
const visible = (text: string) => text.replaceAll('\n', '⏎')

test('plain: the text alone on standard output, a line about the rest', async () => {
  expect(await table({})).toMatchInlineSnapshot(`
    "
    text-delta > Hello
    refusal-delta ! refusal: I cannot.⏎
    tool-call ! tool call: weather({"city":"Paris"})⏎
    code-run ! code (python): x = 1 print(x)⏎
    code-result ! code result (ok): 1⏎
    citation-add ! citation: Example <https://example.com/>⏎
    item-add ! web search: rivers⏎
    safety-report ! safety: HARM_CATEGORY_HARASSMENT MEDIUM⏎
    prompt-block ! prompt blocked (SAFETY)⏎
    image-data ! image (image/png)⏎
    file-save ! saved a.png (8 bytes)⏎
    retry-wait ! retry in 2 s (2 left): too many requests (HTTP 429)⏎
    image-partial ! image 1 of 2: preview 1 of 2⏎
    image-save ! image 1 of 2: 4x3 png, 8 bytes⏎
    image-link ! image 1: link expires at 2023-11-14T23:13:20.000Z⏎
    image-fail ! image 2 failed: It expired.⏎
    job-create ! job started; resume with: modelgate wait video_1⏎
    job-progress ! job: in_progress (gateway says "running"), 40%, after 0:20, ~0:30 left⏎
    poll-fail ! look-up failed, next in 3 s: bad gateway (HTTP 502)⏎
    download-progress ! video 1: downloading, 50% of 10 B⏎
    video-save ! video 1: 1280x720 mp4, 4 s, 8 bytes⏎
    video-fail ! video 2 failed: It was filtered.⏎
    job-fail ! job video_1: It was filtered.⏎
    warning-add ! warning: user is deprecated⏎
    "
  `)
})

test('terminal: as plain, with the reasoning on standard error', async () => {
  const [text, reasoning] = ['text-delta > Hello\n', 'reasoning-delta ! They greet.⏎\n']
  expect(await table({ terminal: true })).toBe((await table({})).replace(text, text + reasoning))
})

test('json: only warnings and the state of a job are printed before the document', async () => {
  expect(await table({ mode: 'json' })).toMatchInlineSnapshot(`
    "
    retry-wait ! retry in 2 s (2 left): too many requests (HTTP 429)⏎
    image-fail ! image 2 failed: It expired.⏎
    job-create ! job started; resume with: modelgate wait video_1⏎
    job-progress ! job: in_progress (gateway says "running"), 40%, after 0:20, ~0:30 left⏎
    poll-fail ! look-up failed, next in 3 s: bad gateway (HTTP 502)⏎
    download-progress ! video 1: downloading, 50% of 10 B⏎
    video-fail ! video 2 failed: It was filtered.⏎
    job-fail ! job video_1: It was filtered.⏎
    warning-add ! warning: user is deprecated⏎
    "
  `)
})

test('jsonl: every event is a line, and what a user has to know is told as well', async () => {
  const told = /^(retry-wait|image-fail|job-create|poll-fail|video-fail|job-fail|warning-add)$/
  const notices = (await table({ mode: 'json' })).split('\n')
  const rows = (Object.values(sampleEvents) as OutputEvent[]).flatMap((event) => [
    `${event.type} > ${JSON.stringify(event)}⏎`,
    ...notices.filter((row) => told.test(event.type) && row.startsWith(`${event.type} ! `)),
  ])
  expect((await table({ mode: 'jsonl' })).split('\n')).toEqual(['', ...rows, ''])
})

test('raw: as plain, but no event reaches standard output', async () => {
  expect(await table({ mode: 'raw' })).toBe((await table({})).replace('text-delta > Hello\n', ''))
})

test.each([{}, { terminal: true }, { mode: 'json' }, { mode: 'raw' }, { mode: 'jsonl' }] as const)(
  'quiet: nothing on standard error (%j)',
  async (settings) => {
    const printed = (await table({ ...settings, quiet: true })).split('\n').filter((row) => / ! /.test(row))
    expect(printed).toEqual([])
  },
)

const waits = { type: 'retry-wait', attempt: 1, attempts_left: 2, wait_s: 0.42 } as const
const retry = (reason: string, http_status: number | null) => noticeOf({ ...waits, reason, http_status })
const nothing = { url: null, title: null, start: null, end: null, license: null, file_id: null }
const cite = (facts: object) => noticeOf({ type: 'citation-add', citation: { ...nothing, ...facts } })
const item = (kind: string, summary: string) => noticeOf({ type: 'item-add', kind, summary, item: {} })

test.each([
  // The status once.
  [retry('Busy (HTTP 429): wait.', 429), 'retry in 0.4 s (2 left): Busy (HTTP 429): wait.'],
  [retry('too many requests', 429), 'retry in 0.4 s (2 left): too many requests (HTTP 429)'],
  [retry('The connection was lost.', null), 'retry in 0.4 s (2 left): The connection was lost.'],
  [cite({ title: 'A', url: 'https://a.test' }), 'citation: A <https://a.test>'],
  [
    cite({ title: 'A', url: 'https://a.test', license: 'mit' }),
    'citation: A <https://a.test> (licence: mit)',
  ],
  [cite({ license: 'mit' }), 'citation: (licence: mit)'],
  // What it is once.
  [item('web_search_call', 'web search tool call: rivers'), 'web search tool call: rivers'],
  [item('shell_call', 'shell_call: ls'), 'shell_call: ls'],
  [item('compaction', 'compaction'), 'compaction'],
  [item('fileData', 'gs://a/b'), 'fileData: gs://a/b'],
])('a notice: %s', (told, text) => {
  expect(told).toBe(text)
})
