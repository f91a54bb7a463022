import { spawn } from 'node:child_process'
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, onTestFinished, test } from 'vitest'
import { ModelgateError } from '../../src/errors.ts'
import { openAtomicFile, type WrittenFile } from '../../src/files/atomic-file.ts'
import { withFsFault, withFsHook, type FsFault, type FsHook } from '../support/fs-faults.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

interface Report {
  readonly steps: readonly string[]
  readonly saved?: WrittenFile | undefined
  readonly code?: string
  readonly exit?: string
}

interface WriteOptions {
  readonly force?: boolean
  readonly fault?: FsFault
  readonly rescueFolder?: string
}

const none: FsFault = { step: -1, fault: 'none' }

/** Writes "new content" in two pieces. Without `saved` and `code` it was stopped. */
async function write(
  path: string,
  { force = false, fault = none, ...rescue }: WriteOptions = {},
): Promise<Report> {
  const { steps, value } = await withFsFault(fault, async () => {
    try {
      const file = await openAtomicFile(testContext(), path, { force, ...rescue, hasArrived: true })
      await file.write('new ')
      await file.write('content')
      return { saved: await file.commit() }
    } catch (error) {
      if (error instanceof ModelgateError) return { code: error.code, exit: error.exit }
      throw error
    }
  })
  return { steps, ...value }
}

async function contentOf(path: string): Promise<string | undefined> {
  return await readFile(path, 'utf8').catch(() => undefined)
}

interface Outcome extends Report {
  /** The fault, the number and the name of the step. */
  readonly place: string
  readonly content: string | undefined
  /** Other files in the folder. */
  readonly left: readonly string[]
}

/** Writes over `before` with a fault at every step in turn, each time in a folder of its own. */
async function outcomes(force: boolean, before: string | undefined, fault: string): Promise<Outcome[]> {
  const folder = temporaryFolder()
  const run = async (step: number, name: string): Promise<Outcome> => {
    const place = `${fault} ${step} ${name}`
    const path = join(folder, place, 'target')
    await mkdir(join(folder, place))
    if (before !== undefined) await writeFile(path, before)
    const report = await write(path, { force, fault: { step, fault } })
    const left = (await readdir(join(folder, place))).filter((entry) => entry !== 'target')
    return { ...report, place, content: await contentOf(path), left }
  }
  const { steps } = await run(-1, 'none')
  const results: Outcome[] = []
  for (const [step, name] of steps.entries()) results.push(await run(step, name))
  return results
}

const modes: [string, boolean, string | undefined][] = [
  ['force', true, 'old'],
  ['keep', false, undefined],
]

test.each(modes)(
  '%s: stopped before or after any step, the file is the old one or the complete new one',
  async (_, force, before) => {
    const results = [
      ...(await outcomes(force, before, 'stop before')),
      ...(await outcomes(force, before, 'stop after')),
    ]
    expect(results.length).toBeGreaterThan(24)
    expect(results.filter(({ saved, code }) => saved !== undefined || code !== undefined)).toEqual([])
    expect(results.filter(({ content }) => content !== before && content !== 'new content')).toEqual([])
    const leftovers = results.flatMap(({ left }) => left)
    expect(leftovers.filter((name) => !/^\.target\.[0-9a-f]{16}\.mgpart$/.test(name))).toEqual([])
    // Both happened, so the stops did fall around the step that names the file.
    expect(new Set(results.map(({ content }) => content))).toEqual(new Set([before, 'new content']))
  },
)

test.each(modes)(
  '%s: whatever step fails, it is told as a file error and nothing is left behind',
  async (_, force, before) => {
    const results = await outcomes(force, before, 'EIO')
    const failed = results.filter(({ saved }) => saved === undefined)
    expect(failed.length).toBeGreaterThan(8)
    expect(failed.filter(({ code, exit }) => code !== 'write_failed' || exit !== 'io')).toEqual([])
    expect(failed.filter(({ content }) => content !== before)).toEqual([])
    const saved = results.filter((result) => !failed.includes(result))
    expect(saved.filter(({ content }) => content !== 'new content')).toEqual([])
    // Only a second name of a complete file may stay, when removing it is what fails.
    expect(results.filter(({ left, place }) => left.length > (place.endsWith(' unlink') ? 1 : 0))).toEqual([])
  },
)

test.each(['EIO', 'EDQUOT', 'EACCES', 'ENOENT'])(
  '%s at any step: what was paid for is whole, in its place or in the rescue folder',
  async (code) => {
    const root = temporaryFolder()
    const { steps } = await write(join(root, 'first'))
    const outcomes = await Promise.all(
      steps.map(async (name, step) => {
        const folder = join(root, `${step}`)
        await mkdir(folder)
        const rescueFolder = join(folder, 'rescued')
        const path = join(folder, 'target')
        const { saved } = await write(path, { fault: { step, fault: code }, rescueFolder })
        const rescued = await readdir(rescueFolder).catch(() => [])
        const left = (await readdir(folder)).filter((entry) => entry !== 'rescued' && entry !== 'target')
        const place = rescued.length > 0 ? 'rescued' : 'target'
        const isTold = saved?.path === (place === 'target' ? path : join(rescueFolder, rescued[0]!))
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
)

test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EMFILE'])('%s while creating the file', async (code) => {
  const folder = temporaryFolder()
  const path = join(folder, 'target')
  const { steps } = await write(path)
  const create = steps.indexOf('open')
  await rm(path)
  const codes = {
    ENOSPC: 'no_space',
    EDQUOT: 'no_space',
    EROFS: 'permission_denied',
    EACCES: 'permission_denied',
    EMFILE: 'write_failed',
  }
  expect(await write(path, { fault: { step: create, fault: code } })).toMatchObject({
    code: codes[code as keyof typeof codes],
    exit: 'io',
  })
  expect(await readdir(folder)).toEqual([])
})

test('content is on the disk before it gets its name, and the name is before it is reported', async () => {
  const { steps } = await write(join(temporaryFolder(), 'target'))
  const relevant = new Set(['handle.write', 'handle.sync', 'link', 'rename'])
  expect(steps.filter((step) => relevant.has(step))).toEqual([
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
  let renames = 0
  const hold: FsHook = async (name, call) => {
    if (name !== 'rename' || ++renames > count) return await call()
    throw Object.assign(new Error('held'), { code: 'EPERM' })
  }
  const context = testContext({ platform: 'win32' })
  const code = await withFsHook(hold, async () => {
    const file = await openAtomicFile(context, path, { force: true })
    await file.write('new')
    const ends: string[] = []
    void file.commit().then(
      () => ends.push('saved'),
      ({ code }: ModelgateError) => ends.push(code),
    )
    // Any other call of the file system takes a moment of real time, so time is moved on until the end is there.
    while (ends.length === 0) await context.clock.advance(context.clock.pendingTimers === 0 ? 0 : 10)
    return ends[0]
  })
  expect({ renames, waited: context.clock.monotonic(), code }).toEqual(result)
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
