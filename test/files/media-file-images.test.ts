import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodeJpeg, encodePng, encodeWebp } from '../../src/files/codecs.ts'
import { imageKind } from '../../src/files/image-info.ts'
import { openMediaFile, type MediaFileOptions } from '../../src/files/media-file.ts'
import { streamMedia } from '../../src/files/stream-media.ts'
import {
  gifBytes,
  jpegBytes,
  jpegSegment,
  noisyPng,
  pngBytes,
  pngChunk,
  webpBytes,
} from '../support/image-bytes.ts'
import { openPipe } from '../support/open-pipe.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

interface SaveOptions extends Partial<MediaFileOptions> {
  /** Bytes in each write; everything at once unless given. */
  readonly step?: number
}

async function save(
  folder: string,
  bytes: Uint8Array,
  { step = bytes.length, ...options }: SaveOptions = {},
) {
  const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
    pathFor: (extension) => `hero.${extension}`,
    force: false,
    ...options,
  })
  // One buffer for all writes, as a decoder has it.
  const piece = Buffer.alloc(Math.max(1, step))
  for (let at = 0; at < bytes.length; at += step) {
    const length = Buffer.from(bytes).copy(piece, 0, at, at + step)
    await file.write(piece.subarray(0, length))
    piece.fill(0)
  }
  return await file.commit()
}

const noise = Buffer.from(Array.from({ length: 999 }, (_, at) => (at * at) % 256))
const profile = jpegSegment(0xe2, Buffer.concat([jpegBytes(), noise]))
const wholeImages: [string, Buffer][] = [
  ['png', pngBytes({ width: 3, height: 2, chunks: [pngChunk('tEXt', pngChunk('IEND', noise))] })],
  ['jpeg', jpegBytes({ width: 3, height: 2, before: [profile] })],
  ['webp', webpBytes('VP8X', Buffer.of(0, 0, 0, 0, 2, 0, 0, 1, 0, 0), noise)],
  ['gif', gifBytes({ width: 3, height: 2 })],
]

