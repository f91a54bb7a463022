import { expect, test } from 'vitest'
import { imageKind } from '../../src/files/image-info.ts'
import { FileInspector } from '../../src/files/inspect-file.ts'
import { describeMedia } from '../../src/files/media-file.ts'
import { gifBytes, jpegBytes, jpegSegment, pngBytes, pngChunk, webpBytes } from '../support/image-bytes.ts'
import { box, ftyp } from '../support/video-bytes.ts'

function inspect(bytes: Uint8Array) {
  const inspector = new FileInspector(512)
  // In pieces, as a download comes.
  for (let at = 0; at < bytes.length; at += 40_000) inspector.add(bytes.subarray(at, at + 40_000))
  const { mediaType, facts, integrity } = describeMedia(imageKind, inspector)
  return { mediaType, width: facts.width, state: integrity.state }
}

const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31) % 256))
const avif = Buffer.concat([ftyp('avif'), box('meta', Buffer.alloc(300)), box('mdat', noise)])
const gif = gifBytes({ width: 3, height: 2 })
/** Two frames, as an animation has them. */
const animated = webpBytes(
  'VP8X',
  Buffer.of(2, 0, 0, 0, 2, 0, 0, 1, 0, 0),
  Buffer.concat([riffChunk('ANIM', Buffer.alloc(6)), riffChunk('ANMF', noise), riffChunk('ANMF', noise)]),
)
const picture = { width: 3, height: 2 }
/** A profile with pictures of its own, longer than what is kept of the beginning. */
const longHead = Array.from({ length: 20 }, () => jpegSegment(0xeb, Buffer.alloc(65_533, jpegBytes())))
const large = pngChunk('caBX', Buffer.alloc(2_000_000, 'IEND'))
const bitmap = Buffer.concat([Buffer.from('BM\x3a\0\0\0\0\0\0\0', 'latin1'), noise])

function riffChunk(name: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(8)
  head.write(name, 'latin1')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content])
}

test.each<[string, Uint8Array, string, number | null]>([
  ['AVIF', avif, 'image/avif', null],
  ['an animated WebP', animated, 'image/webp', 3],
  ['a PNG with a private chunk of 2 MB', pngBytes({ ...picture, chunks: [large] }), 'image/png', 3],
  ['a PNG with other data behind it', Buffer.concat([pngBytes(picture), noise]), 'image/png', 3],
  ['a JPEG with a film behind it', Buffer.concat([jpegBytes(picture), avif]), 'image/jpeg', 3],
  ['a JPEG of which the size stands late', jpegBytes({ ...picture, before: longHead }), 'image/jpeg', 3],
  ['a GIF with a comment behind it', Buffer.concat([gif, Buffer.from('made by hand')]), 'image/gif', 3],
  ['a GIF with a zero too many', Buffer.concat([gif.subarray(0, -1), Buffer.of(0, 0x3b)]), 'image/gif', 3],
])('%s is whole', (_, bytes, mediaType, width) => {
  expect(inspect(bytes)).toEqual({ mediaType, width, state: 'whole' })
})

test.each<[string, Uint8Array, string]>([
  ['an AVIF cut in its data', avif.subarray(0, -1), 'short'],
  ['an AVIF cut in its index', avif.subarray(0, 200), 'short'],
  ['an AVIF whose data may be in its index', avif.subarray(0, -3008), 'unknown'],
  ['a GIF without its last byte', gif.subarray(0, -1), 'short'],
  ['a GIF cut behind a byte like its last', Buffer.concat([gif.subarray(0, -5), Buffer.of(0x3b)]), 'short'],
  ['an animated WebP without its last frame', animated.subarray(0, -3008), 'short'],
  ['a bitmap', bitmap, 'unchecked'],
  ['a TIFF', Buffer.concat([Buffer.from('II*\0', 'latin1'), noise]), 'unchecked'],
  ['data of an unknown type', noise, 'unchecked'],
])('%s is not whole', (_, bytes, state) => {
  expect(inspect(bytes).state).toBe(state)
})
