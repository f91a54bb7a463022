import { expect, test } from 'vitest'
import { encodePng, encodeWebp } from '../../src/files/codecs.ts'
import { imageDifferences, videoDifferences } from '../../src/operations/mismatch.ts'
import { testPicture } from '../support/test-images.ts'

const png = { mime_type: 'image/png', width: 8, height: 8 }
const opaque = await encodePng(testPicture(8, 8, () => 255))
const faint = await encodePng(testPicture(8, 8, (x, y) => (x + y === 14 ? 254 : 255)))
const leaky = testPicture(8, 8, (x) => (x === 0 ? 0 : 255))
const openWebp = await encodeWebp(leaky, 80)
const unknown = Buffer.from('unreadable')
const noPixels = { width: null, height: null }
const unread = { mime_type: 'application/octet-stream', ...noPixels }

/** What came and what the gateway echoes, where that is not an opaque PNG of 8 by 8 pixels, and nothing. */
interface Reply {
  readonly came?: object
  readonly bytes?: Uint8Array
  readonly echo?: object
}
const told = (found: readonly { field: string; asked: string; came: string }[]) =>
  found.map(({ field, asked, came }) => `${field} ${asked} ${came}`)

test.each<[string, asked: object, differences: string[], Reply?]>([
  ['another type', { output_format: 'webp' }, ['output_format webp png']],
  ['another size', { size: '8x16' }, ['size 8x16 8x8']],
  ['no size by name', { size: 'auto', quality: 'high' }, []],
  ['an opaque image', { background: 'transparent' }, ['background transparent opaque']],
  ['one pixel of alpha 254', { background: 'transparent' }, [], { bytes: faint }],
  ['transparency unasked', { background: 'opaque' }, ['background opaque transparent'], { bytes: faint }],
  ['a WebP', { background: 'transparent' }, [], { came: { mime_type: 'image/webp' }, bytes: openWebp }],
  ['an echo that is wrong', { size: '8x8' }, [], { echo: { size: '1x1', output_format: 'webp' } }],
  [
    'only the echo',
    { size: '8x8', output_format: 'png', background: 'transparent' },
    ['output_format png webp', 'size 8x8 4x4', 'background transparent opaque'],
    { came: unread, bytes: unknown, echo: { size: '4x4', output_format: 'webp', background: 'opaque' } },
  ],
  ['no pixels', { size: '8x8', background: 'transparent' }, [], { came: noPixels, bytes: unknown }],
])('an image: %s', async (_, asked, differences, { came, bytes = opaque, echo } = {}) => {
  const found = await imageDifferences({ ...asked }, { ...png, ...came }, { ...echo }, async () => bytes)
  expect(told(found)).toEqual(differences)
})

const clip = { width: 1280, height: 720, seconds: 8 }
const unreadClip = { ...noPixels, seconds: null }
const turned = { came: unreadClip, echo: { size: '720x1280' } }

test.each<[string, asked: object, differences: string[], Reply?]>([
  ['half the length', { durationSeconds: 16 }, ['durationSeconds 16 8']],
  ['half a second off', { durationSeconds: 4 }, [], { came: { seconds: 4.5 } }],
  ['more than that', { durationSeconds: 4 }, ['durationSeconds 4 4.6'], { came: { seconds: 4.6 } }],
  ['a tenth off', { durationSeconds: 20 }, [], { came: { seconds: 22 } }],
  ['turned', { aspectRatio: '9:16' }, ['aspectRatio 9:16 1280x720']],
  ['an aspect 2 % off', { aspectRatio: '16:9' }, [], { came: { height: 730 } }],
  ['a lower resolution', { resolution: '1080p' }, ['resolution 1080p 1280x720']],
  ['a resolution upright', { resolution: '720p' }, [], { came: { width: 720, height: 1280 } }],
  ['another size', { size: '1792x1024' }, ['size 1792x1024 1280x720']],
  ['a stand-in', { aspectRatio: '16:9' }, [], { came: { width: 32, height: 32, seconds: 1 } }],
  ['only the echo', { seconds: '8' }, ['seconds 8 4'], { came: unreadClip, echo: { seconds: '4' } }],
  ['only its size', { size: '1280x720' }, ['size 1280x720 720x1280'], turned],
  ['nothing known', { size: '1280x720', seconds: '8', aspectRatio: '1:1' }, [], { came: unreadClip }],
])('a video: %s', (_, parameters, differences, { came, echo } = {}) => {
  expect(told(videoDifferences({ parameters }, { ...clip, ...came }, { ...echo }))).toEqual(differences)
})
