import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { videoKind } from '../../src/files/video-info.ts'
import { FileInspector } from '../../src/files/inspect-file.ts'
import { describeMedia } from '../../src/files/media-file.ts'
import { box, ftyp, largeBox, moov, mp4Bytes, webmBytes } from '../support/video-bytes.ts'
import { runs } from '../support/sample.ts'

/** What a video tells when it comes in pieces of these lengths, the last of them again and again. */
function inspect(bytes: Uint8Array, lengths: readonly number[] = [bytes.length || 1]) {
  const inspector = new FileInspector(512)
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[Math.min(turn, lengths.length - 1)]!
    // Memory that is used again, as a download does.
    const piece = Buffer.from(bytes.subarray(at, at + length))
    inspector.add(piece)
    piece.fill(0xee)
    at += length
  }
  const { facts, integrity } = describeMedia(videoKind, inspector)
  return { ...facts, ...integrity }
}

const whole = { width: 1280, height: 720, seconds: 4, state: 'whole' }
const unknown = { ...whole, state: 'unknown' }

/** As small as an MP4 can be: it has an index, and nothing in it. */
const minimal = Buffer.concat([ftyp(), box('free'), box('mdat', Buffer.alloc(4)), box('moov')])

const unknownLength = mp4Bytes()
unknownLength.writeUInt32BE(0, unknownLength.indexOf('moov') - 4)

const fragmented = Buffer.concat([
  ftyp('iso5'),
  box(
    'moov',
    moov({ duration: 0 }).subarray(8),
    box('mvex', box('mehd', Buffer.from([0, 0, 0, 0, 0, 0, 0x0f, 0xa0]))),
  ),
  box('moof', Buffer.alloc(40)),
  box('mdat', Buffer.alloc(400)),
])

/** An index whose pictures begin at an offset. */
function indexOf(offset: number | bigint): Buffer {
  const entry = Buffer.alloc(typeof offset === 'bigint' ? 16 : 12)
  entry.writeUInt32BE(1, 4)
  if (typeof offset === 'bigint') entry.writeBigUInt64BE(offset, 8)
  else entry.writeUInt32BE(offset, 8)
  const table = box(typeof offset === 'bigint' ? 'co64' : 'stco', entry)
  return box('moov', moov().subarray(8), box('trak', box('mdia', box('minf', box('stbl', table)))))
}

test.each<[string, Uint8Array, object]>([
  ['the index at the end', mp4Bytes(), { format: 'mp4', ...whole }],
  [
    'the index in front',
    Buffer.concat([ftyp(), moov(), box('mdat', Buffer.alloc(99))]),
    { format: 'mp4', ...whole },
  ],
  [
    'times of 64 bits',
    mp4Bytes({ long: true, timescale: 24_000, duration: 96_000 }),
    { format: 'mp4', ...whole },
  ],
  [
    'a fraction of a second',
    mp4Bytes({ timescale: 30_000, duration: 100_100 }),
    { format: 'mp4', ...whole, seconds: 3.337 },
  ],
  [
    'a size of 64 bits',
    Buffer.concat([ftyp(), largeBox('mdat', 116n, Buffer.alloc(100)), moov()]),
    { format: 'mp4', ...whole },
  ],
  ['a last box to the end', unknownLength, { format: 'mp4', ...unknown }],
  ['in fragments', fragmented, { format: 'mp4', ...unknown }],
  [
    'in fragments, with the table of them',
    Buffer.concat([fragmented, box('mfra', Buffer.alloc(24))]),
    { format: 'mp4', ...whole },
  ],
  ['zeros behind the last box', Buffer.concat([mp4Bytes(), Buffer.alloc(5)]), { format: 'mp4', ...whole }],
  [
    'many zeros behind the last box',
    Buffer.concat([mp4Bytes(), Buffer.alloc(500)]),
    { format: 'mp4', ...whole },
  ],
  [
    'something behind the last box that is none',
    Buffer.concat([mp4Bytes(), Buffer.from([0, 0, 0, 5, 0, 0, 0, 0])]),
    { format: 'mp4', ...whole },
  ],
  [
    'as small as can be',
    minimal,
    { format: 'mp4', width: null, height: null, seconds: null, state: 'whole' },
  ],
  ['a duration nobody knew', mp4Bytes({ duration: 2 ** 32 - 1 }), { format: 'mp4', ...whole, seconds: null }],
  ['no timescale', mp4Bytes({ timescale: 0 }), { format: 'mp4', ...whole, seconds: null }],
  ['an index, and nothing else', Buffer.concat([ftyp('qt  '), moov()]), { format: 'mov', ...unknown }],
  [
    'QuickTime of old',
    Buffer.concat([box('wide'), box('mdat', Buffer.alloc(50)), moov()]),
    { format: 'mov', ...whole },
  ],
  [
    'WebM, which cannot be judged',
    webmBytes,
    { format: 'webm', width: null, height: null, seconds: null, state: 'unchecked' },
  ],
])('%s', (_, bytes, expected) => {
  expect(inspect(bytes)).toEqual(expected)
  expect(inspect(bytes, [1])).toEqual(expected)
  expect(inspect(bytes, [63, 1, 2, 500])).toEqual(expected)
})

