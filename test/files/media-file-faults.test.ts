import process from 'node:process'
import { spawn, spawnSync } from 'node:child_process'
import { readdir, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { expect, onTestFinished, test } from 'vitest'
import { imageKind } from '../../src/files/image-info.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { withFsFault } from '../support/fs-faults.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { filesIn, folderWithOlder, mediaToSave, remainsIn } from './saved-media.ts'

test.each(['images', 'videos'] as const)(
  '%s: stopped before or after any step, nothing is ever incomplete under its name, and a later run cleans up',
  async (kind) => {
    const media = mediaToSave[kind]
    const root = temporaryFolder()
    const run = async (fault: string, step: number) => {
      const folder = await folderWithOlder(media, join(root, `${fault} ${step}`))
      const { steps, value } = await withFsFault({ step, fault }, async () => {
        await media.save(folder)
        return 'saved'
      })
      return { folder, steps, value, ...(await remainsIn(folder, media)) }
    }
    const { steps, whole } = await run('none', -1)
    expect(whole).toBe(media.names.length)
    const results: Awaited<ReturnType<typeof run>>[] = []
    for (const fault of ['stop before', 'stop after']) {
      for (const step of steps.keys()) results.push(await run(fault, step))
    }
    expect(results.filter(({ value }) => value !== undefined)).toEqual([])
    expect(results.flatMap(({ broken }) => broken)).toEqual([])
    // They were stopped in every file, and on both sides of its naming.
    const counts = new Set(results.map((result) => result.whole))
    expect([...counts].toSorted()).toEqual([0, ...media.names.map((_, at) => at + 1)])
    expect(results.flatMap(({ temporary }) => temporary).length).toBeGreaterThan(0)
    for (const { folder, temporary } of results) {
      for (const name of temporary) {
        expect(name).toMatch(/^\.(hero|clip)-\d\.(png|mp4)\.[0-9a-f]{16}\.mgpart$/)
        await utimes(join(folder, name), 0, 0)
      }
      await media.save(folder)
      expect((await remainsIn(folder, media)).temporary).toEqual([])
    }
  },
)

test('two processes that save under the same name both keep their image, and no temporary file', async () => {
  const folder = temporaryFolder()
  const rivals = [1, 2].map((size) => {
    const script = join(import.meta.dirname, 'rival-image-child.ts')
    const rival = spawn(process.execPath, [script, join(folder, 'hero.png'), String(size)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void rival.kill())
    return { rival, size, lines: createInterface(rival.stdout)[Symbol.asyncIterator]() }
  })
  for (const { lines } of rivals) expect((await lines.next()).value).toBe('open')
  for (const { rival } of rivals) rival.stdin.write('go\n')
  const saved = await Promise.all(rivals.map(async ({ lines }) => (await lines.next()).value as string))
  expect(saved.toSorted()).toEqual(['hero-2.png', 'hero.png'])
  const files = await filesIn(folder)
  expect(files.size).toBe(2)
  for (const [at, { size }] of rivals.entries())
    expect(files.get(saved[at]!)).toEqual(pngBytes({ width: size }))
})

test('damage is reported even when the image cannot be kept', async () => {
  const folder = temporaryFolder()
  const save = async () => {
    const pathFor = () => 'hero.png'
    const file = openMediaFile(testContext({ cwd: folder }), imageKind, { pathFor, force: false })
    await file.write(mediaToSave.images.content.subarray(0, 2000))
    return await file.commit().catch((error: unknown) => error)
  }
  const { steps } = await withFsFault({ step: -1, fault: 'none' }, save)
  expect(await readdir(folder)).toEqual(['hero.damaged.png'])
  const fault = { step: steps.lastIndexOf('link'), fault: 'ENOSPC' }
  const { value } = await withFsFault(fault, save)
  expect(value).toMatchObject({
    code: 'damaged_image',
    message: 'The gateway sent a damaged image: the PNG data ends too early.',
  })
  expect(await readdir(folder)).toEqual(['hero.damaged.png'])
})

const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.skipIf(!canMount)('a full disk (needs root for a tmpfs) leaves nothing of the image', async () => {
  const folder = temporaryFolder()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
  const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
    pathFor: () => 'hero.png',
    force: false,
  })
  await file.write(mediaToSave.images.content)
  await expect(file.write(new Uint8Array(200_000))).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
  expect(await readdir(folder)).toEqual([])
})

test.skipIf(!canMount)('a read-only file system (needs root to mount one) is reported', async () => {
  const folder = temporaryFolder()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
  const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
    pathFor: () => 'hero.png',
    force: false,
  })
  await expect(file.write(mediaToSave.images.content)).rejects.toMatchObject({
    exitCode: 10,
    code: 'read_only',
  })
})
