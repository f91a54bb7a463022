import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { saveNewFile } from '../../src/files/save-new-file.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'

const save = (cwd: string, data: string, folder = '.') =>
  saveNewFile(testContext({ cwd }), {
    folder,
    stem: 'picture-1',
    mediaType: 'image/png',
    data: Buffer.from(data),
  })

test('taken names are skipped', async () => {
  const folder = temporaryFolder()
  await writeFile(join(folder, 'picture-1.png'), 'old')
  expect(await save(folder, 'new')).toMatchObject({
    path: 'picture-1-2.png',
    bytes: 3,
    mime_type: 'image/png',
  })
  expect(await readFile(join(folder, 'picture-1.png'), 'utf8')).toBe('old')
})

test('many that save at once all find a name of their own', async () => {
  const folder = temporaryFolder()
  const contents = Array.from({ length: 20 }, (_, index) => `content ${index}`)
  const files = await Promise.all(contents.map((content) => save(folder, content)))
  const read = await Promise.all(files.map(({ path }) => readFile(join(folder, path), 'utf8')))
  expect(read).toEqual(contents)
  expect(await readdir(folder)).toHaveLength(20)
})
