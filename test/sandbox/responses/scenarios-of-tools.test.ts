import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import type { ResponseCreateParams, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import { projectRoot } from '../../support/generated-files.ts'
import { runningSandbox } from '../../support/running-sandbox.ts'

const page = readFileSync(new URL('docs/sandbox.md', projectRoot), 'utf8').split(
  '\n## Content generation',
)[0]!
/** The rows of the table of scenarios: the word, its items, its events. */
const rows = [...page.matchAll(/^\| `sandbox:(\S+)` +\| (.*?) +\| (.*?) +\|$/gm)].map(
  ([, word, items, events]) => ({
    word: word!,
    items: codeIn(items!),
    events: wholeNames(codeIn(events!)),
  }),
)

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
}

/** `.done` after `refusal.delta` is `refusal.done`. */
function wholeNames(names: readonly string[]): string[] {
  let before = ''
  return names.map((name) => {
    const whole = name.startsWith('.') ? before + name : name
    before = whole.slice(0, Math.max(0, whole.lastIndexOf('.')))
    return whole
  })
}

/** Events that the page says nearly every stream has. */
const usual = new Set([
  'created',
  'in_progress',
  'output_item.added',
  'output_item.done',
  'content_part.added',
  'content_part.done',
  'output_text.delta',
  'output_text.done',
  'completed',
])

async function clientOf(): Promise<OpenAI> {
  const { url } = await runningSandbox()
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 })
}

/** All events of a stream of the official client, which checks their order, and what it makes of them. */
async function streamed(body: Omit<ResponseCreateParams, 'stream'>) {
  const stream = (await clientOf()).responses.stream(body as never)
  const events: ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event as ResponseStreamEvent)
  return { events, final: await stream.finalResponse() }
}

test('the page lists scenarios', () => {
  expect(rows.length).toBeGreaterThan(20)
})

test.for(rows)('sandbox:$word has the items and events of the page', async ({ word, items, events }) => {
  const { events: all, final } = await streamed({ input: `Rivers sandbox:${word}` })
  expect(final.output.map(({ type }) => type)).toEqual(items)
  const names = [...new Set(all.map(({ type }) => type.replace('response.', '')))]
  expect(names.filter((name) => !usual.has(name))).toEqual(events)
  expect(all.map(({ sequence_number }) => sequence_number)).toEqual([...all.keys()])
  expect(final.id).toBe((all[0] as { response: { id: string } }).response.id)
  const whole = await (await clientOf()).responses.create({ input: `Rivers sandbox:${word}` })
  expect(whole.output.map(({ type }) => type)).toEqual(items)
})

/** Of the official client's types; the endpoint has no field that asks for sound. */
type EventName = Exclude<ResponseStreamEvent['type'], `response.audio${string}`>

const known: Readonly<Record<EventName, true>> = {
  error: true,
  'response.code_interpreter_call.completed': true,
  'response.code_interpreter_call.in_progress': true,
  'response.code_interpreter_call.interpreting': true,
  'response.code_interpreter_call_code.delta': true,
  'response.code_interpreter_call_code.done': true,
  'response.compaction.compacting': true,
  'response.completed': true,
  'response.content_part.added': true,
  'response.content_part.done': true,
  'response.created': true,
  'response.custom_tool_call_input.delta': true,
  'response.custom_tool_call_input.done': true,
  'response.failed': true,
  'response.file_search_call.completed': true,
  'response.file_search_call.in_progress': true,
  'response.file_search_call.searching': true,
  'response.function_call_arguments.delta': true,
  'response.function_call_arguments.done': true,
  'response.image_generation_call.completed': true,
  'response.image_generation_call.generating': true,
  'response.image_generation_call.in_progress': true,
  'response.image_generation_call.partial_image': true,
  'response.in_progress': true,
  'response.incomplete': true,
  'response.mcp_call.completed': true,
  'response.mcp_call.failed': true,
  'response.mcp_call.in_progress': true,
  'response.mcp_call_arguments.delta': true,
  'response.mcp_call_arguments.done': true,
  'response.mcp_list_tools.completed': true,
  'response.mcp_list_tools.failed': true,
  'response.mcp_list_tools.in_progress': true,
  'response.output_item.added': true,
  'response.output_item.done': true,
  'response.output_text.annotation.added': true,
  'response.output_text.delta': true,
  'response.output_text.done': true,
  'response.queued': true,
  'response.reasoning_summary_part.added': true,
  'response.reasoning_summary_part.done': true,
  'response.reasoning_summary_text.delta': true,
  'response.reasoning_summary_text.done': true,
  'response.reasoning_text.delta': true,
  'response.reasoning_text.done': true,
  'response.refusal.delta': true,
  'response.refusal.done': true,
  'response.shell_call_command.added': true,
  'response.shell_call_command.delta': true,
  'response.shell_call_command.done': true,
  'response.shell_call_output_content.delta': true,
  'response.shell_call_output_content.done': true,
  'response.web_search_call.completed': true,
  'response.web_search_call.in_progress': true,
  'response.web_search_call.searching': true,
}

test('every event that the official client knows comes in one of the scenarios of the page', async () => {
  const client = await clientOf()
  const seen = new Set<string>(['error'])
  for (const { word } of rows) {
    const body = { input: `sandbox:${word}`, stream: true as const, background: word === 'function' }
    for await (const { type } of await client.responses.create(body)) seen.add(type)
  }
  expect([...seen].toSorted()).toEqual(Object.keys(known).toSorted())
  const broken = await client.responses.create({ input: 'sandbox:error', stream: true })
  const reading = async () => {
    for await (const { type } of broken) seen.add(type)
  }
  await expect(reading()).rejects.toMatchObject({ code: 'server_error', message: /Generation broke off/ })
})