describe.each(wholeImages)('a whole %s', (format, bytes) => {
  const extension = format === 'jpeg' ? 'jpg' : format

  test.each([1, 3, 17, 4096])('is saved and described, written in pieces of %i', async (step) => {
    const folder = temporaryFolder()
    expect(await save(folder, bytes, { step })).toEqual({
      path: `hero.${extension}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      format,
      width: 3,
      height: 2,
      mime_type: `image/${format}`,
      verified: true,
    })
    expect(await readFile(join(folder, `hero.${extension}`))).toEqual(bytes)
    expect(await readdir(folder)).toEqual([`hero.${extension}`])
  })

  test('is still whole with bytes after its end', async () => {
    const padded = Buffer.concat([bytes, Buffer.alloc(9)])
    expect(await save(temporaryFolder(), padded)).toMatchObject({ bytes: padded.length })
  })

  test('cut anywhere is refused, and kept apart', async () => {
    for (let length = 1; length < bytes.length; length += length < 64 ? 1 : 61) {
      const folder = temporaryFolder()
      const part = bytes.subarray(0, length)
      const error = (await save(folder, part).catch((reason: unknown) => reason)) as { code: string }
      expect(error).toMatchObject({ exitCode: 8 })
      // As few bytes may be the beginning of something else.
      expect(length <= 16 || error.code === 'damaged_image').toBe(true)
      const names = await readdir(folder)
      expect(names).toEqual(error.code === 'damaged_image' ? [`hero.damaged.${extension}`] : [])
      for (const name of names) expect(await readFile(join(folder, name))).toEqual(part)
    }
  })
})

test('damage is reported with the path of the kept image, which replaces nothing', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'hero.damaged.png'), 'mine')
  const half = pngBytes().subarray(0, -1)
  await expect(save(folder, half, { force: true })).rejects.toThrow(
    'The gateway sent a damaged image: the PNG data ends too early. It is kept as "hero.damaged-2.png".',
  )
  expect((await readdir(folder)).toSorted()).toEqual(['hero.damaged-2.png', 'hero.damaged.png'])
  expect(await readFile(join(folder, 'hero.damaged.png'), 'utf8')).toBe('mine')
})

test('an image whose header cannot be read is damaged too', async () => {
  const bytes = webpBytes('VP8 ', Buffer.alloc(20))
  await expect(save(temporaryFolder(), bytes)).rejects.toMatchObject({
    exitCode: 8,
    code: 'damaged_image',
    message: expect.stringContaining('header cannot be read'),
  })
})

test('a PNG whose checksum is wrong is damaged, unless the chunk is metadata', async () => {
  const folder = temporaryFolder()
  const note = pngChunk('tEXt', Buffer.from('a'))
  note[note.length - 1]! ^= 1
  expect(await save(folder, pngBytes({ chunks: [note] }))).toMatchObject({ verified: true })
  const bytes = pngBytes()
  bytes[25] = 5
  await expect(save(folder, bytes)).rejects.toThrow('the checksum of its chunk IHDR is wrong')
})

test('what went to a device is kept nowhere', async () => {
  const half = pngBytes().subarray(0, -8)
  await expect(save(temporaryFolder(), half, { pathFor: () => '/dev/null' })).rejects.toThrow(
    /^The gateway sent a damaged image: the PNG data ends too early\.$/,
  )
})

test('what has begun can be given up as damaged, and begun again', async () => {
  const folder = temporaryFolder()
  const open = () =>
    openMediaFile(testContext({ cwd: folder }), imageKind, { pathFor: () => 'a.png', force: false })
  const bytes = noisyPng(20, 20)
  const given = open()
  await given.write(bytes.subarray(0, 300))
  expect(given.integrity()).toEqual({ state: 'short', damage: 'the PNG data ends too early' })
  expect(await given.commitDamaged()).toBe('a.damaged.png')
  expect(await given.commitDamaged()).toBeUndefined()
  await given.discard()
  const again = open()
  await again.write(bytes.subarray(0, 300))
  await again.restart!()
  await again.write(bytes)
  expect(await again.commit()).toMatchObject({ path: 'a.png', bytes: bytes.length, verified: true })
  const nothing = open()
  expect(await nothing.commitDamaged()).toBeUndefined()
  expect((await readdir(folder)).toSorted()).toEqual(['a.damaged.png', 'a.png'])
})

test.each<[string, string | Uint8Array, string]>([
  ['nothing', '', 'an empty image'],
  ['HTML', '<!DOCTYPE html><title>502</title>', 'an HTML or XML document'],
  ['HTML after white space', '\r\n\t <html>', 'an HTML or XML document'],
  ['a drawing with scripts', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'an HTML or XML document'],
  ['JSON', '{"error":{"message":"expired"}}', 'a JSON document'],
  ['a JSON list', '[1]', 'a JSON document'],
  ['words', 'not found, sorry, try again', 'text/plain'],
  ['words in Latin-1', Buffer.from('Bild nicht mehr verfügbar, leider gelöscht', 'latin1'), 'text/plain'],
  ['a page in Shift JIS', Buffer.from(`<html>${'\x83\x70\x83\x93'.repeat(200)}`, 'latin1'), 'an HTML'],
  ['a few bytes', Buffer.alloc(31, 3), 'data of an unknown type'],
  ['a video', Buffer.from('1A45DFA39F428681014282847765626D', 'hex'), 'video/webm'],
])('%s in place of an image is refused by name', async (_, content, found) => {
  const folder = temporaryFolder()
  const error = { exitCode: 8, message: expect.stringContaining(found) }
  await expect(save(folder, Buffer.from(content as string))).rejects.toMatchObject(error)
  expect(await readdir(folder)).toEqual([])
})

test.each<[string, string, string]>([
  ['jxl', 'image/jxl', '\xff\x0a'],
  ['jxl', 'image/jxl', '\0\0\0\x0cJXL \r\n\x87\n'],
  ['tif', 'image/tiff', 'II*\0'],
])(
  'what may be an image and cannot be verified is saved as it is: %s, %s',
  async (extension, type, start) => {
    const folder = temporaryFolder()
    const bytes = Buffer.concat([Buffer.from(start, 'latin1'), noise])
    expect(await save(folder, bytes, { step: 7 })).toMatchObject({
      path: `hero.${extension}`,
      mime_type: type,
      format: type.slice(6),
      width: null,
      height: null,
      verified: false,
    })
    expect((await readFile(join(folder, `hero.${extension}`))).equals(bytes)).toBe(true)
  },
)

test('what has no known format is kept only where it may have been cut anywhere', async () => {
  for (const isFramed of [false, true]) {
    const folder = temporaryFolder()
    const pathFor = (extension: string) => `hero.${extension}`
    const file = openMediaFile(testContext({ cwd: folder }), imageKind, { pathFor, force: false })
    await file.write(Buffer.alloc(5000))
    const saved = file.commit(isFramed).catch((error: Error) => error)
    expect(await saved).toMatchObject(
      isFramed ? { code: 'damaged_image' } : { path: 'hero.bin', verified: false },
    )
    expect(await readdir(folder)).toEqual([isFramed ? 'hero.damaged.bin' : 'hero.bin'])
  }
})

test('the bytes decide the extension, whatever was asked for', async () => {
  const folder = temporaryFolder()
  await save(folder, jpegBytes(), { pathFor: (extension) => `png.${extension}` })
  expect(await readdir(folder)).toEqual(['png.jpg'])
})

test('what real encoders write is whole', async () => {
  const data = new Uint8ClampedArray(64 * 64 * 4).map((_, at) => (at * at * 31) % 256)
  const picture = { data, width: 64, height: 64 }
  for (const bytes of [
    await encodePng(picture),
    await encodeJpeg(picture, 90),
    await encodeWebp(picture, 50),
  ]) {
    const folder = temporaryFolder()
    expect(await save(folder, bytes, { step: 1000 })).toMatchObject({ bytes: bytes.length, width: 64 })
    await expect(save(folder, bytes.slice(0, -1), { force: true })).rejects.toMatchObject({ exitCode: 8 })
  }
})

test('a name that is taken gets a number, and nothing is overwritten', async () => {
  const folder = temporaryFolder()
  const bytes = pngBytes()
  await writeFile(join(folder, 'hero.png'), 'mine')
  await mkdir(join(folder, 'hero-2.png'))
  const renamed: string[] = []
  const options = { renamed: (planned: string, saved: string) => renamed.push(`${planned} ${saved}`) }
  expect(await save(folder, bytes, options)).toMatchObject({ path: 'hero-3.png' })
  expect(renamed).toEqual(['hero.png hero-3.png'])
  expect(await readFile(join(folder, 'hero.png'), 'utf8')).toBe('mine')
  expect(await save(folder, bytes, { force: true })).toMatchObject({ path: 'hero.png' })
  expect(await readFile(join(folder, 'hero.png'))).toEqual(bytes)
})

test('the longest taken name is cut to make room for its number', async () => {
  const folder = temporaryFolder()
  const name = `${'ä'.repeat(125)}x.png`
  const pathFor = () => name
  await save(folder, pngBytes(), { pathFor })
  expect(await save(folder, pngBytes(), { pathFor })).toMatchObject({ path: `${'ä'.repeat(124)}-2.png` })
})

test('a folder under the name is reported with the first bytes', async () => {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'hero.png'))
  await expect(save(folder, pngBytes())).rejects.toMatchObject({ exitCode: 10, code: 'is_folder' })
  expect(await readdir(folder)).toEqual(['hero.png'])
})

test('discarding leaves nothing, at any time', async () => {
  const folder = temporaryFolder()
  const bytes = pngBytes()
  for (const length of [0, 5, 30, bytes.length]) {
    const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
      pathFor: () => 'a.png',
      force: false,
    })
    await file.write(bytes.subarray(0, length))
    await file.discard()
    await file.discard()
    expect(await readdir(folder)).toEqual([])
  }
})

test('an open pipe gets the image as it arrives', async () => {
  const { path, read } = openPipe()
  const file = openMediaFile(testContext(), imageKind, { pathFor: () => path, force: false })
  await file.write(jpegBytes())
  expect(await file.commit()).toMatchObject({ path, format: 'jpeg' })
  expect(read(jpegBytes().length)).toEqual(jpegBytes())
})

describe('on standard output', () => {
  test('the image is what is written, and is described', async () => {
    const context = testContext()
    const image = streamMedia(context, imageKind)
    const bytes = pngBytes({ width: 7 })
    for (const byte of bytes) await image.write(Buffer.of(byte))
    expect(await image.commit()).toMatchObject({ path: '-', bytes: bytes.length, format: 'png', width: 7 })
    expect(context.stdout.bytes).toEqual(bytes)
    expect(context.stdout.drains).toBe(1)
  })

  test('an error page never gets there', async () => {
    const context = testContext()
    const image = streamMedia(context, imageKind)
    await expect(image.write(Buffer.from('<html>not an image at all</html>'))).rejects.toMatchObject({
      exitCode: 8,
    })
    expect(context.stdout.text).toBe('')
  })

  test('damage is reported at the end', async () => {
    const image = streamMedia(testContext(), imageKind)
    await image.write(pngBytes().subarray(0, -2))
    await expect(image.commit()).rejects.toMatchObject({ code: 'damaged_image' })
  })

  test('a slow reader is waited for', async () => {
    const context = testContext()
    context.stdout.hold()
    const image = streamMedia(context, imageKind)
    const events: string[] = []
    const writing = image.write(pngBytes()).then(() => events.push('written'))
    await context.clock.advance(0)
    events.push('released')
    context.stdout.release()
    await writing
    expect(events).toEqual(['released', 'written'])
  })
})
