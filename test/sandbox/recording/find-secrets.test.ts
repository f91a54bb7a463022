import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSecretSearch } from '../../../src/sandbox/recording/find-secrets.ts'
import { runs } from '../../support/sample.ts'

const key = 'upstream-key-2f8a61c09d'
// Not whole in the source, so that no scanner takes it for a real one.
const skKey = `sk-${'proj-a1B2c3D4e5F6g7H8i9J0'}`
const googleKey = `AIza${'SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q'}`
const base64 = (text: string) => Buffer.from(text).toString('base64')

function found(...pieces: string[]): string | undefined {
  const search = createSecretSearch([key])
  for (const piece of pieces) search.look(piece)
  return search.found
}

test.for([
  ['the key', [`say ${key}!`], 'the key in use'],
  ['the key in two pieces', ['say upstream-key', '-2f8a61c09d!'], 'the key in use'],
  ['the key, character by character', [...`it is ${key}.`], 'the key in use'],
  ['the key in base64', [`x ${base64(`Bearer ${key}`)} y`], 'the key in use'],
  ['the key in hexadecimal', [Buffer.from(key).toString('hex')], 'the key in use'],
  ['the key with escapes', ['\\u0075pstream\\u002dkey\\u002d2f8a61c09d'], 'the key in use'],
  ['a key of OpenAI', [`your ${skKey} is`], 'a key (sk-…)'],
  ['a key of OpenAI in two pieces', [`your ${skKey.slice(0, 9)}`, skKey.slice(9)], 'a key (sk-…)'],
  ['a key of Google', [`"${googleKey}"`], 'a key (AIza…)'],
  ['a bearer token', ['authorization: Bearer abcdefghij0123456789xyz'], 'a bearer token'],
  ['a key of OpenAI in base64', [base64(`key: ${skKey}`)], 'a key (sk-…) in base64'],
  ['a signed URL', ['https://x.example/a.png?se=1&sig=aB%2Bc0123456789012345678'], 'a signed URL'],
  ['a private key', ['-----BEGIN RSA PRIVATE KEY-----'], 'a private key'],
] as const)('finds %s', ([, pieces, what]) => {
  expect(found(...pieces)).toBe(what)
})

test.for([
  ['ordinary words', ['a task-oriented risk-averse desk-bound person, sk-learn, Bearer of news']],
  ['a placeholder', ['Send "Authorization: Bearer API_KEY"', 'sk-your-own-key-goes-right-here-please']],
  ['an image in base64', [base64('\x89PNG'.repeat(2000)).replaceAll('A', 'AIza')]],
] as const)('leaves %s alone', ([, pieces]) => {
  expect(found(...pieces)).toBeUndefined()
})

test('finds a secret that is split over the deltas of one text, among those of another', () => {
  const search = createSecretSearch([key])
  const delta = (index: number, text: string) =>
    search.lookAtEvent(
      `event: response.output_text.delta\ndata: ${JSON.stringify({ type: 'response.output_text.delta', output_index: index, sequence_number: 3, delta: text })}\n\n`,
    )
  delta(0, 'it is upstr')
  delta(1, 'something else')
  delta(0, 'eam')
  expect(search.found).toBeUndefined()
  delta(1, 'again')
  delta(0, '-key-2f8')
  expect(search.found).toBe('the key in use')
})

test('finds a secret that is split over chunks of the other style', () => {
  const search = createSecretSearch([])
  for (const text of ['Use AIzaSyA1b2C3', 'd4E5f6G7h8I9', 'j0K1l2M3n4O5p6Q', '.']) {
    search.lookAtEvent(
      `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text }] } }] })}\r\n\r\n`,
    )
  }
  expect(search.found).toBe('a key (AIza…)')
})

test('finds a key within the JSON of a function call, split over its deltas', () => {
  const search = createSecretSearch([])
  for (const delta of ['{\\"token\\":\\"sk', `-proj-a1B2c3`, 'D4e5F6g7H8i9J0\\"}']) {
    search.lookAtEvent(
      `data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"${delta}"}\n\n`,
    )
  }
  expect(search.found).toBe('a key (sk-…)')
})

// Patterns need a stack as deep as what they repeat, and time for each way to read it.
test.for([
  ['base64', base64('\0'.repeat(20_000_000))],
  ['backslashes', '\\'.repeat(2_000_000)],
  ['beginnings of keys', 'eyJ'.repeat(500_000)],
] as const)('megabytes of %s are no match, and no problem', ([, text]) => {
  expect(found(text)).toBeUndefined()
})

const anyKey = fc.string({
  minLength: 12,
  maxLength: 60,
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
})
const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 10 })

/** Events that carry pieces of a text, in the forms that gateways use. */
const forms: Readonly<Record<string, (delta: string) => object>> = {
  response: (delta) => ({
    type: 'response.output_text.delta',
    item_id: 'm',
    output_index: 0,
    sequence_number: 1,
    delta,
  }),
  content: (text) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] }),
  arguments: (delta) => ({
    type: 'response.function_call_arguments.delta',
    item_id: 'c',
    output_index: 1,
    delta,
  }),
}

test.each(Object.keys(forms))('finds any key, however it is split over events (%s)', (form) => {
  const property = fc.property(anyKey, cuts, fc.boolean(), (secret, sizes, isEncoded) => {
    const inner = form === 'arguments' ? JSON.stringify({ token: secret }) : `it is ${secret} there`
    const text = isEncoded ? `x ${base64(inner)} y` : inner
    const search = createSecretSearch([secret])
    for (let at = 0, turn = 0; at < text.length; turn++) {
      const size = sizes[turn % sizes.length]!
      search.lookAtEvent(`data: ${JSON.stringify(forms[form]!(text.slice(at, at + size)))}\n\n`)
      search.lookAtEvent(
        'data: {"type":"response.other.delta","item_id":"o","output_index":2,"delta":"and"}\n\n',
      )
      at += size
    }
    expect(search.found).toMatch(/^the key in use/)
  })
  fc.assert(property, runs(300))
})
