import { readFileSync } from 'node:fs'
import type { ResponseCreateParams, ResponseStreamEvent } from 'openai/resources/responses/responses'
import { expect, test } from 'vitest'
import { projectRoot } from '../../support/generated-files.ts'
import { openaiClient } from '../clients/all.ts'

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

/** All events of a stream of the official client, which checks their order, and what it makes of them. */
async function streamed(body: Omit<ResponseCreateParams, 'stream'>) {
  const stream = (await openaiClient()).client.responses.stream(body as never)
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
  const whole = await (await openaiClient()).client.responses.create({ input: `Rivers sandbox:${word}` })
  expect(whole.output.map(({ type }) => type)).toEqual(items)
})
