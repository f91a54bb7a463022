import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  createJsonRedactor,
  createPieceRedactor,
  createRedactor,
  createStreamRedactor,
} from '../../src/output/gate.ts'

const key = 'sk-Test/+canary=0123456789?ABCDEFGHIJ'
const longest = randomBytes(49_152).toString('base64url')

test.each<[string, (text: string) => string]>([
  ['as it is', (text) => text],
  ['in hex', (text) => Buffer.from(text).toString('hex')],
  ['in HEX', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['in base64', (text) => Buffer.from(text).toString('base64')],
  ['in base64, one on', (text) => Buffer.from(`.${text}.`).toString('base64')],
  ['in base64url, two on', (text) => Buffer.from(`..${text}..`).toString('base64url')],
  ['percent-encoded', encodeURIComponent],
  ['in base64, percent-encoded', (text) => encodeURIComponent(Buffer.from(text).toString('base64'))],
  ['in a query', (text) => new URLSearchParams({ '': text }).toString().slice(1)],
  ['in JSON inside JSON', (text) => JSON.stringify(JSON.stringify(text)).slice(3, -3)],
  ['in the JSON of PHP', (text) => text.replaceAll('/', String.raw`\/`)],
  ['in the JSON of .NET', (text) => text.replaceAll('+', String.raw`\u002B`)],
  ['its last 20 characters', (text) => text.slice(-20)],
  ['its first 12 characters', (text) => text.slice(0, 12)],
  ['20 characters in the middle', (text) => text.slice(9, 29)],
])('of a key %s nothing is left, however long the key is', (_, write) => {
  for (const secret of [key, longest]) {
    const clean = createRedactor(['other-secret-0123', secret])(`before ${write(secret)} after`)
    // The edges of base64 belong to what stands around the key as well.
    expect(clean).toMatch(/^before \S{0,4}\[hidden\]\S{0,8} after$/)
  }
})

test.each([0, 1, 2])('base64url of a key whose base64 differs from it everywhere, %i bytes on', (offset) => {
  const odd = '?>~'.repeat(10)
  const encoded = Buffer.from('.'.repeat(offset) + odd).toString('base64url')
  expect(encoded).toMatch(/(?:[-_].{0,3}){10}/)
  expect(createRedactor([odd])(`before ${encoded} after`)).toMatch(/^before \S{0,4}\[hidden\]\S{0,4} after$/)
})

test('a key of 64 KiB, and several, in hostile texts: no stack, and time for the text alone', () => {
  const secrets = [longest, key, 'a'.repeat(65_536), '0123456789'.repeat(6_000)]
  const redact = createRedactor(secrets)
  const near = [longest.slice(0, 11), longest.slice(1, 20), 'a'.repeat(11), '0123456789 ']
  for (const text of near) {
    const hostile = `${text}!`.repeat(100_000)
    expect(redact(hostile)).toBe(hostile)
  }
  expect(redact(longest.repeat(10))).toBe('[hidden]')
  expect(redact('a'.repeat(1_000_000))).toBe('[hidden]')
})

test('a key in pieces of any length is found, but for its first three characters', () => {
  for (let size = 1; size <= key.length; size++) {
    const stream = createStreamRedactor([key])
    let clean = ''
    const text = `before ${key} after`
    for (let at = 0; at < text.length; at += size) clean += stream.push(text.slice(at, at + size))
    expect(clean + stream.end()).toMatch(/^before (?:s|sk|sk-)?\[hidden\] after$/)
  }
})

test('a key of digits leaves a number where there was one', () => {
  const redact = createJsonRedactor(['123456789012'])
  expect(redact('{"a":123456789012,"b":[-123456789012.5],"c":"no 123456789012."}')).toBe(
    '{"a":0,"b":[0],"c":"no [hidden]."}',
  )
})

test('a key that is split between documents of a stream is found, and the rest stays in its place', () => {
  const documents = (texts: readonly string[]) =>
    texts.map((text, at) => `${JSON.stringify({ type: 'delta', sequence_number: at, delta: text })}\n`)
  const run = (lines: readonly string[]) => {
    const stream = createPieceRedactor([key])
    return [...lines.flatMap((line) => stream.push(line)), ...stream.end()]
  }
  for (let cut = 4; cut < key.length; cut++) {
    const lines = documents([`The key ${key.slice(0, cut)}`, `${key.slice(cut)} is`, ' wrong.'])
    const deltas = run(lines).map((line) => (JSON.parse(line) as { delta: string }).delta)
    expect(deltas.join('')).toBe('The key [hidden] is wrong.')
    expect(deltas).toHaveLength(3)
  }
  const single = run(documents(key.split('')))
  expect(single).toHaveLength(key.length)
  const joined = single.map((line) => (JSON.parse(line) as { delta: string }).delta).join('')
  expect(joined).toMatch(/^(?:sk-|sk|s)?\[hidden\]$/)
  const harmless = documents(['sk-Test', ' is how', ' keys begin: sk-T', '.'])
  expect(run(harmless)).toEqual(harmless)
})

test('what might be the beginning of a key does not hold back a stream for ever', () => {
  const stream = createPieceRedactor([key])
  const first = '{"delta":"sk-Test"}\n'
  const others = Array.from({ length: 100 }, (_, at) => `{"other":"line ${at}."}\n`)
  const out = [first, ...others].flatMap((line) => stream.push(line))
  expect(out[0]).toBe(first)
  expect([...out, ...stream.end()]).toEqual([first, ...others])
})
