import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { LockBlock } from '../../../src/pipeline/lock/lock-block.ts'
import { readLock, writeLock } from '../../../src/pipeline/lock/project-lock.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { withFsHook } from '../../support/fs-faults.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const digest = 'a'.repeat(64)

const block: LockBlock = {
  key: digest,
  outputs: [
    {
      path: 'hero.png',
      sha256: digest,
      bytes: 1,
      media_type: 'image/png',
      width: null,
      height: null,
      seconds: null,
      credentials: false,
    },
  ],
  fields: {},
  model: null,
  origin: null,
  request_id: null,
  job_id: null,
  usage: null,
  took_s: null,
  picked: null,
  adopted: null,
  prompt: null,
}

function setUp(manifest = 'modelgate.yaml') {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, manifest), false)
  const context = testContext({ cwd: folder })
  return {
    folder,
    project,
    read: () => readLock(context, project),
    write: (lock: ReadonlyMap<string, LockBlock>) => writeLock(context, project, lock),
  }
}

test('a lock is read as it was written, and nothing is left beside it', async () => {
  const { folder, read, write } = setUp('canon.yaml')
  await write(new Map([['hero', block]]))
  expect(readdirSync(folder)).toEqual(['canon.lock'])
  expect(await read()).toEqual(new Map([['hero', block]]))
})

test('no lock is an empty one, and an empty one needs no file', async () => {
  const { folder, read, write } = setUp()
  expect(await read()).toEqual(new Map())
  await write(new Map())
  expect(readdirSync(folder)).toEqual([])
})

test('the lock of the sandbox lies below the folder of the state', async () => {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), true)
  const context = testContext({ cwd: folder })
  await writeLock(context, project, new Map([['hero', block]]))
  expect(readdirSync(join(folder, '.modelgate/sandbox'))).toEqual(['modelgate.lock'])
  expect((await readLock(context, project)).size).toBe(1)
})

test('the last block can be taken out', async () => {
  const { read, write } = setUp()
  await write(new Map([['hero', block]]))
  await write(new Map())
  expect(await read()).toEqual(new Map())
})

test('a lock that says the same is not written again, whatever its line breaks', async () => {
  const { project, write } = setUp()
  const lock = new Map([['hero', block]])
  await write(lock)
  writeFileSync(project.lockPath, readFileSync(project.lockPath, 'utf8').replaceAll('\n', '\r\n'))
  utimesSync(project.lockPath, 1, 1)
  await write(lock)
  expect(statSync(project.lockPath).mtimeMs).toBe(1000)
  await write(new Map([['other', block]]))
  expect(readFileSync(project.lockPath, 'utf8')).not.toContain('\r')
})

test('a byte-order mark is no mistake, bytes that are no text are', async () => {
  const { project, read, write } = setUp()
  await write(new Map([['hero', block]]))
  const text = readFileSync(project.lockPath)
  writeFileSync(project.lockPath, Buffer.concat([Buffer.from('\ufeff'), text]))
  expect((await read()).size).toBe(1)
  writeFileSync(project.lockPath, Buffer.concat([text, Buffer.from([0xff])]))
  await expect(read()).rejects.toMatchObject({
    exit: 'usage',
    code: 'lock_invalid',
    message: `modelgate.lock: the lock is not UTF-8 text (byte 0xff at offset ${text.length}).`,
    facts: { hint: 'Restore it from version control; nothing is generated without it.' },
  })
})

test('a mistake is told with the path as the user knows it', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'art'))
  const project = projectOf(join(folder, 'art/modelgate.yaml'), false)
  writeFileSync(project.lockPath, '{\n<<<<<<< HEAD\n')
  await expect(readLock(testContext({ cwd: folder }), project)).rejects.toMatchObject({
    code: 'lock_conflict',
    message: 'art/modelgate.lock:2: the lock has conflict markers of a merge.',
  })
  await expect(readLock(testContext({ cwd: join(folder, 'art') }), project)).rejects.toMatchObject({
    message: 'modelgate.lock:2: the lock has conflict markers of a merge.',
  })
})

test('a folder in its place is told', async () => {
  const { project, read, write } = setUp()
  mkdirSync(project.lockPath)
  await expect(read()).rejects.toMatchObject({ exit: 'io', code: 'is_folder' })
  await expect(write(new Map([['hero', block]]))).rejects.toMatchObject({ exit: 'io', code: 'is_folder' })
})

test('a file in place of its folder is told', async () => {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), true)
  writeFileSync(join(folder, '.modelgate'), '')
  const write = writeLock(testContext({ cwd: folder }), project, new Map([['hero', block]]))
  await expect(write).rejects.toMatchObject({
    exit: 'io',
    message:
      '".modelgate/sandbox/modelgate.lock" cannot be written: a part of its path is a file, not a folder.',
  })
})

test('where the disk is full the lock stays as it was, and nothing is left beside it', async () => {
  const { folder, read, write } = setUp()
  await write(new Map([['hero', block]]))
  const isFull = (name: string, call: () => Promise<unknown>) =>
    name === 'handle.write' || name === 'handle.writeFile'
      ? Promise.reject(Object.assign(new Error('ENOSPC: injected'), { code: 'ENOSPC' }))
      : call()
  const failing = withFsHook(isFull, () => write(new Map([['other', block]])))
  await expect(failing).rejects.toMatchObject({ exit: 'io', code: 'no_space' })
  expect(readdirSync(folder)).toEqual(['modelgate.lock'])
  expect(await read()).toEqual(new Map([['hero', block]]))
})
