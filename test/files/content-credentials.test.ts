import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeCbor } from '../../src/files/content-credentials/cbor.ts'
import { createCredentialFinder } from '../../src/files/content-credentials/find-credentials.ts'
import { readManifestStore } from '../../src/files/content-credentials/manifest-store.ts'
import { inspectBytes } from '../../src/files/inspect-file.ts'
import { sniffMediaType } from '../../src/files/media-type.ts'
import {
  boxOf,
  cborOf,
  credentialBox,
  foreignBox,
  jumbfSegments,
  manifestStore,
  signedFiles,
  sourceType,
} from '../support/content-credential-bytes.ts'
import { gifBytes, jpegBytes, pngBytes, pngChunk, webpBytes } from '../support/image-bytes.ts'
import { runs } from '../support/sample.ts'

const store = manifestStore()
const files = signedFiles(store)

/** What is found in bytes that come in pieces of this length. */
function storesIn(bytes: Buffer, pieceLength = bytes.length) {
  const finder = createCredentialFinder(sniffMediaType(bytes)!)!
  for (let at = 0; at < bytes.length; at += pieceLength) finder.add(bytes.subarray(at, at + pieceLength))
  return finder.stores()
}

describe('the store of content credentials is found', () => {
  test.each([
    ['png', 'PNG chunk caBX', Buffer.from('caBX'), -4],
    ['webp', 'RIFF chunk C2PA', Buffer.from('C2PA'), 0],
    ['gif', 'GIF extension C2PA_GIF', Buffer.from('C2PA_GIF'), -3],
  ])('in %s', (extension, place, mark, before) => {
    const bytes = files[extension]!
    const offset = bytes.indexOf(mark) + before
    expect(storesIn(bytes)).toEqual([
      { place, offset, bytes: store.length, received: store.length, content: store },
    ])
  })

  test('in the second JUMBF box of a JPEG, over several segments', () => {
    const found = storesIn(files['jpg']!)
    expect(found.map(({ content }) => content)).toEqual([foreignBox, store])
    expect(found[1]!.offset).toBe(2 + jumbfSegments(foreignBox)[0]!.length)
    expect(jumbfSegments(store, 300).length).toBeGreaterThan(1)
  })

  test('in a box of an MP4 and of an AVIF, past boxes of C2PA that hold none', () => {
    const [mp4] = storesIn(files['mp4']!)
    expect(mp4).toMatchObject({ place: 'box uuid', offset: 20 + 52, content: store })
    expect(storesIn(files['mp4']!)).toHaveLength(1)
    expect(storesIn(files['avif']!)).toMatchObject([{ place: 'box uuid', offset: 20, content: store }])
  })

  test('in a JPEG XL', () => {
    expect(storesIn(files['jxl']!).map(({ content }) => content)).toEqual([foreignBox, store])
  })

  test.each(Object.keys(files))('in %s, in whatever pieces it comes', (extension) => {
    const bytes = files[extension]!
    for (const length of [1, 2, 7, 255, 256, 257]) expect(storesIn(bytes, length)).toEqual(storesIn(bytes))
  })

  test('in a box with a length of 64 bits', () => {
    const box = credentialBox(store)
    const long = Buffer.concat([Buffer.of(0, 0, 0, 1), box.subarray(4, 8), Buffer.alloc(8), box.subarray(8)])
    long.writeBigUInt64BE(BigInt(long.length), 8)
    const bytes = Buffer.concat([files['mp4']!.subarray(0, 20), long])
    expect(storesIn(bytes)).toMatchObject([{ offset: 20, content: store }])
  })

  test('in a file that was cut, in blocks of 256 bytes', () => {
    const bytes = files['png']!
    const cut = bytes.subarray(0, bytes.indexOf('caBX') + 4 + 300)
    expect(storesIn(cut)).toMatchObject([
      { bytes: store.length, received: 256, content: store.subarray(0, 256) },
    ])
  })

  test('and nothing is found where there is none', () => {
    const plain = [pngBytes(), jpegBytes(), gifBytes(), webpBytes('VP8L', Buffer.alloc(10))]
    expect(plain.map((bytes) => storesIn(bytes))).toEqual([[], [], [], []])
  })

  test('a store of gigabytes is passed over, and a part of it kept', () => {
    const finder = createCredentialFinder('image/png')!
    const chunk = pngChunk('caBX', Buffer.alloc(0))
    chunk.writeUInt32BE(3_000_000_000, 0)
    finder.add(Buffer.concat([pngBytes().subarray(0, 33), chunk.subarray(0, 8)]))
    const piece = Buffer.alloc(1 << 20)
    for (let index = 0; index < 20; index++) finder.add(piece)
    const [found] = finder.stores()
    expect([found!.bytes, found!.content.length]).toEqual([3_000_000_000, 4 * 1024 * 1024])
    expect(found!.received).toBeGreaterThan(18 << 20)
  })
})

