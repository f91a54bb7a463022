import { execFile, spawn, spawnSync } from 'node:child_process'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { join } from 'node:path'
import process from 'node:process'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { openAtomicFile } from '../../src/files/open-atomic-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const child = join(import.meta.dirname, 'write-child.ts')
const windowsChild = join(import.meta.dirname, 'windows-child.ts')

interface Report {
  readonly steps: readonly string[]
  readonly saved?: object
  readonly code?: string
  readonly exit?: string
}

/** Runs the writing child; undefined when it was killed. */
function write(
  path: string,
  mode: string,
  action = 'none',
  step = -1,
  ...rescue: readonly string[]
): Promise<Report | undefined> {
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [child, path, mode, action, String(step), ...rescue],
      (error, stdout, stderr) => {
        if (error?.signal === 'SIGKILL') resolve(undefined)
        else if (error !== null) reject(new Error(stderr))
        else resolve(JSON.parse(stdout) as Report)
      },
    )
  })
}

async function contentOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined)
}

interface Outcome {
  /** The action, the number and the name of the step. */
  readonly place: string
  readonly report: Report | undefined
  readonly content: string | undefined
  /** Other files in the folder. */
  readonly left: readonly string[]
}

/** Writes over `before` with a fault at every step in turn, each time in a folder of its own. */
async function outcomes(mode: string, before: string | undefined, action: string): Promise<Outcome[]> {
  const folder = temporaryFolder()
  const run = async (step: number, name: string): Promise<Outcome> => {
    const place = `${action} ${step} ${name}`
    const path = join(folder, place, 'target')
    await mkdir(join(folder, place))
    if (before !== undefined) await writeFile(path, before)
    const report = await write(path, mode, action, step)
    const left = (await readdir(join(folder, place))).filter((entry) => entry !== 'target')
    return { place, report, content: await contentOf(path), left }
  }
  const { report } = await run(-1, 'none')
  const results: Outcome[] = []
  for (const [step, name] of report!.steps.entries()) results.push(await run(step, name))
  return results
}

const modes: [string, string | undefined][] = [
  ['force', 'old'],
  ['keep', undefined],
]

test.each(modes)(
  '%s: killed before or after any step, the file is the old one or the complete new one',
  async (mode, before) => {
    const results = (
      await Promise.all(['kill-before', 'kill-after'].map((action) => outcomes(mode, before, action)))
    ).flat()
    expect(results.length).toBeGreaterThan(24)
    expect(results.filter(({ report }) => report !== undefined)).toEqual([])
    expect(results.filter(({ content }) => content !== before && content !== 'new content')).toEqual([])
    const leftovers = results.flatMap(({ left }) => left)
    expect(leftovers.filter((name) => !/^\.target\.[0-9a-f]{16}\.mgpart$/.test(name))).toEqual([])
    // Both happened, so the kills did fall around the step that names the file.
    expect(new Set(results.map(({ content }) => content))).toEqual(new Set([before, 'new content']))
  },
  60_000,
)

test.each(modes)(
  '%s: whatever step fails, it is told as a file error and nothing is left behind',
  async (mode, before) => {
    const results = await outcomes(mode, before, 'EIO')
    const failed = results.filter(({ report }) => report?.saved === undefined)
    expect(failed.length).toBeGreaterThan(8)
    expect(failed.filter(({ report }) => report?.code !== 'write_failed' || report.exit !== 'io')).toEqual([])
    expect(failed.filter(({ content }) => content !== before)).toEqual([])
    const saved = results.filter((result) => !failed.includes(result))
    expect(saved.filter(({ content }) => content !== 'new content')).toEqual([])
    // Only a second name of a complete file may stay, when removing it is what fails.
    expect(results.filter(({ left, place }) => left.length > (place.endsWith(' unlink') ? 1 : 0))).toEqual([])
  },
  60_000,
)

test.each(['EIO', 'EDQUOT', 'EACCES', 'ENOENT'])(
  '%s at any step: what was paid for is whole, in its place or in the rescue folder',
  async (code) => {
    const root = temporaryFolder()
    const report = await write(join(root, 'first'), 'keep')
    const outcomes = await Promise.all(
      report!.steps.map(async (name, step) => {
        const folder = join(root, `${step}`)
        await mkdir(folder)
        const rescue = join(folder, 'rescued')
        const path = join(folder, 'target')
        const { saved } = (await write(path, 'keep', code, step, rescue)) as { saved?: { path: string } }
        const rescued = await readdir(rescue).catch(() => [])
        const left = (await readdir(folder)).filter((entry) => entry !== 'rescued' && entry !== 'target')
        const place = rescued.length > 0 ? 'rescued' : 'target'
        const isTold = saved?.path === (place === 'target' ? path : join(rescue, rescued[0]!))
        return { name, place, isTold, content: await contentOf(saved?.path ?? ''), left }
      }),
    )
    expect(outcomes.filter(({ content, isTold }) => content !== 'new content' || !isTold)).toEqual([])
    const rescued = outcomes.filter(({ place }) => place === 'rescued')
    expect(rescued.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['open', 'handle.write', 'handle.sync']),
    )
    expect(outcomes.filter(({ left, name }) => left.length > (name === 'unlink' ? 1 : 0))).toEqual([])
  },
  60_000,
)

