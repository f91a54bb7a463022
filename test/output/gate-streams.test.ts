import { describe, expect, test } from 'vitest'
import { createGate, createRedactor, sanitiseJson } from '../../src/output/gate.ts'
import { testContext } from '../support/test-context.ts'

const key = 'Key-0123456789<abc'
/** PHP, Go and .NET escape the character in the middle of the key. */
const splitEscape = String.raw`"Key-0123456789\u003e."`

describe('the bytes of a reply', () => {
  test('stay as they are where standard output is no terminal, but for a key that comes in pieces', () => {
    const reply = createGate(testContext(), [key]).reply()
    const bytes = [Buffer.from([0xff, 0x1b, 0x00]), Buffer.from('Key-0123'), Buffer.from('456789<abc é')]
    const out = Buffer.concat(bytes.map((chunk) => reply.push(chunk) as Buffer))
    expect(out).toEqual(Buffer.concat([Buffer.from([0xff, 0x1b, 0x00]), Buffer.from('[hidden] é')]))
    expect(reply.push(Buffer.from('\u00ffKey-'))).toEqual(Buffer.from('\u00ff'))
    expect(reply.end()).toEqual(Buffer.from('Key-'))
  })

  test('are text without control characters on a terminal', () => {
    const reply = createGate(testContext({ terminal: true }), [key]).reply()
    expect(reply.push(Buffer.from([0x61, 0x1b, 0xc3]))).toBe('a␛')
    expect(reply.push(Buffer.from([0xa9, 0x2e, ...Buffer.from('Key-0123')]))).toBe('é.')
    expect(reply.push(Buffer.from('456789<abc. Key-'))).toBe('[hidden]. ')
    expect(reply.end()).toBe('Key-')
  })

  test('end with a mark for a character that was cut', () => {
    const reply = createGate(testContext({ terminal: true })).reply()
    expect([reply.push(Buffer.from([0x61, 0xc3])), reply.end()]).toEqual(['a', '\ufffd'])
  })

  test('stay JSON where a key is cut within an escape', () => {
    const reply = createGate(testContext({ terminal: true }), [key]).reply()
    expect(`${reply.push(Buffer.from(splitEscape)) as string}${reply.end() as string}`).toBe('"[hidden]."')
  })
})

test('a stream holds back what may be the beginning of a key', () => {
  const stream = createGate(testContext(), [key]).stream()
  expect([stream.push('a\u001b Key-'), stream.push('0123456789<abc. Key-'), stream.end()]).toEqual([
    'a␛ ',
    '[hidden]. ',
    'Key-',
  ])
})

test('documents lose a key that is split between them', () => {
  const documents = createGate(testContext(), [key]).documents()
  const out = ['{"a":"Key-0123"}', '{"a":"456789<abc."}'].flatMap((json) => documents.push(json))
  expect([...out, ...documents.end()]).toEqual(['{"a":""}', '{"a":"[hidden]."}'])
})

test('each line of a report is no command to a CI runner, and outside CI it stays', () => {
  const lines = 'a ##[group]b\n::error::c\n\nd'
  const inCi = createGate(testContext({ env: { CI: 'true' } }), [key])
  expect(inCi.report(`${lines} ${key}`)).toBe('a ## [group]b\n: :error::c\n\nd [hidden]')
  expect(createGate(testContext(), [key]).report(`${lines} ${key}`)).toBe(`${lines} [hidden]`)
})

test('a document is no command to a CI runner, and outside CI it stays', () => {
  const json = `{"a":"##[group] ${key}"}`
  const inCi = createGate(testContext({ env: { CI: 'true' } }), [key])
  expect(inCi.document(json)).toBe(String.raw`{"a":"#\u0023[group] [hidden]"}`)
  expect(createGate(testContext(), [key]).document(json)).toBe('{"a":"##[group] [hidden]"}')
})

test.each([
  ['a\r\n\nb', 9, 'a b'],
  ['abcd', 4, 'abcd'],
  ['abcde', 4, 'abc…'],
  ['ab😀c', 4, 'ab…'],
])('%j as a line of at most %i characters: %j', (text, limit, line) => {
  expect(createGate(testContext()).line(text, limit)).toBe(line)
})

test('JSON for a terminal has escapes in place of control characters', () => {
  expect(sanitiseJson('{"a":"\u007f \u202e \u{e0041}"}')).toBe(String.raw`{"a":"\u007f \u202e \udb40\udc41"}`)
  expect(sanitiseJson('{"a":"é"}')).toBe('{"a":"é"}')
})

test.each([
  // A form with a bare quotation mark cannot be within one string.
  ['a key that looks like JSON', 'key":"0123456789', '{"key":"0123456789"}', '{"key":"0123456789"}'],
  ['the same within a string', 'key":"0123456789', '{"a":"key\\":\\"0123456789"}', '{"a":"[hidden]"}'],
])('a document with %s', (_, secret, json, clean) => {
  expect(createRedactor([secret], true)(json)).toBe(clean)
})

test('an empty secret is in no text, not even between two spaces', () => {
  expect(createRedactor([''])('a  . b')).toBe('a  . b')
})