describe('a manifest store', () => {
  test('tells what its last manifest claims', () => {
    expect(readManifestStore(store)).toEqual({
      label: 'urn:c2pa:0f1e2d3c',
      generator: 'Picture Maker 2.1',
      title: 'boat.png',
      sourceTypes: ['trainedAlgorithmicMedia'],
    })
  })

  test.each([
    [{ claim_generator: 'Old/1.0 c2pa-rs/0.1' }, 'Old/1.0 c2pa-rs/0.1'],
    [{ claim_generator_info: [{ name: 'First' }, { name: 'Second' }], claim_generator: 'no' }, 'First'],
    [{ claim_generator_info: 'odd' }, null],
    [{}, null],
  ])('with the claim %j was made by %s', (claim, generator) => {
    const facts = readManifestStore(manifestStore({ claim, claimLabel: 'c2pa.claim' }))
    expect(facts).toMatchObject({ generator, title: null })
  })

  test('names each kind of source once', () => {
    const actions = ['compositeSynthetic', 'digitalCapture', 'compositeSynthetic'].map((name) => ({
      action: 'c2pa.placed',
      digitalSourceType: sourceType(name),
    }))
    expect(readManifestStore(manifestStore({ actions }))!.sourceTypes).toEqual([
      'compositeSynthetic',
      'digitalCapture',
    ])
  })

  test('without a manifest is one all the same; other boxes are none', () => {
    const empty = boxOf('jumb', store.subarray(8, 8 + store.readUInt32BE(8)))
    expect(readManifestStore(empty)).toMatchObject({ label: null, generator: null })
    expect(readManifestStore(foreignBox)).toBeUndefined()
    expect(readManifestStore(Buffer.alloc(0))).toBeUndefined()
  })
})

describe('CBOR', () => {
  test.each([
    ['a2616101616281 02', { a: 1, b: [2] }],
    ['bf61616162ff', { a: 'b' }],
    ['7f6161 6162ff', 'ab'],
    ['9f01 20 f6 f5ff', [1, -1, null, true]],
    ['c1 1a 00010000', 65_536],
    ['fb3ff0000000000000', null],
    ['a101 02', {}],
  ])('%s', (hex, value) => {
    expect(decodeCbor(Buffer.from(hex.replaceAll(' ', ''), 'hex'))).toEqual(value)
  })

  test.each([
    ['cut', '62 61'],
    ['a break alone', 'ff'],
    ['a length that is reserved', '1c'],
    ['a list longer than the bytes', '9b ff ff ff ff ff ff ff ff'],
    ['nested too deeply', '81'.repeat(100)],
  ])('%s is refused', (_, hex) => {
    expect(decodeCbor(Buffer.from(hex.replaceAll(' ', ''), 'hex'))).toBeUndefined()
  })

  test('a key that is special in objects is an ordinary one', () => {
    const value = decodeCbor(cborOf(JSON.parse('{"__proto__": {"polluted": "yes"}}')))
    expect(Object.getPrototypeOf(value)).toBeNull()
    expect(({} as { polluted?: string }).polluted).toBeUndefined()
  })
})

describe('hostile files', () => {
  const hex = /^[0-9a-f]{64}$/

  test('random bytes after any signature never stop the inspection', async () => {
    const starts = Object.values(files).map((bytes) => bytes.subarray(0, 64))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...starts),
        fc.uint8Array({ maxLength: 3000 }),
        async (start, rest) => {
          const { sha256 } = await inspectBytes('a', [Buffer.concat([start, rest])])
          expect(sha256).toMatch(hex)
        },
      ),
      runs(150),
    )
  })

  test('nor do changed and missing bytes of a signed file', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...Object.values(files)),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 8 }),
        fc.nat(),
        fc.integer({ min: 1, max: 5000 }),
        async (whole, changes, end, piece) => {
          const bytes = Buffer.from(whole.subarray(0, end % (whole.length + 1)))
          for (const [at, value] of changes) if (bytes.length > 0) bytes[at % bytes.length] = value
          const pieces: Buffer[] = []
          for (let at = 0; at < bytes.length; at += piece) pieces.push(bytes.subarray(at, at + piece))
          expect((await inspectBytes('a', pieces)).bytes).toBe(bytes.length)
        },
      ),
      runs(300),
    )
  })

  test('random stores and random CBOR are read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(store.length), (bytes, at) => {
        const broken = Buffer.from(store)
        broken.set(bytes.subarray(0, Math.max(0, store.length - at)), at)
        const facts = readManifestStore(broken)
        const read: unknown = decodeCbor(Buffer.from(bytes))
        expect([typeof facts, typeof read]).not.toContain('function')
      }),
      runs(2000),
    )
  })
})
