import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FileError, UsageError } from '../../src/errors.ts'
import { openAtomicFile, openRescueFile } from '../../src/files/atomic-file.ts'
import { failing, withFsHook, type FsHook } from '../support/fs-faults.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

// The clock of the tests stands at 2026-01-01T00:00:00.000Z.
const rescuedName = '20260101T000000-a.png'
const full = new FileError('no_space', 'The disk is full.', { hint: 'Make room.' })

/** A folder, a file in it that is in the way, and a rescue folder that is not there yet. */
function place() {
  const cwd = temporaryFolder()
  writeFileSync(join(cwd, 'a.png'), 'old')
  const rescueFolder = join(cwd, 'state/rescued')
  return { cwd, rescueFolder, context: testContext({ cwd }) }
}

describe('a result that cannot be written where it belongs', () => {
  test('is kept in the rescue folder, which only the user may read, and told as paid for', async () => {
    const { context, rescueFolder } = place()
    const file = await openAtomicFile(context, 'a.png', { force: false, rescueFolder, hasArrived: true })
    expect(file.isDirect).toBe(false)
    await file.write('picture')
    const { path, bytes, rescued } = await file.commit()
    expect([path, bytes]).toEqual([join(rescueFolder, rescuedName), 7])
    expect(rescued).toMatchObject({
      exit: 'io',
      code: 'file_exists',
      message: `"a.png" already exists. It is kept in "${path}" instead.`,
      facts: { phase: 'output', billed: 'yes', rescued: [path] },
    })
    expect(readFileSync(path, 'utf8')).toBe('picture')
    expect([statSync(path).mode & 0o777, statSync(rescueFolder).mode & 0o777]).toEqual([0o600, 0o700])
  })

  test('gets a free name beside one that was rescued in the same second', async () => {
    const { context, rescueFolder } = place()
    for (const content of ['one', 'two', 'three']) {
      const file = await openAtomicFile(context, 'a.png', { force: false, rescueFolder, hasArrived: true })
      await file.write(content)
      await file.commit()
    }
    expect(readdirSync(rescueFolder).toSorted()).toEqual([
      '20260101T000000-a-2.png',
      '20260101T000000-a-3.png',
      rescuedName,
    ])
    expect(readFileSync(join(rescueFolder, rescuedName), 'utf8')).toBe('one')
  })

  test('leaves nothing when it is discarded, and is called damaged when it is incomplete', async () => {
    const { context, rescueFolder } = place()
    const one = await openAtomicFile(context, 'a.png', { force: false, rescueFolder, hasArrived: true })
    await one.write('x')
    await one.discard()
    expect(readdirSync(rescueFolder)).toEqual([])
    const other = await openAtomicFile(context, 'a.png', { force: false, rescueFolder, hasArrived: true })
    await other.write('x')
    const { path } = await other.commit(true)
    expect(path).toBe(join(rescueFolder, '20260101T000000-a.damaged.png'))
    expect(readdirSync(rescueFolder)).toEqual(['20260101T000000-a.damaged.png'])
  })

  test('is not rescued where that was not asked for', async () => {
    const { context } = place()
    await expect(openAtomicFile(context, 'a.png', { force: false, hasArrived: true })).rejects.toMatchObject({
      code: 'file_exists',
      message: '"a.png" already exists.',
    })
  })
})

describe('a rescue that fails', () => {
  const failure = {
    exitCode: 10,
    code: 'no_space',
    facts: { phase: 'output', billed: 'yes', hint: 'Make room.' },
  }

  test('says so beside the reason, where there is no place for it', async () => {
    await expect(openRescueFile(place().context, undefined, 'a.png', full)).rejects.toMatchObject({
      ...failure,
      message:
        'The disk is full. It could not be rescued either: There is no folder for it, because no home directory is known.',
    })
  })

  test('says so beside the reason, where its folder cannot be made', async () => {
    const { context, cwd } = place()
    const folder = join(cwd, 'a.png/rescued')
    await expect(openRescueFile(context, folder, 'a.png', full)).rejects.toMatchObject({
      ...failure,
      message: expect.stringContaining(
        `The disk is full. It could not be rescued either: "${folder}" cannot be written`,
      ) as string,
    })
  })

  test.each(['write', 'commit', 'damaged'] as const)('says so at %s', async (step) => {
    const { context, rescueFolder } = place()
    const call = step === 'write' ? 'handle.write' : 'link'
    const saving = withFsHook(failing(call, 'ENOSPC'), async () => {
      const file = await openRescueFile(context, rescueFolder, 'a.png', full)
      await (step === 'write' ? file.write('x') : file.commit(step === 'damaged'))
    })
    await expect(saving).rejects.toMatchObject({
      ...failure,
      message: expect.stringMatching(
        /^The disk is full\. It could not be rescued either: .*no space/i,
      ) as string,
    })
    expect(readdirSync(rescueFolder)).toEqual([])
  })
})

