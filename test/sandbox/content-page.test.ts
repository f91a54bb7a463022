import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { projectRoot } from '../support/generated-files.ts'
import { eventsOf, generate, runningSandbox, type Json } from '../support/running-sandbox.ts'

const page = readFileSync(new URL('docs/sandbox.md', projectRoot), 'utf8')
const section = page.slice(page.indexOf('\n## Content generation\n'))
/** The rows of the table of scenarios: the words, the finish reason, the kinds of parts, further fields. */
const rows = [...section.matchAll(/^\| (`sandbox:.*?) +\| (.*?) +\| (.*?) +\| (.*?) +\|$/gm)].flatMap(
  ([, words, reason, parts, fields]) =>
    codeIn(words!).map((code) => {
      const word = code.slice('sandbox:'.length)
      const reasons = reason === 'the one named' ? [word] : codeIn(reason!)
      return { word, reasons, parts: codeIn(parts!), fields: codeIn(fields!).toSorted() }
    }),
)

function codeIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!)
}

/** Fields that a candidate, or a reply, has in any case. */
const usual = new Set([
  'content',
  'index',
  'finishReason',
  'tokenCount',
  'candidates',
  'usageMetadata',
  'modelVersion',
  'responseId',
])

test('the page lists scenarios', () => {
  expect(rows.length).toBeGreaterThan(40)
  expect(new Set(rows.map(({ word }) => word)).size).toBe(rows.length)
})

test.for(rows)('sandbox:$word is as the page says', async ({ word, ...said }) => {
  const name = word.split(':')[0]!
  const tools = /^[a-z]+[A-Z]/.test(name) ? [{ [name]: {} }] : []
  const answer = await generate(await runningSandbox(), `Read https://example.com sandbox:${word}`, { tools })
  const chunks = eventsOf(answer)
  const candidates: Json[] = chunks.flatMap((chunk) => chunk.candidates ?? [])
  const kinds = candidates
    .flatMap(({ content }) => content.parts ?? [])
    .map((part: Json) => Object.keys(part)[0]!)
  const fields = [...chunks, ...candidates].flatMap((value) => Object.keys(value))
  expect({
    reasons: candidates.flatMap(({ finishReason }) => finishReason ?? []),
    parts: [...new Set(kinds)],
    fields: [...new Set(fields)].filter((field) => !usual.has(field)).toSorted(),
  }).toEqual(said)
})
