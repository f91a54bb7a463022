import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { referToMedia, referencesIn, restoreMedia } from '../../src/files/media-references.ts'

const bytes = Buffer.alloc(300, 'picture')
const base64 = bytes.toString('base64')
const sha256 = createHash('sha256').update(bytes).digest('hex')
const long = 'a'.repeat(300)
const paths = new Map([[sha256, '/home/u/a.png']])

const kept = { sha256, bytes: 300, path: '/home/u/a.png' }

test.each<[string, object, object]>([
  [
    'in a part',
    { parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] },
    { parts: [{ inlineData: { mimeType: 'image/png', data: kept } }] },
  ],
  [
    'in a data URL',
    { image_url: `data:image/png;base64,${base64}` },
    { image_url: { ...kept, prefix: 'data:image/png;base64,' } },
  ],
  ['in a drawn picture', { result: base64 }, { result: kept }],
])('media %s is kept by reference', (_, whole, kept) => {
  expect(referToMedia(whole, paths)).toEqual(kept)
  expect(restoreMedia(kept, () => bytes)).toEqual(whole)
})

test('a reference says no path where there is none', () => {
  expect(referencesIn([referToMedia({ data: base64 }, new Map())])).toEqual([{ sha256, bytes: 300 }])
})

test.each<[string, object]>([
  ['signatures', { thoughtSignature: base64, encrypted_content: base64 }],
  ['addresses', { image_url: `https://x.test/${long}`, url: `data:text/plain,${long}` }],
  ['words', { data: `a b ${long}` }],
  ['short words', { data: 'AAAA' }],
  ['objects of the gateway like references', { args: { sha256: 'x', bytes: 1 } }],
  ['names of prototypes', JSON.parse('{"__proto__": {"a": 1}}') as object],
])('%s are not kept by reference', (_, value) => {
  expect(JSON.stringify(referToMedia(value, paths))).toBe(JSON.stringify(value))
  expect(referencesIn(value)).toEqual([])
})
