import { expect, test } from 'vitest'
import { GenerationError } from '../../src/errors.ts'
import { createGate, createRedactor } from '../../src/output/gate.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { sampleDocument, sampleEvents } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const redact = (text: string, secrets: readonly string[]) => createRedactor(secrets)(text)

const key = 'sk-Test/+canary=0123456789?é'

const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

test.each([
  ['as it is', key],
  ['percent-encoded', encodeURIComponent(key)],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(key))],
  ['percent-encoded in small letters', encodeURIComponent(key).toLowerCase()],
  ['in JSON', JSON.stringify({ key })],
  ['in JSON, every character escaped', [...key].map(escaped).join('')],
  ['in JSON in JSON, every character escaped', [...key].map((one) => `\\${escaped(one)}`).join('')],
  ['in JSON, all but letters and digits escaped', key.replaceAll(/[^\dA-Za-z]/g, escaped)],
])('a key %s is removed', (_, text) => {
  const clean = redact(`before ${text} after`, [key])
  expect(clean).toContain('[hidden]')
  expect(clean).toMatch(/^before [[\]hidden{}":key]+ after$/)
})

test('a document gives away no part of a long key', () => {
  const redactJson = createRedactor([key], true)
  expect(redactJson(JSON.stringify({ [key]: [`x${key}`] }))).toBe('{"[hidden]":["x[hidden]"]}')
})

test.each(['json', 'jsonl', 'raw', undefined] as const)(
  'no line on standard error holds the key (%s)',
  async (mode) => {
    const context = testContext()
    const output = createOutput(context, {
      mode,
      quiet: false,
      usage: true,
      gate: createGate(context, [key]),
    })
    output.event(sampleEvents.start)
    // The key at the place where a line is cut must not survive in part.
    for (let length = 440; length < 500; length++) {
      output.event({ type: 'warning-add', message: `${'x'.repeat(length)}${key}` })
    }
    const facts = { hint: `Try ${key}`, requestId: key, remoteId: encodeURIComponent(key) }
    await output.error(new GenerationError('generation_failed', `Bad key ${key}`, facts), {
      ...sampleDocument,
      response: { key },
    })
    expect(context.stderr.text).not.toMatch(/sk-|canary/)
  },
)