describe('a file that can no longer be written', () => {
  /** Writes pieces, the second of which fails. */
  const write = (rescueFolder: string | undefined, pieces: readonly string[], cwd: string) => {
    return withFsHook(failing('handle.write', 'EIO', 2, 2), async () => {
      const file = await openAtomicFile(testContext({ cwd }), 'b.png', { force: false, rescueFolder })
      for (const piece of pieces) await file.write(piece)
      return await file.commit()
    })
  }

  test('goes on in the rescue folder, with all that has been written', async () => {
    const { cwd, rescueFolder } = place()
    const large = 'ab'.repeat(700_000)
    const { path, bytes, rescued } = await write(rescueFolder, [large, 'cd', 'ef'], cwd)
    expect(readFileSync(path, 'utf8')).toBe(`${large}cdef`)
    expect(bytes).toBe(1_400_004)
    expect(rescued?.facts).toMatchObject({ billed: 'yes', rescued: [path] })
    expect(readdirSync(cwd).toSorted()).toEqual(['a.png', 'state'])
  })

  test('leaves out what a failed write has left behind', async () => {
    const { cwd, rescueFolder } = place()
    let writes = 0
    const hook: FsHook = async (name, call, path) => {
      if (name !== 'handle.write' || ++writes !== 2) return await call()
      appendFileSync(path, 'half a piece')
      throw Object.assign(new Error('injected'), { code: 'ENOSPC' })
    }
    const large = 'ab'.repeat(700_000)
    const { path } = await withFsHook(hook, async () => {
      const file = await openAtomicFile(testContext({ cwd }), 'b.png', { force: false, rescueFolder })
      for (const piece of [large, 'cd']) await file.write(piece)
      return await file.commit()
    })
    expect(readFileSync(path, 'utf8') === `${large}cd`).toBe(true)
  })

  test('is told without a rescue folder, and leaves nothing', async () => {
    const { cwd } = place()
    await expect(write(undefined, ['ab', 'cd'], cwd)).rejects.toMatchObject({
      facts: { billed: 'yes' },
      message: expect.stringContaining('no home directory is known') as string,
    })
    expect(readdirSync(cwd)).toEqual(['a.png'])
  })

  test('of which what was written is gone leaves nothing in the rescue folder', async () => {
    const { cwd, rescueFolder } = place()
    const context = testContext({ cwd })
    const fail = failing('handle.write', 'EIO', 2, 2)
    const hook: FsHook = async (name, call, path) =>
      name === 'handle.read' ? { bytesRead: 0 } : await fail(name, call, path)
    const saving = withFsHook(hook, async () => {
      const file = await openAtomicFile(context, 'b.png', { force: false, rescueFolder })
      await file.write('ab')
      await file.write('cd')
    })
    await expect(saving).rejects.toThrow('what was written is gone')
    expect(readdirSync(rescueFolder)).toEqual([])
    expect(readdirSync(cwd).toSorted()).toEqual(['a.png', 'state'])
  })
})

test('the rescue folder is not where a link may lead the file later', async () => {
  const { context, rescueFolder } = place()
  mkdirSync(rescueFolder, { recursive: true })
  chmodSync(rescueFolder, 0o755)
  const file = await openRescueFile(context, rescueFolder, 'a.png', new UsageError('Wrong.'))
  const { rescued } = await file.commit()
  expect(rescued).toMatchObject({ exit: 'io', facts: { billed: 'yes', phase: 'output' } })
  // The folder is the user's: its permissions stay.
  expect(statSync(rescueFolder).mode & 0o777).toBe(0o755)
})
