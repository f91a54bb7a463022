import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { imageKind } from '../../src/files/image-info.ts'
import { inspectBytes } from '../../src/files/inspect-file.ts'
import { describeVideo, openMediaFile, savedAs, videoKind } from '../../src/files/media-file.ts'
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
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { box, ftyp, moov, mp4Bytes, webmBytes } from '../support/video-bytes.ts'

type Kind = Parameters<typeof savedAs>[0]

interface SaveOptions extends Partial<Parameters<typeof openMediaFile>[2]> {
  readonly kind?: Kind
  /** Bytes in each write; everything at once unless given. */
  readonly step?: number
}

const open = (folder: string, { kind = imageKind, ...options }: Omit<SaveOptions, 'step'> = {}) =>
  openMediaFile(testContext({ cwd: folder }), kind, {
    pathFor: (extension) => `hero.${extension}`,
    force: false,
    ...options,
  })

async function save(
  folder: string,
  bytes: Uint8Array,
  { kind = imageKind, step = bytes.length, ...options }: SaveOptions = {},
) {
  const file = open(folder, { kind, ...options })
  // One buffer for all writes, as a decoder has it.
  const piece = Buffer.alloc(Math.max(1, step))
  for (let at = 0; at < bytes.length; at += step) {
    const length = Buffer.from(bytes).copy(piece, 0, at, at + step)
    await file.write(piece.subarray(0, length))
    piece.fill(0)
  }
  return await file.commit()
}

/** What a saved file tells by itself. */
async function described(folder: string, kind: Kind, path: string) {
  return savedAs(kind, await inspectBytes(path, [await readFile(join(folder, path))]))
}

const noise = Buffer.from(Array.from({ length: 3000 }, (_, at) => (at * at * 31 + 5) % 256))
const latin1 = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), noise])
/** A transport stream has a byte 47 at the beginning of each packet; on a disc a timestamp precedes it. */
const packets = (timestamp: string) =>
  latin1(Array.from({ length: 5 }, () => `${timestamp}G\x1f${'\xff'.repeat(186)}`).join(''))
const profile = jpegSegment(0xe2, Buffer.concat([jpegBytes(), noise.subarray(0, 999)]))
const picture = { width: 3, height: 2 }
const video = { width: 1280, height: 720, seconds: 4 }
const note = pngChunk('tEXt', pngChunk('IEND', noise.subarray(0, 999)))
const riff = [Buffer.of(0, 0, 0, 0, 2, 0, 0, 1, 0, 0), noise.subarray(0, 999)] as const

