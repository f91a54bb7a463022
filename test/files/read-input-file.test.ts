import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { readError } from '../../src/files/file-error.ts'
import { describeInputFile, readInputFile } from '../../src/files/read-input-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

test('a file is described by its size and first bytes, and read whole', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const content = Buffer.alloc(10_000, 'abc')
  await writeFile(join(folder, 'a'), content)
  await symlink('a', join(folder, 'link'))
  expect(await describeInputFile(context, 'link')).toEqual({
    path: 'link',
    bytes: 10_000,
    head: content.subarray(0, 4096),
  })
  expect(await readInputFile(context, 'a')).toEqual(content)
})

test('what cannot be sent is a problem that is returned, never a wait', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  await mkdir(join(folder, 'sub'))
  await writeFile(join(folder, 'empty'), '')
  await writeFile(join(folder, 'large'), '12345')
  execFileSync('mkfifo', [join(folder, 'pipe')])
  const problem = async (path: string) => {
    const found = await readInputFile(context, path, { maxBytes: 4 })
    expect(await describeInputFile(context, path, { maxBytes: 4 })).toEqual(found)
    return found
  }
  expect(await problem('none')).toMatchObject({
    exitCode: 2,
    code: 'not_found',
    message: '"none" cannot be read: it does not exist.',
  })
  expect(await problem('sub')).toMatchObject({ exitCode: 2, code: 'is_folder' })
  expect(await problem('empty')).toMatchObject({
    exitCode: 2,
    code: 'empty_file',
    message: '"empty" is empty.',
  })
  expect(await problem('large')).toMatchObject({
    exitCode: 2,
    code: 'file_too_large',
    message: '"large" is too large: 5 bytes, at most 4 can be sent.',
  })
  expect(await problem('pipe')).toMatchObject({ exitCode: 2, code: 'not_a_file' })
  expect(await problem('large/x')).toMatchObject({ exitCode: 2, code: 'not_a_folder' })
  expect(await problem('')).toMatchObject({ exitCode: 2, code: 'bad_file_name' })
  expect(await problem('a\0b')).toMatchObject({ exitCode: 2, code: 'bad_file_name' })
  expect(await problem('x'.repeat(5000))).toMatchObject({ exitCode: 2, code: 'name_too_long' })
})

const isRoot = process.getuid?.() === 0

test.skipIf(isRoot)('an unreadable file is the disk’s fault (root may read everything)', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'secret'), 'x', { mode: 0 })
  expect(await readInputFile(testContext({ cwd: folder }), 'secret')).toMatchObject({
    exitCode: 10,
    code: 'permission_denied',
  })
})

const failure = (code: string) => readError(Object.assign(new Error(code), { code }), 'a')

test('errors of the system that are no mistake in the call exit with 10', () => {
  expect(failure('EACCES')).toMatchObject({
    exitCode: 10,
    code: 'permission_denied',
    facts: { phase: 'input' },
  })
  expect(failure('EIO')).toMatchObject({
    exitCode: 10,
    code: 'read_failed',
    message: '"a" cannot be read: EIO.',
  })
  expect(failure('EMFILE')).toMatchObject({ exitCode: 10, code: 'too_many_files' })
})
