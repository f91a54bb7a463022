import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { assertNoKey, createSecretFilter } from '../../../src/sandbox/recording/secret-filter.ts'
import { runs } from '../../support/sample.ts'

const key = 'upstream-key-2f8a61c09d'
// Not whole in the source, so that no scanner takes it for a real one.
const skKey = `sk-${'proj-a1B2c3D4e5F6g7H8i9J0'}`
const googleKey = `AIza${'SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q'}`
const base64 = (text: string) => Buffer.from(text).toString('base64')

function refusalOf(look: () => unknown): string | undefined {
  try {
    look()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test.for([
  ['as it is', `say ${key}!`, 'say [hidden]!'],
  ['in hexadecimal', `x${Buffer.from(key).toString('hex')}x`, 'x[hidden]x'],
  ['beside characters of two bytes', `é${key}é`, 'é[hidden]é'],
] as const)('takes the key out %s', ([, text, expected]) => {
  const kept = createSecretFilter([key]).hide(Buffer.from(text).toString('latin1'))
  expect(Buffer.from(kept, 'latin1').toString()).toBe(expected)
})

test.for([
  ['a key of OpenAI', `your ${skKey} is`, 'a key (sk-…)'],
  ['a key of Google', `"${googleKey}"`, 'a key (AIza…)'],
  ['a bearer token', 'authorization: Bearer abcdefghij0123456789xyz', 'a bearer token'],
  ['a signed URL', 'https://x.example/a.png?se=1&sig=aB%2Bc0123456789012345678', 'a signed URL'],
  ['a private key', '-----BEGIN RSA PRIVATE KEY-----', 'a private key'],
  ['ordinary words', 'a task-oriented desk-bound person, sk-learn, Bearer of news', undefined],
  ['an image in base64', base64('\x89PNG'.repeat(2000)).replaceAll('A', 'AIza'), undefined],
  ['megabytes of backslashes', '\\'.repeat(2_000_000), undefined],
] as const)('notices what looks like another key: %s', ([, text, what]) => {
  expect(refusalOf(() => assertNoKey(text))).toBe(what && `it holds ${what}`)
})

const anyKey = fc.string({
  minLength: 12,
  maxLength: 60,
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
})
const cuts = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 10 })

const ofCall = { item_id: 'c', output_index: 1 }
/** Events that carry pieces of a text, in the forms that gateways use. */
const forms: Readonly<Record<string, (delta: string) => object>> = {
  response: (delta) => ({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta }),
  content: (text) => ({ candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0 }] }),
  arguments: (delta) => ({ type: 'response.function_call_arguments.delta', ...ofCall, delta }),
}
const other = 'data: {"type":"response.other.delta","item_id":"o","output_index":2,"delta":"and"}\n\n'
const delta = /"(?:delta|text)":("(?:[^"\\]|\\.)*")/

test.each(Object.keys(forms))('takes any key out, however it is split over events (%s)', (form) => {
  const property = fc.property(anyKey, cuts, fc.boolean(), (secret, sizes, isEncoded) => {
    const inner = form === 'arguments' ? JSON.stringify({ token: secret }) : `it is ${secret} there`
    const text = isEncoded ? `x ${base64(`Bearer ${secret}`)} y` : inner
    const events: string[] = []
    for (let at = 0, turn = 0; at < text.length; turn++) {
      const size = sizes[turn % sizes.length]!
      events.push(`data: ${JSON.stringify(forms[form]!(text.slice(at, at + size)))}\n\n`, other)
      at += size
    }
    const texts = createSecretFilter([secret])
      .events(events)
      .filter((event) => event !== other)
      .map((event) => JSON.parse(delta.exec(event)![1]!) as string)
    expect(texts.join('')).toContain('[hidden]')
    expect(texts.join('')).not.toContain(secret)
  })
  fc.assert(property, runs(300))
})
