import { expect, test } from 'vitest'
import { encodePng, encodeWebp } from '../../src/files/codecs.ts'
import { imageDifferences, videoDifferences } from '../../src/operations/mismatch.ts'
import { testPicture } from '../support/test-images.ts'

const png = { mime_type: 'image/png', width: 8, height: 8 }
const opaque = await encodePng(testPicture(8, 8, () => 255))
const faint = await encodePng(testPicture(8, 8, (x, y) => (x + y === 14 ? 254 : 255)))
const openWebp = await encodeWebp(
  testPicture(8, 8, (x) => (x === 0 ? 0 : 255)),
  80,
)
const same: never[] = []

test.each<[string, object, object, Uint8Array, object, object[]]>([
  ['another type', { output_format: 'webp' }, png, opaque, {}, [['output_format', 'webp', 'png']]],
  ['another size', { size: '8x16' }, png, opaque, {}, [['size', '8x16', '8x8']]],
  ['no size by name', { size: 'auto', quality: 'high' }, png, opaque, {}, same],
  [
    'an opaque image',
    { background: 'transparent' },
    png,
    opaque,
    {},
    [['background', 'transparent', 'opaque']],
  ],
  ['one pixel of alpha 254', { background: 'transparent' }, png, faint, {}, same],
  [
    'transparency unasked',
    { background: 'opaque' },
    png,
    faint,
    {},
    [['background', 'opaque', 'transparent']],
  ],
  [
    'a transparent WebP',
    { background: 'transparent' },
    { ...png, mime_type: 'image/webp' },
    openWebp,
    {},
    same,
  ],
  ['an echo that is wrong', { size: '8x8' }, png, opaque, { size: '1x1', output_format: 'webp' }, same],
  [
    'only the echo',
    { size: '8x8', output_format: 'png', background: 'transparent' },
    { mime_type: 'application/octet-stream', width: null, height: null },
    Buffer.from('unreadable'),
    { size: '4x4', output_format: 'webp', background: 'opaque' },
    [
      ['output_format', 'png', 'webp'],
      ['size', '8x8', '4x4'],
      ['background', 'transparent', 'opaque'],
    ],
  ],
  [
    'nothing known of it',
    { size: '8x8', background: 'transparent' },
    { ...png, width: null, height: null },
    Buffer.from('unreadable'),
    {},
    same,
  ],
])('an image: %s', async (_, asked, came, bytes, echo, expected) => {
  const found = await imageDifferences({ ...asked }, came as typeof png, { ...echo }, async () => bytes)
  expect(found.map(({ field, asked: wanted, came: got }) => [field, wanted, got])).toEqual(expected)
})

const clip = { width: 1280, height: 720, seconds: 8 }
const unread = { width: null, height: null, seconds: null }

test.each<[string, object, object, object, object[]]>([
  ['half the length', { durationSeconds: 16 }, clip, {}, [['durationSeconds', '16', '8']]],
  ['half a second off', { durationSeconds: 4 }, { ...clip, seconds: 4.5 }, {}, same],
  [
    'more than half a second off',
    { durationSeconds: 4 },
    { ...clip, seconds: 4.6 },
    {},
    [['durationSeconds', '4', '4.6']],
  ],
  ['a tenth off', { durationSeconds: 20 }, { ...clip, seconds: 22 }, {}, same],
  ['turned', { aspectRatio: '9:16' }, clip, {}, [['aspectRatio', '9:16', '1280x720']]],
  ['an aspect 2 % off', { aspectRatio: '16:9' }, { ...clip, height: 730 }, {}, same],
  ['a lower resolution', { resolution: '1080p' }, clip, {}, [['resolution', '1080p', '1280x720']]],
  ['a resolution upright', { resolution: '720p' }, { ...clip, width: 720, height: 1280 }, {}, same],
  ['another size', { size: '1792x1024' }, clip, {}, [['size', '1792x1024', '1280x720']]],
  [
    'a stand-in of a test gateway',
    { durationSeconds: 8, aspectRatio: '16:9' },
    { width: 32, height: 32, seconds: 1 },
    {},
    same,
  ],
  [
    'only the echo',
    { size: '1280x720', seconds: '8' },
    unread,
    { size: '720x1280', seconds: '4' },
    [
      ['size', '1280x720', '720x1280'],
      ['seconds', '8', '4'],
    ],
  ],
  ['nothing known of it', { size: '1280x720', seconds: '8', aspectRatio: '1:1' }, unread, {}, same],
])('a video: %s', (_, parameters, came, echo, expected) => {
  const found = videoDifferences({ parameters }, came as typeof clip, { ...echo })
  expect(found.map(({ field, asked, came: got }) => [field, asked, got])).toEqual(expected)
})
