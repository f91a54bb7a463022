import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { videoKind, describeMedia } from '../../src/files/media-file.ts'
import { FileInspector } from '../../src/files/inspect-file.ts'
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

const mp4 = { format: 'mp4', width: 1280, height: 720, seconds: 4, state: 'whole' }
const nothing = { width: null, height: null, seconds: null }
const join = (...parts: readonly Uint8Array[]) => Buffer.concat(parts)
const mdat = box('mdat', Buffer.alloc(99))

const unknownLength = mp4Bytes()
unknownLength.writeUInt32BE(0, unknownLength.indexOf('moov') - 4)

const fragmented = join(
  ftyp('iso5'),
  box(
    'moov',
    moov({ duration: 0 }).subarray(8),
    box('mvex', box('mehd', Buffer.of(0, 0, 0, 0, 0, 0, 15, 160))),
  ),
  box('moof', Buffer.alloc(40)),
  box('mdat', Buffer.alloc(400)),
)

/** An index whose pictures begin at byte 5000. */
function indexOf(type: 'stco' | 'co64'): Buffer {
  const entry = Buffer.alloc(type === 'co64' ? 16 : 12)
  entry.writeUInt32BE(1, 4)
  entry.writeUInt32BE(5000, entry.length - 4)
  return box('moov', moov().subarray(8), box('trak', box('mdia', box('minf', box('stbl', box(type, entry))))))
}

test.each<[string, Uint8Array, object]>([
  ['the index at the end', mp4Bytes(), mp4],
  ['the index in front', join(ftyp(), moov(), mdat), mp4],
  ['times of 64 bits', mp4Bytes({ long: true, timescale: 24_000, duration: 96_000 }), mp4],
  ['a fraction of a second', mp4Bytes({ timescale: 30_000, duration: 100_100 }), { ...mp4, seconds: 3.337 }],
  ['a size of 64 bits', join(ftyp(), largeBox('mdat', 116n, Buffer.alloc(100)), moov()), mp4],
  ['a last box to the end', unknownLength, { ...mp4, state: 'unknown' }],
  ['in fragments', fragmented, { ...mp4, state: 'unknown' }],
  ['in fragments, with the table of them', join(fragmented, box('mfra', Buffer.alloc(24))), mp4],
  ['zeros behind the last box', join(mp4Bytes(), Buffer.alloc(5)), mp4],
  ['many zeros behind the last box', join(mp4Bytes(), Buffer.alloc(500)), mp4],
  ['no box behind the last box', join(mp4Bytes(), Buffer.of(0, 0, 0, 5, 0, 0, 0, 0)), mp4],
  ['an empty index', join(ftyp(), box('free'), mdat, box('moov')), { ...mp4, ...nothing }],
  ['a duration nobody knew', mp4Bytes({ duration: 2 ** 32 - 1 }), { ...mp4, seconds: null }],
  ['no timescale', mp4Bytes({ timescale: 0 }), { ...mp4, seconds: null }],
  ['an index, and nothing else', join(ftyp('qt  '), moov()), { ...mp4, format: 'mov', state: 'unknown' }],
  ['QuickTime of old', join(box('wide'), mdat, moov()), { ...mp4, format: 'mov' }],
  ['WebM, which cannot be judged', webmBytes, { format: 'webm', ...nothing, state: 'unchecked' }],
])('%s', (_, bytes, expected) => {
  expect(inspect(bytes)).toEqual(expected)
  expect(inspect(bytes, [1])).toEqual(expected)
  expect(inspect(bytes, [63, 1, 2, 500])).toEqual(expected)
})

const endsEarly = 'its data ends too early'
const badSizes = 'its structure has impossible sizes'

test.each<[string, Uint8Array, string]>([
  ['cut within the pictures', mp4Bytes().subarray(0, 500), endsEarly],
  ['cut within the index', mp4Bytes().subarray(0, -5), endsEarly],
  ['cut within a header', join(mp4Bytes(), Buffer.of(0, 0, 1)), endsEarly],
  ['without an index', join(ftyp(), mdat), 'it has no index'],
  ['cut between the index and the pictures', join(ftyp(), indexOf('stco'), box('free', mdat)), endsEarly],
  ['the same, with offsets of 64 bits', join(ftyp(), indexOf('co64')), endsEarly],
  ['cut before the first fragment', fragmented.subarray(0, fragmented.indexOf('moof') - 4), endsEarly],
  ['cut within a fragment', fragmented.subarray(0, fragmented.lastIndexOf('mdat') - 4), endsEarly],
  ['a size of 5', join(ftyp(), Buffer.of(0, 0, 0, 5, 0, 0, 0, 0), Buffer.alloc(60)), badSizes],
  ['a large size of 9', join(ftyp(), largeBox('free', 9n), Buffer.alloc(60)), badSizes],
  ['a size beyond all', join(ftyp(), largeBox('mdat', 2n ** 64n - 1n), moov()), endsEarly],
])('damaged: %s', (_, bytes, damage) => {
  expect(inspect(bytes).damage).toBe(damage)
  expect(inspect(bytes, [1]).damage).toBe(damage)
})

const boxTypes = 'moov trak mdia minf stbl stco co64 mvhd tkhd mvex mehd mdat free moof ftyp'.split(' ')

/** Boxes of every kind that is looked into, with sizes that may lie. */
const hostileBox: fc.Arbitrary<Buffer> = fc.letrec<{ box: Buffer }>((tie) => ({
  box: fc
    .tuple(
      fc.constantFrom(...boxTypes),
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
  const whole = { facts: { seconds: 4 }, integrity: { state: 'whole' } }
  expect(describeMedia(videoKind, inspector)).toMatchObject(whole)
})
