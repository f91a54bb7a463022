import { execFileSync } from 'node:child_process'
import { appendFileSync, symlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Interrupted } from '../../src/errors.ts'
import { readError } from '../../src/files/file-error.ts'
import { describeInputFile, readInputFile } from '../../src/files/input-file.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

test('a file is described by its size and first bytes, and read whole', async () => {
  const cwd = temporaryFolder()
  const content = Buffer.alloc(10_000, 'abc')
  writeFiles(cwd, { a: content })
  symlinkSync('a', join(cwd, 'link'))
  const head = content.subarray(0, 4096)
  expect(await describeInputFile(testContext({ cwd }), 'link')).toEqual({ path: 'link', bytes: 10_000, head })
  expect(await readInputFile(testContext({ cwd }), 'a')).toEqual(content)
})

test.each([
  ['none', 10, 'not_found', '"none" cannot be read: it does not exist.'],
  ['sub', 10, 'not_a_file', '"sub" cannot be read: it is a folder.'],
  ['empty', 2, 'empty_file', '"empty" is empty.'],
  ['large', 2, 'file_too_large', '"large" is too large: 5 bytes; the limit is 4 bytes.'],
  ['/dev/zero', 10, 'not_a_file', '"/dev/zero" is not a regular file or a pipe.'],
  ['large/x', 10, 'not_found', '"large/x" cannot be read: a part of its path is a file, not a folder.'],
  ['', 2, 'bad_file_name', '"" is not a file name.'],
  ['a\0b', 2, 'bad_file_name', String.raw`"a\u0000b" is not a file name.`],
  ['x'.repeat(300), 10, 'bad_file_name', `"${'x'.repeat(300)}" cannot be read: its name is too long.`],
])(
  '%j cannot be sent, which is a problem that is returned, never a wait',
  async (path, exitCode, code, message) => {
    const cwd = temporaryFolder()
    writeFiles(cwd, { 'sub/a': '', empty: '', large: '12345' })
    const problem = await readInputFile(testContext({ cwd }), path, { maxBytes: 4 })
    expect(problem).toMatchObject({ exitCode, code, message })
    expect(await describeInputFile(testContext({ cwd }), path, { maxBytes: 4 })).toEqual(problem)
  },
)

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
  for (const call of [readInputFile, describeInputFile]) {
    const reading = call(context, 'pipe', { headBytes: 3 })
    const writer = await writerOf(path)
    await writer.write('one ')
    await writer.write('two')
    await writer.close()
    const content = Buffer.from('one two')
    const described = { path: 'pipe', bytes: 7, head: Buffer.from('one'), content }
    expect(await reading).toEqual(call === readInputFile ? content : described)
  }
})

test.each([
  ['', { code: 'empty_file', message: '"pipe" is empty.' }],
  [
    '12345',
    { code: 'file_too_large', message: '"pipe" is too large: more than 4 bytes; the limit is 4 bytes.' },
  ],
])('a pipe that gives %j is refused, without more being read than wanted', async (bytes, problem) => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe', { maxBytes: 4 })
  const writer = await writerOf(path)
  await writer.write(bytes)
  // Of what is too much, the end is not waited for.
  if (bytes === '') await writer.close()
  expect(await reading).toMatchObject({ exitCode: 2, ...problem })
  if (bytes !== '') await writer.close()
})

test('a pipe without a writer is abandoned after 180 seconds', async () => {
  const { context, path } = pipe()
  const reading = readInputFile(context, 'pipe')
  const writer = await writerOf(path)
  while (context.clock.pendingTimers === 0) await setImmediate()
  await context.clock.advance(179_999)
  expect(context.clock.pendingTimers).toBe(1)
  await context.clock.advance(1)
  const message = 'No data arrived from the pipe "pipe" within 180 s.'
  expect(await reading).toMatchObject({ exitCode: 2, code: 'input_silent', message })
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
  const problem = { exitCode: 10, code: 'not_a_file', message: '"pipe" is not a regular file.' }
  expect(await readInputFile(pipe().context, 'pipe', { pipes: false })).toMatchObject(problem)
})

test('a file that grows while it is read is read to its end, but not beyond the limit', async () => {
  const cwd = temporaryFolder()
  const growing = (maxBytes: number) => {
    writeFiles(cwd, { a: 'abc' })
    // Called between the look at its size and the reading.
    const refuse = () => void appendFileSync(join(cwd, 'a'), 'd'.repeat(100_000))
    return readInputFile(testContext({ cwd }), 'a', { maxBytes, refuse })
  }
  expect((await growing(200_000)) as Buffer).toHaveLength(100_003)
  expect(await growing(50_000)).toMatchObject({ code: 'file_too_large' })
})

test.each([
  ['EACCES', 'permission_denied', '"a" cannot be read: permission denied.'],
  ['EMFILE', 'read_failed', '"a" cannot be read: too many files are open on this machine.'],
])('%s is the fault of the disk', (system, code, message) => {
  const problem = readError(Object.assign(new Error(system), { code: system }), 'a')
  expect(problem).toMatchObject({ exitCode: 10, code, message })
})