test.each<[string, Uint8Array, string]>([
  ['cut within the pictures', mp4Bytes().subarray(0, 500), 'its data ends too early'],
  ['cut within the index', mp4Bytes().subarray(0, -5), 'its data ends too early'],
  ['cut within a header', Buffer.concat([mp4Bytes(), Buffer.from([0, 0, 1])]), 'its data ends too early'],
  ['without an index', Buffer.concat([ftyp(), box('mdat', Buffer.alloc(80))]), 'it has no index'],
  [
    'cut between the index and the pictures',
    Buffer.concat([ftyp(), indexOf(5000), box('free', Buffer.alloc(99))]),
    'its data ends too early',
  ],
  [
    'cut between the index and the pictures, with offsets of 64 bits',
    Buffer.concat([ftyp(), indexOf(5000n)]),
    'its data ends too early',
  ],
  [
    'cut before the first fragment',
    fragmented.subarray(0, fragmented.indexOf('moof') - 4),
    'its data ends too early',
  ],
  [
    'cut within a fragment',
    fragmented.subarray(0, fragmented.lastIndexOf('mdat') - 4),
    'its data ends too early',
  ],
  [
    'a size of 5',
    Buffer.concat([ftyp(), Buffer.from([0, 0, 0, 5, 0, 0, 0, 0]), Buffer.alloc(60)]),
    'its structure has impossible sizes',
  ],
  [
    'a large size of 9',
    Buffer.concat([ftyp(), largeBox('free', 9n), Buffer.alloc(60)]),
    'its structure has impossible sizes',
  ],
  [
    'a size beyond all',
    Buffer.concat([ftyp(), largeBox('mdat', 2n ** 64n - 1n), moov()]),
    'its data ends too early',
  ],
])('damaged: %s', (_, bytes, damage) => {
  expect(inspect(bytes).damage).toBe(damage)
  expect(inspect(bytes, [1]).damage).toBe(damage)
})

/** Boxes of every kind that is looked into, with sizes that may lie. */
const hostileBox: fc.Arbitrary<Buffer> = fc.letrec<{ box: Buffer }>((tie) => ({
  box: fc
    .tuple(
      fc.constantFrom(
        'moov',
        'trak',
        'mdia',
        'minf',
        'stbl',
        'stco',
        'co64',
        'mvhd',
        'tkhd',
        'mvex',
        'mehd',
        'mdat',
        'free',
        'moof',
        'ftyp',
      ),
      fc.oneof(
        { maxDepth: 5 },
        fc.uint8Array({ maxLength: 150 }),
        tie('box'),
        fc.array(tie('box'), { maxLength: 4 }).map((all) => Buffer.concat(all)),
      ),
      fc.oneof(
        { weight: 5, arbitrary: fc.constant('true' as const) },
        { weight: 1, arbitrary: fc.nat({ max: 20 }) },
        { weight: 1, arbitrary: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }) },
        { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 ** 32 - 1 }) },
      ),
    )
    .map(([type, content, size]) => {
      if (typeof size === 'bigint') return largeBox(type, size, content)
      const made = box(type, content)
      if (size !== 'true') made.writeUInt32BE(size)
      return made
    }),
})).box

test('whatever a hostile MP4 holds, and however it is cut, it is read to the same end', () => {
  const start = ftyp()
  fc.assert(
    fc.property(
      fc.array(hostileBox, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 9 }),
      fc.nat(),
      (parts, lengths, cut) => {
        const all = Buffer.concat([start, ...parts])
        const bytes = all.subarray(0, start.length + (cut % (all.length - start.length + 1)))
        const found = inspect(bytes)
        expect(inspect(bytes, lengths)).toEqual(found)
        expect(inspect(bytes, [1])).toEqual(found)
        for (const value of [found.width, found.height, found.seconds]) {
          expect(value === null || (Number.isFinite(value) && value >= 0)).toBe(true)
        }
      },
    ),
    runs(300),
  )
})

test('a million tiny boxes are followed no further', () => {
  const tiny = Buffer.concat(Array.from({ length: 10_000 }, () => box('free')))
  const inspector = new FileInspector(512)
  inspector.add(ftyp())
  for (let count = 0; count < 101; count++) inspector.add(tiny)
  expect(describeMedia(videoKind, inspector).integrity.damage).toBe('its structure has impossible sizes')
})

test('a video larger than any memory is read by its sizes', () => {
  const inspector = new FileInspector(512)
  const piece = Buffer.alloc(1 << 20)
  inspector.add(Buffer.concat([ftyp(), largeBox('mdat', 16n + 5n * 2n ** 30n)]))
  // The same memory again and again: what matters is that nothing of it is kept or looked at.
  for (let count = 0; count < 5 * 1024; count++) inspector.add(piece)
  inspector.add(moov())
  expect(describeMedia(videoKind, inspector)).toMatchObject({
    facts: { seconds: 4 },
    integrity: { state: 'whole' },
  })
})
