import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { GenerationError } from '../../src/errors.ts'
import { createGate, createJsonRedactor, createRedactor } from '../../src/output/gate.ts'
import { createOutput } from '../../src/output/create-output.ts'
import { sampleDocument, sampleEvents } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'

const redact = (text: string, secrets: readonly string[]) => createRedactor(secrets)(text)

const key = 'sk-Test/+canary=0123456789?é'

test.each([
  ['as it is', key],
  ['percent-encoded', encodeURIComponent(key)],
  ['percent-encoded in small letters', encodeURIComponent(key).toLowerCase()],
  ['in JSON', JSON.stringify({ key })],
])('a key %s is removed', (_, text) => {
  const clean = redact(`before ${text} after`, [key])
  expect(clean).toContain('[hidden]')
  expect(clean.toLowerCase()).not.toContain('canary')
})

test.each([
  ['as an error code', 'sk_test_canary_0123456789_'],
  ['as a file name', 'sk-test-canary-0123456789-'],
  ['as a host name', 'sktestcanary0123456789'],
  ['percent-encoded, as a job id', 'sk-Test2F2Bcanary3D01234567893FC3A9'],
  ['percent-encoded, as an error code', 'sk_test_2f_2bcanary_3d0123456789_3f_c3_a9'],
])('a key of which only the letters and digits are left is removed: %s', (_, text) => {
  const clean = redact(`before ${text} after`, [key])
  expect(clean).toContain('[hidden]')
  expect(clean.toLowerCase()).not.toContain('canary')
})

test('a short secret without its punctuation is a word like any other', () => {
  expect(redact('the key of a test', ['the-key-of'])).toBe('the key of a test')
  expect(redact('keyof test', ['key.of.test'])).toBe('keyof test')
})

test('a key inside base64 is removed, whatever stands before it', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.constantFrom('base64', 'base64url'),
      (before, after, encoding) => {
        const encoded = Buffer.from(before + key + after).toString(encoding)
        const clean = redact(encoded, [key])
        expect(clean).toContain('[hidden]')
        expect(Buffer.from(clean.replace('[hidden]', ''), encoding).toString()).not.toContain('canary')
      },
    ),
  )
})

test('a key that was cut after twelve characters or more is removed as far as it goes', () => {
  const form = fc.constantFrom(key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1))
  fc.assert(
    fc.property(form, fc.integer({ min: 12, max: 29 }), (text, length) => {
      expect(redact(`before ${text.slice(0, length)}`, [key])).toBe('before [hidden]')
    }),
  )
})

test.each([
  ['any', 'Many companies say anything anyway.', undefined],
  ['any', 'The key any is wrong.', 'The key [hidden] is wrong.'],
  ['any', 'Bearer any', 'Bearer [hidden]'],
  ['any', 'https://host/path?key=any&x=1', 'https://host/path?key=[hidden]&x=1'],
  ['text', 'saved /home/text/picture.png, C:\\text\\a, text-1.png, a.text', undefined],
  [
    'text',
    'Bad body: {"text": 1, "plain text" : "text"}',
    'Bad body: {"text": 1, "plain text" : "[hidden]"}',
  ],
  ['a', 'A model has given a bad answer.', 'A model has given [hidden] bad answer.'],
  ['a', 'a größe', '[hidden] größe'],
  ['gr', 'größe', undefined],
  ['a+b', 'key a+b, key=a%2Bb', 'key [hidden], key=[hidden]'],
  ['a"b', String.raw`{"key": "a\"b"}`, '{"key": "[hidden]"}'],
  ['seven77', 'seven77 seven778', '[hidden] seven778'],
  ['eight888', 'xeight888x', 'x[hidden]x'],
])('the short key %j in %j', (short, text, clean = text) => {
  expect(redact(text, [short])).toBe(clean)
})

test('a text of a million short keys takes no time', () => {
  expect(redact('a '.repeat(500_000), ['a'])).toBe('[hidden] '.repeat(500_000))
})

test.each(['any', 'text', '123', 'true', 'n', String.raw`a\b`, 'a"b'])(
  'a document stays the same document when the key is %j, but for values that hold it',
  (short) => {
    const word = fc.constantFrom(short, `my ${short}.`, `\n${short}`, `${short}y`, 'text', '"', '\\', 'x')
    const { value: json } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        word,
        fc.constantFrom(123, true, null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(word, tie('value'), { maxKeys: 3 }),
      ),
    }))
    const expected = (value: unknown): unknown => {
      if (typeof value === 'string') {
        const held = [short, `my ${short}.`, `\n${short}`].includes(value)
        return held ? value.replace(short, '[hidden]') : value
      }
      if (Array.isArray(value)) return value.map(expected)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, expected(inner)]))
    }
    const redactJson = createJsonRedactor([short])
    fc.assert(
      fc.property(json, fc.constantFrom(0, 2), (value, indent) => {
        // Compared as text: V8 14.6 reads the name "\"" as a backslash where an object with that name came before.
        const clean = redactJson(JSON.stringify(value, null, indent))
        expect(clean).toBe(JSON.stringify(expected(value), null, indent))
      }),
    )
  },
)

test('a document gives away no part of a long key', () => {
  const redactJson = createJsonRedactor([key, 'any'])
  expect(redactJson(JSON.stringify({ [key]: [`x${key}`, 'any'] }))).toBe(
    '{"[hidden]":["x[hidden]","[hidden]"]}',
  )
})

test('nothing is removed without a secret, and an empty one is none', () => {
  expect(redact('a text', [])).toBe('a text')
  expect(redact('a text', [''])).toBe('a text')
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
    await output.error(new GenerationError('failed', `Bad key ${key}`, facts), {
      ...sampleDocument,
      response: { key },
    })
    expect(context.stderr.text).not.toMatch(/sk-|canary/)
  },
)
