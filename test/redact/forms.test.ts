import { expect, test } from 'vitest'
import { formsOf, spellings } from '../../src/redact/matcher.ts'

test.each([
  // As it is, in JSON, in JSON inside JSON, and with the slashes of PHP.
  ['ab/cd', ['ab/cd', String.raw`ab\/cd`, 'ab%2Fcd']],
  ['a"b', ['a"b', String.raw`a\"b`, String.raw`a\\\"b`, String.raw`a\u0022b`, 'a%22b']],
  [
    "a<&>'+`b",
    [
      "a<&>'+`b",
      String.raw`a\u003c\u0026\u003e'+` + '`b',
      String.raw`a\u003c\u0026\u003e\u0027\u002b\u0060b`,
      "a%3C%26%3E'%2B%60b",
      "a%3C&%3E'+%60b",
      'a%3C%26%3E%27%2B%60b',
      'a%3c&%3e%27+`b',
      "a%3c&%3e'+%60b",
    ],
  ],
  ['a#?^{}b', ['a#?^{}b', 'a%23%3F%5E%7B%7Db', 'a#?%5E%7B%7Db', 'a%23?^{}b', 'a%23%3f%5e%7b%7db']],
  ['a b', ['a b', 'a%20b', 'a+b']],
  ['plain', ['plain']],
])('the spellings of %j', (text, expected) => {
  expect(spellings(text)).toEqual(expected)
})

test('a key is looked for in hexadecimal and in base64 at any offset', () => {
  const key = 'Key~0123456789?'
  const forms = formsOf(key)
  expect(forms).toContain(key)
  expect(forms).toContain('4b65797e303132333435363738393f')
  for (const before of ['', 'x', 'xx']) {
    for (const alphabet of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(`${before}${key}yyy`).toString(alphabet)
      expect(forms.filter((form) => encoded.includes(form))).not.toEqual([])
    }
  }
  expect(forms.filter((form) => form.includes('='))).toEqual([])
  expect(new Set(forms).size).toBe(forms.length)
})

test('a key is looked for with each character escaped, its marks alone, or twice in a URL', () => {
  expect(formsOf('K.9/abcd')).toEqual(
    expect.arrayContaining([
      String.raw`\u004b\u002e\u0039\u002f\u0061\u0062\u0063\u0064`,
      String.raw`\\u004b\\u002e\\u0039\\u002f\\u0061\\u0062\\u0063\\u0064`,
      String.raw`K\u002e9\u002fabcd`,
      'K.9%252Fabcd',
    ]),
  )
})

test.each([
  ['a-key-of', true],
  ['a-short', false],
  ['', false],
])('of %j there are forms: %s', (secret, isSought) => {
  const forms = formsOf(secret)
  expect(forms.includes(secret)).toBe(isSought)
  expect(forms.includes(Buffer.from(secret).toString('hex'))).toBe(isSought)
})

test('a key of sixteen letters and marks is looked for with other marks, too', () => {
  const forms = formsOf('key.:/0123456789ab')
  expect(forms).toContain('key_0123456789ab')
  expect(forms).toContain('key-0123456789ab')
  expect(forms).not.toContain('key0123456789ab')
})

test('ids keep the dashes and underscores of a key', () => {
  const forms = formsOf('key-a_b/c0123456789')
  expect(forms).toContain('key-a_bc0123456789')
  expect(forms).toContain('key-a_b2Fc0123456789')
})

test('half a character has a form that can be written', () => {
  expect(formsOf('key-\ud800-0123')).toContain('key-\ufffd-0123')
})