test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EMFILE'])('%s while creating the file', async (code) => {
  const folder = temporaryFolder()
  const path = join(folder, 'target')
  const report = await write(path, 'keep')
  const create = report!.steps.indexOf('open')
  await rm(path)
  const codes = {
    ENOSPC: 'no_space',
    EDQUOT: 'no_space',
    EROFS: 'read_only',
    EACCES: 'permission_denied',
    EMFILE: 'too_many_files',
  }
  expect(await write(path, 'keep', code, create)).toMatchObject({
    code: codes[code as keyof typeof codes],
    exit: 'io',
  })
  expect(await readdir(folder)).toEqual([])
})

test.each(['EPERM', 'ENOTSUP'])('without hard links (%s) the file is saved', async (code) => {
  const folder = temporaryFolder()
  const path = join(folder, 'target')
  const first = await write(path, 'keep')
  const link = first!.steps.indexOf('link')
  await rm(path)
  expect(await write(path, 'keep', code, link)).toMatchObject({ saved: { bytes: 11 } })
  expect(await contentOf(path)).toBe('new content')
  expect(await readdir(folder)).toEqual(['target'])
})

test.each(['EPERM', 'ENOTSUP'])(
  'without hard links (%s) what somebody else has written meanwhile is not overwritten',
  async (code) => {
    const folder = temporaryFolder()
    const path = join(folder, 'target')
    const first = await write(path, 'keep')
    const link = first!.steps.indexOf('link')
    await rm(path)
    expect(await write(path, 'keep', `rival-${code}`, link)).toMatchObject({ code: 'file_exists' })
    expect(await contentOf(path)).toBe('theirs')
    expect(await readdir(folder)).toEqual(['target'])
  },
)

test('content is on the disk before it gets its name, and the name is before it is told', async () => {
  const report = await write(join(temporaryFolder(), 'target'), 'keep')
  const relevant = new Set(['handle.write', 'handle.sync', 'link', 'rename'])
  expect(report!.steps.filter((step) => relevant.has(step))).toEqual([
    'handle.write',
    'handle.write',
    'handle.sync',
    'link',
    'handle.sync',
  ])
})

test.each([
  [5, { renames: 6, waited: 310, code: 'saved' }, 'new'],
  [6, { renames: 6, waited: 310, code: 'permission_denied' }, 'old'],
])('on Windows a file that is held for %i renames', async (count, result, content) => {
  const folder = temporaryFolder()
  const path = join(folder, 'target')
  await writeFile(path, 'old')
  const { stdout } = await promisify(execFile)(process.execPath, [windowsChild, path, String(count)])
  expect(JSON.parse(stdout)).toEqual(result)
  expect(await contentOf(path)).toBe(content)
  expect(await readdir(folder)).toEqual(['target'])
})

test('of two processes that write the same name, one wins wholly', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'target')
  const rivals = ['first', 'second'].map((text) => {
    const rival = spawn(process.execPath, [join(import.meta.dirname, 'rival-child.ts'), path, text], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    onTestFinished(() => void rival.kill())
    return { rival, text, lines: createInterface(rival.stdout)[Symbol.asyncIterator]() }
  })
  for (const { lines } of rivals) expect((await lines.next()).value).toBe('open')
  for (const { rival } of rivals) rival.stdin.write('go\n')
  const results = await Promise.all(rivals.map(async ({ lines }) => (await lines.next()).value as string))
  expect(results.toSorted()).toEqual(['file_exists', 'saved'])
  expect(await contentOf(path)).toBe(rivals[results.indexOf('saved')]!.text)
  expect(await readdir(folder)).toEqual(['target'])
})

const canMount = process.platform === 'linux' && process.getuid?.() === 0

test.skipIf(!canMount)('a full disk (needs root for a tmpfs) leaves the old file and no other', async () => {
  const folder = temporaryFolder()
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder])
  expect(mounted.status).toBe(0)
  try {
    await writeFile(join(folder, 'target'), 'old')
    const file = await openAtomicFile(testContext({ cwd: folder }), 'target', { force: true })
    await expect(file.write(new Uint8Array(200_000))).rejects.toMatchObject({
      exitCode: 10,
      code: 'no_space',
    })
    expect(await readdir(folder)).toEqual(['target'])
    expect(await contentOf(join(folder, 'target'))).toBe('old')
  } finally {
    spawnSync('umount', [folder])
  }
})
