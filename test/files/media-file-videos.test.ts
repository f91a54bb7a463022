import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { openMediaFile, type MediaFileOptions } from '../../src/files/media-file.ts'
import { videoKind } from '../../src/files/video-info.ts'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { box, ftyp, moov, mp4Bytes, webmBytes } from '../support/video-bytes.ts'

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
  return await file.done()
}

const quickTime = Buffer.concat([ftyp('qt  '), moov()])

describe.each([
  ['mp4', 'video/mp4', mp4Bytes()],
  ['mov', 'video/quicktime', quickTime],
  ['webm', 'video/webm', webmBytes()],
  ['mkv', 'video/x-matroska', webmBytes({ docType: 'matroska' })],
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

const half = mp4Bytes().subarray(0, 600)

test.each([
  ['HTML', Buffer.from('<html><title>502</title>'.repeat(9)), 'not_a_video'],
  ['JSON', Buffer.from('{"error":{}}'), 'not_a_video'],
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

test('an existing file stays, unless it may be replaced', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'clip.mp4'), 'mine')
  const told: string[] = []
  const renamed = (planned: string, saved: string) => void told.push(planned, saved)
  expect(await save(folder, mp4Bytes(), { renamed })).toMatchObject({ path: 'clip-2.mp4' })
  expect(told).toEqual(['clip.mp4', 'clip-2.mp4'])
  expect(await readFile(join(folder, 'clip.mp4'), 'utf8')).toBe('mine')
  expect(await save(folder, mp4Bytes(), { force: true, renamed })).toMatchObject({ path: 'clip.mp4' })
  expect((await readFile(join(folder, 'clip.mp4'))).equals(mp4Bytes())).toBe(true)
  expect(told).toHaveLength(2)
})

test('dropped at any moment, nothing is left', async () => {
  const folder = temporaryFolder()
  for (const count of [0, 1, 2, 3]) {
    const file = openMediaFile(testContext({ cwd: folder }), videoKind, {
      pathFor: () => 'clip.mp4',
      force: false,
    })
    for (let at = 0; at < count; at++) await file.write(mp4Bytes().subarray(at * 40, at * 40 + 40))
    expect((await readdir(folder)).filter((name) => !name.endsWith('.mgpart'))).toEqual([])
    await file.drop()
    await file.drop()
    expect(await readdir(folder)).toEqual([])
  }
})

test.each([
  ['a folder that is missing', 'none/clip.mp4', 2, 'folder_missing'],
  ['a folder in place of the file', 'taken', 10, 'is_folder'],
])('%s', async (_, path, exitCode, code) => {
  const folder = temporaryFolder()
  await mkdir(join(folder, 'taken'))
  await expect(save(folder, mp4Bytes(), { pathFor: () => path })).rejects.toMatchObject({ exitCode, code })
  expect(await readdir(folder)).toEqual(['taken'])
})

/** Runs the saving child; undefined when it was killed. */
function saveVideos(folder: string, killAt: number, how: string): Promise<number | undefined> {
  const script = join(import.meta.dirname, 'save-videos-child.ts')
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [script, folder, String(killAt), how], (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(undefined)
      else if (error !== null) reject(new Error(stderr))
      else resolve(Number(stdout))
    })
  })
}

test('killed 60 times while saving, no video is ever incomplete under its name, and a later run cleans up', async () => {
  const root = temporaryFolder()
  const video = mp4Bytes({}, Buffer.alloc(9000, 5))
  const newFolder = async (name: string) => {
    const folder = join(root, name)
    await mkdir(folder)
    await writeFile(join(folder, 'clip-2.mp4'), 'an older video')
    return folder
  }
  const calls = (await saveVideos(await newFolder('whole'), -1, 'before'))!
  const random = seededRandom(20_260_820)
  const kill = async (number: number) => {
    const folder = await newFolder(String(number))
    const how = ['before', 'half', 'after'][number % 3]!
    const survived = await saveVideos(folder, Math.floor(random() * calls), how)
    const names = await readdir(folder)
    const contents = await Promise.all(names.map((name) => readFile(join(folder, name))))
    return { folder, survived, files: names.map((name, at) => [name, contents[at]!] as const) }
  }
  const results: Awaited<ReturnType<typeof kill>>[] = []
  for (let number = 0; number < 60; number += 2) {
    results.push(...(await Promise.all([kill(number), kill(number + 1)])))
  }
  expect(results.filter(({ survived }) => survived !== undefined)).toEqual([])
  const named = results.flatMap(({ files }) => files).filter(([name]) => !name.endsWith('.mgpart'))
  const isAllowed = (name: string, content: Buffer) =>
    content.equals(video) || (name === 'clip-2.mp4' && content.toString() === 'an older video')
  expect(named.filter(([name, content]) => !isAllowed(name, content))).toEqual([])
  const whole = results.map(({ files }) => files.filter(([, content]) => content.equals(video)).length)
  expect(new Set(whole.map((count) => Math.min(count, 2)))).toEqual(new Set([0, 1, 2]))
  const leftovers = results.flatMap(({ folder, files }) =>
    files.filter(([name]) => name.endsWith('.mgpart')).map(([name]) => join(folder, name)),
  )
  expect(leftovers.length).toBeGreaterThan(0)
  for (const path of leftovers) await utimes(path, 0, 0)
  for (const { folder } of results) {
    await save(folder, mp4Bytes(), { force: true })
    expect((await readdir(folder)).filter((name) => name.endsWith('.mgpart'))).toEqual([])
  }
}, 120_000)

test('2 GiB take no more memory than 150 MiB', async () => {
  const script = join(import.meta.dirname, 'large-video-child.ts')
  const path = join(temporaryFolder(), 'large.mp4')
  const { stdout } = await promisify(execFile)(process.execPath, [script, path, '2048'])
  const { bytes, seconds, memory } = JSON.parse(stdout) as Record<string, number>
  expect(bytes).toBeGreaterThan(2 ** 31)
  expect(seconds).toBe(4)
  expect(memory).toBeLessThan(150)
}, 120_000)

const avi = Buffer.concat([Buffer.from('RIFF\xf4\x01\0\0AVI LIST', 'latin1'), Buffer.alloc(492, 1)])

test('an AVI is whole when it has the size that it tells', async () => {
  expect(await save(temporaryFolder(), avi)).toMatchObject({ path: 'clip.avi', verified: true })
  for (const length of [100, 250, 507]) {
    const folder = temporaryFolder()
    await expect(save(folder, avi.subarray(0, length))).rejects.toMatchObject({ code: 'damaged_video' })
    expect(await readdir(folder)).toEqual(['clip.damaged.avi'])
  }
})
