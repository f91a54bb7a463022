import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { referToMedia, referencesIn, restoreMedia } from '../../src/files/media-references.ts'

const bytes = Buffer.alloc(300, 'picture')
const base64 = bytes.toString('base64')
const sha256 = createHash('sha256').update(bytes).digest('hex')
const paths = new Map([[sha256, '/home/u/a.png']])

describe('media that is kept by reference', () => {
  test.each<[string, object, object]>([
    [
      'in a part',
      { parts: [{ inlineData: { mimeType: 'image/png', data: base64 } }] },
      {
        parts: [
          { inlineData: { mimeType: 'image/png', data: { sha256, bytes: 300, path: '/home/u/a.png' } } },
        ],
      },
    ],
    [
      'in a data URL',
      { type: 'input_image', image_url: `data:image/png;base64,${base64}` },
      {
        type: 'input_image',
        image_url: { sha256, bytes: 300, prefix: 'data:image/png;base64,', path: '/home/u/a.png' },
      },
    ],
    ['in a drawn picture', { result: base64 }, { result: { sha256, bytes: 300, path: '/home/u/a.png' } }],
  ])('%s', (_, whole, kept) => {
    expect(referToMedia(whole, paths)).toEqual(kept)
    expect(restoreMedia(kept, () => bytes)).toEqual(whole)
  })

  test('says no path where there is none', () => {
    expect(referencesIn([referToMedia({ data: base64 }, new Map())])).toEqual([{ sha256, bytes: 300 }])
  })

  test.each<[string, object]>([
    ['signatures', { thoughtSignature: base64, encrypted_content: base64 }],
    [
      'addresses',
      { image_url: `https://x.test/${'a'.repeat(300)}`, url: `data:text/plain,${'a'.repeat(300)}` },
    ],
    ['words', { data: `a b ${'c'.repeat(300)}` }],
    ['what is short', { data: 'AAAA' }],
    ['an object of the gateway like a reference', { args: { sha256: 'x', bytes: 1 } }],
    ['names of prototypes', JSON.parse('{"__proto__": {"a": 1}}') as object],
  ])('is not %s', (_, value) => {
    expect(JSON.stringify(referToMedia(value, paths))).toBe(JSON.stringify(value))
    expect(referencesIn(value)).toEqual([])
  })
})
