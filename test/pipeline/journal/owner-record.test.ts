import { spawnSync } from 'node:child_process'
import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { describe, expect, test } from 'vitest'
import type { Processes } from '../../../src/context.ts'
import { isLiving, ownRecord, readRecord } from '../../../src/pipeline/journal/owner.ts'
import { fakeClock } from '../../support/fake-clock.ts'
import { withFsHook, type FsHook } from '../../support/fs-faults.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const noon = Date.UTC(2026, 10, 22, 12)
const processesWhere = (isRunning: boolean): Processes => ({
  own: process.pid,
  isRunning: () => isRunning,
})

/** Of a system that has no such file. */
const without =
  (...missing: readonly string[]): FsHook =>
  (_, call, path) =>
    missing.includes(path) ? Promise.reject(Object.assign(new Error('injected'), { code: 'ENOENT' })) : call()

describe('a process on this machine', () => {
  const own = { process: process.pid, started: null, host: 'here', machine: null }
  const found = { ...own, path: 'x.owner', heartbeat: 0 }
  const context = (isRunning: boolean) => ({
    clock: fakeClock({ start: noon }),
    processes: processesWhere(isRunning),
  })

  test('lives as long as its id does, where the system tells no more', async () => {
    expect(await isLiving(found, own, context(true))).toBe(true)
    expect(await isLiving(found, own, context(false))).toBe(false)
  })

  test('that ends while it is looked at is dead', async () => {
    const { pid } = spawnSync(process.execPath, ['-e', ''])
    const started = { ...own, started: '1' }
    expect(await isLiving({ ...found, process: pid, started: '1' }, started, context(true))).toBe(false)
  })
})

describe('the machine', () => {
  const boot = '/proc/sys/kernel/random/boot_id'
  const namespace = '/proc/self/ns/pid'

  test.each([[[boot]], [[namespace]], [[boot, namespace]]])('is not told without %j', async (missing) => {
    const record = await withFsHook(without(...missing), () => ownRecord(processesWhere(true)))
    expect(record).toMatchObject({ process: process.pid, host: hostname(), machine: null })
  })
})

describe('the file of an owner', () => {
  function sample(text: string) {
    const path = join(temporaryFolder(), 'x.owner')
    writeFileSync(path, text)
    utimesSync(path, noon / 1000, noon / 1000)
    return path
  }
  const unknown = { process: 0, started: null, host: '', machine: null, heartbeat: noon }

  test('that says nothing is one all the same', async () => {
    const path = sample('{}')
    expect(await readRecord(path)).toEqual({ ...unknown, path })
  })

  test('that is gone is none, also when it goes while it is read', async () => {
    const path = sample('{}')
    const hook: FsHook = async (name, call) => {
      const value = await call()
      if (name === 'stat') rmSync(path)
      return value
    }
    expect(await withFsHook(hook, () => readRecord(path))).toBeUndefined()
    expect(await readRecord(path)).toBeUndefined()
  })
})