describe.each<[string, string, object, Buffer]>([
  ['image/png', 'png', { format: 'png', ...picture }, pngBytes({ ...picture, chunks: [note] })],
  ['image/jpeg', 'jpg', { format: 'jpeg', ...picture }, jpegBytes({ ...picture, before: [profile] })],
  ['image/webp', 'webp', { format: 'webp', ...picture }, webpBytes('VP8X', ...riff)],
  ['image/gif', 'gif', { format: 'gif', ...picture }, gifBytes(picture)],
  ['video/mp4', 'mp4', { format: 'mp4', ...video }, mp4Bytes()],
  [
    'video/quicktime',
    'mov',
    { format: 'mov', ...video },
    Buffer.concat([ftyp('qt  '), moov(), box('mdat', noise)]),
  ],
])('a whole %s', (mediaType, extension, facts, bytes) => {
  const kind = mediaType.startsWith('image/') ? imageKind : videoKind

  test.each([1, 63, 4096])('is saved and described, written in pieces of %i', async (step) => {
    const folder = temporaryFolder()
    const saved = await save(folder, bytes, { kind, step })
    expect(saved).toEqual({
      path: `hero.${extension}`,
      bytes: bytes.length,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      ...facts,
      mime_type: mediaType,
      verified: true,
    })
    expect((await readFile(join(folder, saved.path))).equals(bytes)).toBe(true)
    expect(await readdir(folder)).toEqual([saved.path])
    expect(await described(folder, kind, saved.path)).toEqual(saved)
  })

  test('is still whole with bytes after its end', async () => {
    const padded = Buffer.concat([bytes, Buffer.alloc(9)])
    expect(await save(temporaryFolder(), padded, { kind })).toMatchObject({ bytes: padded.length })
  })

  test('cut anywhere is refused, and kept apart', async () => {
    for (let length = 1; length < bytes.length; length += length < 64 ? 1 : 61) {
      const folder = temporaryFolder()
      const part = bytes.subarray(0, length)
      const error = await save(folder, part, { kind }).catch((reason: Error) => reason)
      expect(error).toMatchObject({ exitCode: 8, code: 'damaged_media' })
      const isNamed = String(error).includes(`The gateway sent a damaged ${kind.noun}`)
      // As few bytes may be the beginning of something else.
      expect(length <= 16 || isNamed).toBe(true)
      const names = await readdir(folder)
      expect(names).toEqual(isNamed ? [`hero.damaged.${extension}`] : [])
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

test('a PNG whose checksum is wrong is damaged, unless the chunk is metadata', async () => {
  const note = pngChunk('tEXt', Buffer.from('a'))
  note[note.length - 1]! ^= 1
  expect(await save(temporaryFolder(), pngBytes({ chunks: [note] }))).toMatchObject({ verified: true })
  const saving = save(temporaryFolder(), pngBytes().fill(5, 25, 26))
  await expect(saving).rejects.toThrow('the checksum of its chunk IHDR is wrong')
})

test('what is no media is refused as soon as enough of it has arrived', async () => {
  const written = open(temporaryFolder()).write(Buffer.from('<html>'.repeat(90)))
  await expect(written).rejects.toThrow('an HTML or XML document')
})

test('what went to a device is kept nowhere', async () => {
  const half = pngBytes().subarray(0, -8)
  await expect(save(temporaryFolder(), half, { pathFor: () => '/dev/null' })).rejects.toThrow(
    /^The gateway sent a damaged image: the PNG data ends too early\.$/,
  )
})

test('what has begun can be given up as damaged, and begun again', async () => {
  const folder = temporaryFolder()
  const bytes = noisyPng(20, 20)
  const given = open(folder)
  await given.write(bytes.subarray(0, 300))
  expect(given.integrity()).toEqual({ state: 'short', damage: 'the PNG data ends too early' })
  expect(await given.commitDamaged()).toBe('hero.damaged.png')
  expect(await given.commitDamaged()).toBeUndefined()
  await given.discard()
  const again = open(folder)
  await again.write(bytes.subarray(0, 300))
  await again.restart!()
  await again.write(bytes)
  expect(await again.commit()).toMatchObject({ path: 'hero.png', bytes: bytes.length, verified: true })
  expect(await open(folder).commitDamaged()).toBeUndefined()
  expect((await readdir(folder)).toSorted()).toEqual(['hero.damaged.png', 'hero.png'])
})

test.each<[string, string | Uint8Array, string, Kind?]>([
  ['nothing', '', 'an empty image'],
  ['HTML', '<!DOCTYPE html><title>502</title>', 'an HTML or XML document'],
  ['HTML after white space', '\r\n\t <html>', 'an HTML or XML document'],
  ['a drawing with scripts', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'an HTML or XML document'],
  ['JSON', '{"error":{"message":"expired"}}', 'a JSON document'],
  ['a JSON list', '[1]', 'a JSON document'],
  ['words', 'not found, sorry, try again', 'text/plain'],
  ['words in Latin-1', Buffer.from('Bild nicht mehr verfügbar, leider gelöscht', 'latin1'), 'text/plain'],
  ['a page in Shift JIS', Buffer.from(`<html>${'\x83\x70\x83\x93'.repeat(200)}`, 'latin1'), 'an HTML'],
  ['a few bytes', noise.subarray(0, 63), 'data of an unknown type'],
  ['a video', Buffer.from('1A45DFA39F428681014282847765626D', 'hex'), 'video/webm'],
  ['nothing', '', 'an empty video', videoKind],
  ['a compressed page', latin1('\x1f\x8b\x08'), 'application/gzip', videoKind],
  ['an image', latin1('\xff\xd8\xff\xe0'), 'image/jpeg', videoKind],
  ['an AVIF, in boxes like those of a video', Buffer.concat([ftyp('avif'), moov()]), 'image/avif', videoKind],
  ['sound', Buffer.concat([ftyp('M4A '), moov()]), 'audio/mp4', videoKind],
  ['text that names a box', 'The moov box is missing.'.padEnd(99), 'text/plain', videoKind],
])('%s in place of media is refused by name, and leaves nothing: %s, %s', async (_, content, found, kind) => {
  const folder = temporaryFolder()
  const error = { exitCode: 8, message: expect.stringContaining(found) }
  const saving = save(folder, Buffer.from(content as string), { kind: kind ?? imageKind, step: 20 })
  await expect(saving).rejects.toMatchObject(error)
  expect(await readdir(folder)).toEqual([])
})

test.each<[string, string, Buffer]>([
  ['jxl', 'image/jxl', latin1('\xff\x0a')],
  ['jxl', 'image/jxl', latin1('\0\0\0\x0cJXL \r\n\x87\n')],
  ['tif', 'image/tiff', latin1('II*\0')],
  ['ts', 'video/mp2t', packets('')],
  ['ts', 'video/mp2t', packets('\0\0\0\x01')],
  ['mpg', 'video/mpeg', latin1('\0\0\x01\xba\x44\0\x04')],
  ['mpg', 'video/mpeg', latin1('\0\0\x01\xb3\x16\0\xf0')],
  ['ogv', 'video/ogg', latin1(`OggS\0\x02${'\0'.repeat(22)}\x80theora`)],
  ['webm', 'video/webm', webmBytes],
])('what cannot be verified is saved as it is: %s, %s', async (extension, mediaType, bytes) => {
  const kind = mediaType.startsWith('image/') ? imageKind : videoKind
  for (const step of [1, 63, 5000]) {
    const folder = temporaryFolder()
    const saved = await save(folder, bytes, { kind, step })
    const format = kind === imageKind ? mediaType.slice(6) : extension
    const unknown = { width: null, height: null, verified: false }
    expect(saved).toMatchObject({ path: `hero.${extension}`, mime_type: mediaType, format, ...unknown })
    expect((await readFile(join(folder, saved.path))).equals(bytes)).toBe(true)
    expect(await described(folder, kind, saved.path)).toEqual(saved)
  }
})

test.each(['page.mp4', 'empty.mp4', 'missing.mp4', 'folder', 'half.mp4'])('%s is no video', async (path) => {
  const cwd = temporaryFolder()
  const half = mp4Bytes().subarray(0, 600)
  writeFiles(cwd, { 'page.mp4': '<html>', 'empty.mp4': '', 'folder/x': '', 'half.mp4': half })
  expect(await describeVideo({ cwd }, path)).toBeUndefined()
})

test.each([
  [false, 'hero.bin', { path: 'hero.bin', verified: false }],
  [true, 'hero.damaged.bin', { code: 'damaged_media' }],
])('of no known format, framed by the transport: %s: it is kept as %s', async (isFramed, name, expected) => {
  const folder = temporaryFolder()
  const file = open(folder)
  await file.write(Buffer.alloc(5000))
  expect(await file.commit(isFramed).catch((error: Error) => error)).toMatchObject(expected)
  expect(await readdir(folder)).toEqual([name])
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
  await expect(save(folder, pngBytes())).rejects.toMatchObject({ exitCode: 10, code: 'not_a_file' })
  expect(await readdir(folder)).toEqual(['hero.png'])
})

test('an open pipe gets the image as it arrives', async () => {
  const { path, read } = openPipe()
  expect(await save('/', jpegBytes(), { pathFor: () => path })).toMatchObject({ path, format: 'jpeg' })
  expect(read(jpegBytes().length)).toEqual(jpegBytes())
})
