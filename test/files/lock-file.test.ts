import { existsSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { takeLock } from '../../src/files/lock-file.ts'
import { fakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A lock that another process took so long ago. */
function heldFor(ageMs: number) {
  const clock = fakeClock()
  const path = join(temporaryFolder(), 'x.lock')
  writeFileSync(path, '')
  const since = (clock.now() - ageMs) / 1000
  utimesSync(path, since, since)
  return { clock, path }
}

/** Takes the lock; time moves on while it is waited for. @param onWait called in each wait, with the time until then */
async function take(
  { clock, path }: ReturnType<typeof heldFor>,
  waitMs: number,
  onWait = (_waited: number): void => {},
) {
  let isEnded = false
  const taking = takeLock(path, { platform: 'linux', clock, waitMs }).finally(() => (isEnded = true))
  while (!isEnded) {
    const isWaiting = clock.pendingTimers > 0
    if (isWaiting) onWait(clock.monotonic())
    await clock.advance(isWaiting ? 25 : 0)
  }
  return { release: await taking, waited: clock.monotonic() }
}

test('a lock is a file that is there while it is held', async () => {
  const path = join(temporaryFolder(), 'x.lock')
  const release = await takeLock(path, { platform: 'linux', clock: fakeClock(), waitMs: 100 })
  expect(existsSync(path)).toBe(true)
  await release!()
  expect(existsSync(path)).toBe(false)
  // Somebody else may have removed it as too old.
  await release!()
})

test('a lock of another process is waited for, and left to it', async () => {
  const lock = heldFor(0)
  expect(await take(lock, 60)).toEqual({ release: undefined, waited: 75 })
  expect(existsSync(lock.path)).toBe(true)
})

test('a lock that becomes free is taken', async () => {
  const lock = heldFor(0)
  const taken = take(lock, 1000, (waited) => void (waited === 25 && unlinkSync(lock.path)))
  expect(await taken).toEqual({ release: expect.any(Function), waited: 50 })
})

test('a lock of ten seconds is still held', async () => {
  const lock = heldFor(10_000)
  expect(await take(lock, 25)).toEqual({ release: undefined, waited: 25 })
  expect(existsSync(lock.path)).toBe(true)
})

test('an older one is of a process that was killed, and taken over at once', async () => {
  expect(await take(heldFor(11_000), 100)).toEqual({ release: expect.any(Function), waited: 0 })
})

test('a folder that is not there is an error, and not waited for', async () => {
  const path = join(temporaryFolder(), 'none', 'x.lock')
  const clock = fakeClock()
  await expect(takeLock(path, { platform: 'linux', clock, waitMs: 100 })).rejects.toMatchObject({
    code: 'ENOENT',
  })
})
