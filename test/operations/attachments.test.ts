import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { attachBytes, readAttachment } from '../../src/operations/attachments.ts'
import { allInputs } from '../../src/problems.ts'
import { FileError, Interrupted, UsageError } from '../../src/errors.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')

test('a file is attached with the type of its bytes, whatever its name says', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'sub/picture.jpg': png, 'notes.md': '# Notes', 'odd.bin': new Uint8Array([0, 1, 2]) })
  const context = testContext({ cwd })
  const picture = await readAttachment(context, 'sub/picture.jpg')
  expect(picture).toMatchObject({ kind: 'file', name: 'picture.jpg', mediaType: 'image/png', bytes: 16 })
  expect(picture.kind === 'file' && Buffer.from(picture.base64(), 'base64')).toEqual(png)
  expect(await readAttachment(context, 'notes.md')).toMatchObject({ mediaType: 'text/plain' })
  expect(await readAttachment(context, 'odd.bin')).toMatchObject({ mediaType: 'application/octet-stream' })
  const url = pathToFileURL(join(cwd, 'notes.md')).href
  expect(await readAttachment(context, url)).toMatchObject({ kind: 'file', name: 'notes.md' })
})

test('bytes without a name are attached under one that fits their type', () => {
  const facts = { kind: 'file', name: 'stdin.png', mediaType: 'image/png', bytes: 16 }
  expect(attachBytes('stdin', png)).toMatchObject(facts)
})

test.each([
  ['https://example.com/a/b.PNG?size=1', 'image/png'],
  ['http://example.com/', undefined],
  ['gs://bucket/video.mp4', 'video/mp4'],
])('the URL %s is passed on', async (url, mediaType) => {
  expect(await readAttachment(testContext(), url)).toEqual({ kind: 'url', url, mediaType })
})

test.each(['ftp://host/a.png', 's3://bucket/key', 'data:image/png;base64,AAAA', 'HTTPX://a'])(
  'the URL %s is of a kind that is not taken',
  async (url) => {
    await expect(readAttachment(testContext(), url)).rejects.toMatchObject({
      exitCode: 2,
      code: 'invalid_request',
      message: expect.stringContaining('is not a kind of URL that can be attached'),
      facts: { hint: expect.stringMatching(/https:, http: or gs:.*file:/) },
    })
  },
)

test('a file may have a colon in its name', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { 'data:1': 'x', 'a:b': 'x' })
  expect(await readAttachment(testContext({ cwd }), 'data:1')).toMatchObject({ kind: 'file' })
  expect(await readAttachment(testContext({ cwd }), 'a:b')).toMatchObject({ kind: 'file' })
})

test.each(['https://', 'http://[', 'file://%zz/%00'])('the URL %s is refused', async (url) => {
  await expect(readAttachment(testContext(), url)).rejects.toMatchObject({
    exitCode: 2,
    code: 'invalid_request',
  })
})

test('the problems of several attachments are told together', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { empty: '', good: 'x' })
  const context = testContext({ cwd })
  const read = (names: readonly string[]) => allInputs(names.map((name) => readAttachment(context, name)))
  await expect(read(['good', 'none', 'empty'])).rejects.toMatchObject({
    exitCode: 2,
    message: '"none" cannot be read: it does not exist.\n"empty" is empty.',
    facts: { billed: 'no' },
  })
  await expect(read(['good', 'none'])).rejects.toMatchObject({ code: 'not_found' })
  expect(await read(['good', 'good'])).toHaveLength(2)
})

test('among several problems a mistake outranks the disk, and both are told with their hints', async () => {
  const disk = new FileError('permission_denied', 'A cannot be read.', { hint: 'Change A.' })
  const mistake = new UsageError('B is wrong.', { code: 'invalid_request' })
  await expect(allInputs([Promise.reject(disk), Promise.reject(mistake)])).rejects.toMatchObject({
    exitCode: 2,
    code: 'invalid_request',
    message: 'A cannot be read. Change A.\nB is wrong.',
  })
  await expect(allInputs([Promise.reject(disk), Promise.reject(disk)])).rejects.toMatchObject({
    exitCode: 10,
  })
  const stopped = new Interrupted('interrupt')
  await expect(allInputs([Promise.reject(disk), Promise.reject(stopped)])).rejects.toBe(stopped)
})
