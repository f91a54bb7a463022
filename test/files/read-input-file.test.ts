import process from 'node:process'
import { execFileSync } from 'node:child_process'
import { appendFileSync, writeFileSync } from 'node:fs'
import { mkdir, open, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import { describeInputFile, readInputFile } from '../../src/files/input-file.ts'
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
  const problem = async (path: string) => {
    const found = await readInputFile(context, path, { maxBytes: 4 })
    expect(await describeInputFile(context, path, { maxBytes: 4 })).toEqual(found)
    return found
  }
  expect(await problem('none')).toMatchObject({
    exitCode: 10,
    code: 'not_found',
    message: '"none" cannot be read: it does not exist.',
  })
  expect(await problem('sub')).toMatchObject({ exitCode: 10, code: 'not_a_file' })
  expect(await problem('empty')).toMatchObject({
    exitCode: 2,
    code: 'empty_file',
    message: '"empty" is empty.',
  })
  expect(await problem('large')).toMatchObject({
    exitCode: 2,
    code: 'file_too_large',
    message: '"large" is too large: 5 bytes; the limit is 4 bytes.',
  })
  expect(await problem('/dev/zero')).toMatchObject({
    exitCode: 10,
    code: 'not_a_file',
    message: '"/dev/zero" is not a regular file or a pipe.',
  })
  expect(await problem('large/x')).toMatchObject({ exitCode: 10, code: 'not_found' })
  expect(await problem('')).toMatchObject({ exitCode: 2, code: 'bad_file_name' })
  expect(await problem('a\0b')).toMatchObject({ exitCode: 2, code: 'bad_file_name' })
  expect(await problem('x'.repeat(5000))).toMatchObject({ exitCode: 10, code: 'bad_file_name' })
})

/** A named pipe, and the context of whoever reads it. */
function pipe() {
  const cwd = temporaryFolder()
  const path = join(cwd, 'pipe')
  execFileSync('mkfifo', [path])
  return { context: testContext({ cwd }), path }
}

/** Opens a pipe for writing, which takes until somebody reads it. */
const writerOf = (path: string) => open(path, 'w')

test('a pipe is read to its end, in pieces, and described by what it held', async () => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe')
  const writer = await writerOf(path)
  await writer.write('one ')
  await writer.write('two')
  await writer.close()
  expect(await reading).toEqual(Buffer.from('one two'))

  const describing = describeInputFile(context, 'pipe', { headBytes: 3 })
  const other = await writerOf(path)
  await other.write('one two')
  await other.close()
  const [head, content] = [Buffer.from('one'), Buffer.from('one two')]
  expect(await describing).toEqual({ path: 'pipe', bytes: 7, head, content })
})

test('a pipe that ends without a byte is empty', async () => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe')
  const writer = await writerOf(path)
  await writer.close()
  expect(await reading).toMatchObject({ exitCode: 2, code: 'empty_file' })
})

test('no more is read from a pipe than requested', async () => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe', { maxBytes: 4 })
  const writer = await writerOf(path)
  await writer.write('12345')
  // It is still open.
  expect(await reading).toMatchObject({
    exitCode: 2,
    code: 'file_too_large',
    message: '"pipe" is too large: more than 4 bytes; the limit is 4 bytes.',
  })
  await writer.close()
})

test('a pipe without a writer is abandoned after 180 seconds', async () => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe')
  const writer = await writerOf(path)
  while (context.clock.pendingTimers === 0) await setImmediate()
  await context.clock.advance(179_999)
  expect(context.clock.pendingTimers).toBe(1)
  await context.clock.advance(1)
  expect(await reading).toMatchObject({
    exitCode: 2,
    code: 'input_silent',
    message: 'No data arrived from the pipe "pipe" within 180 s.',
  })
  await writer.close()
})

test('a signal ends the waiting for a pipe', async () => {
  const { context } = pipe()
  const reading = readInputFile(context, 'pipe')
  reading.catch(() => {})
  while (context.clock.pendingTimers === 0) await setImmediate()
  context.abort(new Interrupted('interrupt'))
  await expect(reading).rejects.toMatchObject({ exitCode: 130 })
})

test('where a pipe will not do, it is refused without a wait', async () => {
  const { context } = pipe()
  expect(await readInputFile(context, 'pipe', { pipes: false })).toMatchObject({
    exitCode: 10,
    code: 'not_a_file',
    message: '"pipe" is not a regular file.',
  })
})

test('a file that grows while it is read is read to its end, but not beyond the limit', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const path = join(folder, 'a')
  const growing = (maxBytes: number) => {
    writeFileSync(path, 'abc')
    // Called between the look at its size and the reading.
    const refuse = () => void appendFileSync(path, 'd'.repeat(100_000))
    return readInputFile(context, 'a', { maxBytes, refuse })
  }
  expect((await growing(200_000)) as Buffer).toHaveLength(100_003)
  expect(await growing(50_000)).toMatchObject({ code: 'file_too_large' })
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
