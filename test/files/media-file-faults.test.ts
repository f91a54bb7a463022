import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline/promises'
import { expect, onTestFinished, test } from 'vitest'
import { imageKind } from '../../src/files/image-inspector.ts'
import { openMediaFile } from '../../src/files/media-file.ts'
import { seededRandom } from '../../src/sandbox/seeded-random.ts'
import { noisyPng, pngBytes } from '../support/image-bytes.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const width = 64
const image = noisyPng(width, 64)

/** Runs the saving child; undefined when it was killed. */
function saveImages(folder: string, killAt: number, how: string): Promise<number | undefined> {
  const script = join(import.meta.dirname, 'save-images-child.ts')
  const args = [script, folder, String(killAt), how, String(width)]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(undefined)
      else if (error !== null) reject(new Error(stderr))
      else resolve(Number(stdout))
    })
  })
}

async function filesIn(folder: string): Promise<Map<string, Buffer>> {
  const names = await readdir(folder)
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
}

test('killed 100 times while saving, no image is ever incomplete under its name', async () => {
  const root = temporaryFolder()
  /** A folder with an older image, which the second is to replace. */
  const newFolder = async (name: string) => {
    const folder = join(root, name)
    await mkdir(folder)
    await writeFile(join(folder, 'hero-2.png'), 'an older image')
    return folder
  }
  const whole = await newFolder('whole')
  const calls = (await saveImages(whole, -1, 'before'))!
  expect([...(await filesIn(whole)).keys()]).toEqual(['hero-1.png', 'hero-2.png', 'hero-3.png'])
  const random = seededRandom(20_260_820)
  const kill = async (number: number) => {
    const folder = await newFolder(String(number))
    const how = ['before', 'half', 'after'][Math.floor(random() * 3)]!
    const survived = await saveImages(folder, Math.floor(random() * calls), how)
    return { survived, files: await filesIn(folder) }
  }
  const results: Awaited<ReturnType<typeof kill>>[] = []
  for (let number = 0; number < 100; number += 2) {
    results.push(...(await Promise.all([kill(number), kill(number + 1)])))
  }
  expect(results.filter(({ survived }) => survived !== undefined)).toEqual([])
  const named = results.flatMap(({ files }) => [...files]).filter(([name]) => !name.endsWith('.mgpart'))
  const isAllowed = (name: string, content: Buffer) =>
    content.equals(image) || (name === 'hero-2.png' && content.toString() === 'an older image')
  expect(named.filter(([name, content]) => !isAllowed(name, content))).toEqual([])
  // The kills did fall on every image, and on both sides of its naming.
  const saved = results.map(
    ({ files }) => [...files.values()].filter((content) => content.equals(image)).length,
  )
  expect(new Set(saved.map((count) => Math.min(count, 3)))).toEqual(new Set([0, 1, 2, 3]))
  const leftovers = results
    .flatMap(({ files }) => [...files.keys()])
    .filter((name) => name.endsWith('.mgpart'))
  expect(leftovers.length).toBeGreaterThan(0)
  expect(leftovers.filter((name) => !/^\.hero-\d\.png\.[0-9a-f]{16}\.mgpart$/.test(name))).toEqual([])
}, 120_000)

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

const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.skipIf(!canMount)('a full disk (needs root for a tmpfs) leaves nothing of the image', async () => {
  const folder = temporaryFolder()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
  const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
    pathFor: () => 'hero.png',
    force: false,
  })
  await file.write(image)
  await expect(file.write(new Uint8Array(200_000))).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
  expect(await readdir(folder)).toEqual([])
})

test.skipIf(!canMount)('a read-only file system (needs root to mount one) is told', async () => {
  const folder = temporaryFolder()
  expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', folder]).status).toBe(0)
  onTestFinished(() => void spawnSync('umount', [folder]))
  const file = openMediaFile(testContext({ cwd: folder }), imageKind, {
    pathFor: () => 'hero.png',
    force: false,
  })
  await expect(file.write(image)).rejects.toMatchObject({ exitCode: 10, code: 'read_only' })
})
