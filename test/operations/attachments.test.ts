import { expect, test } from 'vitest'
import { readAttachment } from '../../src/operations/attachments.ts'
import { allInputs } from '../../src/problems.ts'
import { FileError, Interrupted, UsageError } from '../../src/errors.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

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
