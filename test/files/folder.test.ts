import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder, renameFile } from '../../src/files/write-target.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('a folder is made with those above it, for the user alone', async () => {
  const root = temporaryFolder()
  await makeFolder(join(root, 'a', 'b', 'c'))
  for (const path of ['a', 'a/b', 'a/b/c']) {
    const { mode } = statSync(join(root, path))
    expect([path, process.platform === 'win32' ? 0o700 : mode & 0o777]).toEqual([path, 0o700])
  }
})

test('many may make the same folder at once, and one that is there stays as it is', async () => {
  const root = temporaryFolder()
  mkdirSync(join(root, 'there'))
  const { mode } = statSync(join(root, 'there'))
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(join(root, 'there', 'x', 'y'))))
  expect(statSync(join(root, 'there')).mode).toBe(mode)
  expect(statSync(join(root, 'there', 'x', 'y')).isDirectory()).toBe(true)
})

test('a file in the way is an error', async () => {
  const root = temporaryFolder()
  writeFileSync(join(root, 'file'), '')
  await expect(makeFolder(join(root, 'file'))).rejects.toMatchObject({ code: 'EEXIST' })
  await expect(makeFolder(join(root, 'file', 'x'))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test.runIf(process.platform === 'linux')(
  'a place where nothing can be made is an error, not a loop',
  async () => {
    await expect(makeFolder('/proc/self/nothing/a/b')).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

test('a file that is not there cannot be renamed, wherever the program runs', async () => {
  const root = temporaryFolder()
  await expect(renameFile(undefined, join(root, 'none'), join(root, 'other'))).rejects.toMatchObject({
    code: 'ENOENT',
  })
})
