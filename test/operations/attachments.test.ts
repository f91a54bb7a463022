import { expect, test } from 'vitest'
import { readAttachment } from '../../src/operations/attachments.ts'
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
  for (const name of ['data:1', 'a:b'])
    expect(await readAttachment(testContext({ cwd }), name)).toMatchObject({ kind: 'file' })
})
