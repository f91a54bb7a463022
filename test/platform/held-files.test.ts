import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { FileHost } from '../../src/context.ts'
import { takeLock } from '../../src/files/lock-file.ts'
import { renameFile } from '../../src/files/write-target.ts'
import { createJsonStore } from '../../src/sandbox/json-store.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { withFsHook } from '../support/fs-faults.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Platform = FileHost['platform']

/** The first calls of a function fail as they do while another program has the file open, and time moves on by itself. */
async function whileHeld<Value>(
  platform: Platform,
  { name, times, code }: { readonly name: string; readonly times: number; readonly code: string },
  action: (host: FileHost) => Promise<Value>,
) {
  const clock = fakeClock()
  let failed = 0
  const hold = async (called: string, call: () => Promise<unknown>) => {
    if (called !== name || failed >= times) return await call()
    failed++
    throw Object.assign(new Error('held'), { code })
  }
  return await withFsHook(hold, async () => {
    let ended = false
    const result = action({ platform, clock })
      .catch((error: NodeJS.ErrnoException) => error.code)
      .finally(() => (ended = true))
    while (!ended) await clock.advance(clock.pendingTimers === 0 ? 0 : 10)
    return { result: await result, failed, waited: clock.monotonic() }
  })
}

describe('a file that is renamed while another program has it open', () => {
  const rename = async (platform: Platform, times: number, code: string) => {
    const folder = temporaryFolder()
    const [from, to] = [join(folder, 'new'), join(folder, 'old')]
    writeFileSync(from, 'new')
    writeFileSync(to, 'old')
    const run = await whileHeld(platform, { name: 'rename', times, code }, (host) =>
      renameFile(host, from, to),
    )
    return { ...run, content: readFileSync(to, 'utf8') }
  }

  test.each(['EPERM', 'EACCES', 'EBUSY'])('is tried again on Windows (%s)', async (code) => {
    expect(await rename('win32', 2, code)).toEqual({
      result: undefined,
      failed: 2,
      waited: 30,
      content: 'new',
    })
  })

  test('is given up after 0.3 seconds', async () => {
    expect(await rename('win32', 9, 'EBUSY')).toEqual({
      result: 'EBUSY',
      failed: 6,
      waited: 310,
      content: 'old',
    })
  })

  test.each(['linux', 'darwin'] as const)('is an error at once on %s', async (platform) => {
    expect(await rename(platform, 1, 'EPERM')).toEqual({
      result: 'EPERM',
      failed: 1,
      waited: 0,
      content: 'old',
    })
  })
})

describe('an entry that another sandbox is reading', () => {
  const keep = async (platform: Platform) => {
    const folder = temporaryFolder()
    return await whileHeld(platform, { name: 'rename', times: 1, code: 'EPERM' }, async (host) => {
      const options = { folder, isEntry: () => true, isOver: () => false, maxEntries: 1 }
      await createJsonStore(host, options).keep({ id: 'a' })
      return readdirSync(folder)
    })
  }

  test('is replaced on Windows', async () => {
    expect(await keep('win32')).toEqual({ result: ['a.json'], failed: 1, waited: 10 })
  })

  test('hinders nobody on Linux: there it is another problem, and the entry stays in memory', async () => {
    expect(await keep('linux')).toEqual({ result: [], failed: 1, waited: 0 })
  })
})

describe('a lock that another program is just removing', () => {
  const lock = async (platform: Platform, times: number) => {
    const path = join(temporaryFolder(), 'lock')
    return await whileHeld(platform, { name: 'open', times, code: 'EPERM' }, async (host) => {
      const release = await takeLock(path, { ...host, waitMs: 15_000 })
      await release?.()
      return 'taken'
    })
  }

  test('is waited for on Windows', async () => {
    expect(await lock('win32', 3)).toMatchObject({ result: 'taken', failed: 3 })
  })

  test('is an error soon where the folder may not be written', async () => {
    expect(await lock('win32', 99)).toMatchObject({ result: 'EPERM', failed: 12 })
  })

  test('is an error at once on Linux', async () => {
    expect(await lock('linux', 1)).toEqual({ result: 'EPERM', failed: 1, waited: 0 })
  })
})
