import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openMediaFile, type MediaFileOptions } from '../../src/files/media-file.ts'
import { describeVideoFile, videoKind } from '../../src/files/video-info.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { box, ftyp, moov, mp4Bytes } from '../support/video-bytes.ts'
import { saveLargeVideo } from './save-large-video.ts'

interface SaveOptions extends Partial<MediaFileOptions> {
  /** Bytes in each write; everything at once unless given. */
  readonly step?: number
}

async function save(folder: string, bytes: Uint8Array, options: SaveOptions = {}) {
  const { step = bytes.length || 1, ...rest } = options
  const file = openMediaFile(testContext({ cwd: folder }), videoKind, {
    pathFor: (extension) => `clip.${extension}`,
    force: false,
    ...rest,
  })
  const piece = Buffer.alloc(step)
  for (let at = 0; at < bytes.length; at += step) {
    const length = Buffer.from(bytes).copy(piece, 0, at, at + step)
    await file.write(piece.subarray(0, length))
    piece.fill(0)
  }
  return await file.commit()
}

const quickTime = Buffer.concat([ftyp('qt  '), moov()])

describe.each([
  ['mp4', 'video/mp4', mp4Bytes()],
  ['mov', 'video/quicktime', quickTime],
])('a whole %s', (format, mediaType, bytes) => {
  test.each([1, 17, 63, 4096])('is saved and described, written in pieces of %i', async (step) => {
    const folder = temporaryFolder()
    expect(await save(folder, bytes, { step })).toEqual({
      path: `clip.${format}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      mime_type: mediaType,
      format,
      width: 1280,
      height: 720,
      seconds: 4,
      verified: true,
    })
    expect(await readdir(folder)).toEqual([`clip.${format}`])
    expect((await readFile(join(folder, `clip.${format}`))).equals(bytes)).toBe(true)
  })
})

test('a video of less than the first look is saved, too', async () => {
  const folder = temporaryFolder()
  const bytes = Buffer.concat([ftyp(), box('moov')])
  expect(bytes.length).toBeLessThan(64)
  expect(await save(folder, bytes)).toMatchObject({ path: 'clip.mp4', seconds: null })
})

const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31 + 5) % 256))
/** A transport stream has a byte 47 at the beginning of each packet, whatever the packet is. */
const packets = (length: 188 | 192) =>
  Buffer.concat(
    Array.from({ length: 5 }, (_, at) => {
      const start = Buffer.from(
        length === 188 ? 'G\x1f\xff\x10' : `\0\0\0${String.fromCharCode(at)}G\x1f\xff\x10`,
        'latin1',
      )
      return Buffer.concat([start, Buffer.alloc(length - start.length, 0xff)])
    }),
  )
const latin1 = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), noise])

describe.each<[string, string, string, Buffer]>([
  ['an MPEG transport stream', 'ts', 'video/mp2t', packets(188)],
  ['a transport stream of a disc', 'ts', 'video/mp2t', packets(192)],
  ['an MPEG program stream', 'mpg', 'video/mpeg', latin1('\0\0\x01\xba\x44\0\x04')],
  ['an MPEG video without a container', 'mpg', 'video/mpeg', latin1('\0\0\x01\xb3\x16\0\xf0')],
  ['an Ogg video', 'ogv', 'video/ogg', latin1(`OggS\0\x02${'\0'.repeat(22)}\x80theora`)],
])('%s, which cannot be verified', (_, format, mediaType, bytes) => {
  test.each([1, 63, 5000])('is saved as it is, written in pieces of %i', async (step) => {
    const folder = temporaryFolder()
    const saved = await save(folder, bytes, { step })
    const facts = { format, width: null, height: null, seconds: null }
    expect(saved).toMatchObject({ path: `clip.${format}`, mime_type: mediaType, verified: false, ...facts })
    expect((await readFile(join(folder, saved.path))).equals(bytes)).toBe(true)
    expect(await describeVideoFile({ cwd: folder }, saved.path)).toEqual(saved)
  })
})

const half = mp4Bytes().subarray(0, 600)

test.each([
  ['HTML', Buffer.from('<html><title>502</title>'.repeat(9)), 'not_a_video'],
  ['JSON', Buffer.from('{"error":{}}'), 'not_a_video'],
  [
    'words in Latin-1',
    Buffer.from('Die Seite wurde nicht gefunden: über '.repeat(3), 'latin1'),
    'not_a_video',
  ],
  ['an archive', latin1('PK\x03\x04'), 'not_a_video'],
  ['a compressed page', latin1('\x1f\x8b\x08'), 'not_a_video'],
  ['an image', latin1('\xff\xd8\xff\xe0'), 'not_a_video'],
  ['a few bytes', noise.subarray(0, 63), 'not_a_video'],
  ['nothing', Buffer.alloc(0), 'empty_video'],
])('%s is refused, and leaves nothing', async (_, bytes, code) => {
  const folder = temporaryFolder()
  await expect(save(folder, bytes, { step: 20 })).rejects.toMatchObject({ exitCode: 8, code })
  expect(await readdir(folder)).toEqual([])
})

test('half a video is refused, and kept apart', async () => {
  const folder = temporaryFolder()
  await expect(save(folder, half, { step: 20 })).rejects.toMatchObject({
    exitCode: 8,
    code: 'damaged_video',
    message: 'The gateway sent a damaged video: its data ends too early. It is kept as "clip.damaged.mp4".',
  })
  expect(await readdir(folder)).toEqual(['clip.damaged.mp4'])
})

test('a video needs at most 150 MiB of memory, however large it is', async () => {
  const { bytes, memory } = await saveLargeVideo(300)
  expect(bytes).toBeGreaterThan(300 * 2 ** 20)
  expect(memory).toBeLessThan(150)
})
