import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openTextFile } from '../../src/files/text-file.ts'
import { anyText } from '../support/any-text.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { runs } from '../support/sample.ts'

test('the file holds exactly the text', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  let count = 0
  await fc.assert(
    fc.asyncProperty(anyText(), async (text) => {
      const name = `file-${count++}`
      const saved = await (await openTextFile(context, name, { force: false })).commit(text)
      const content = await readFile(join(folder, name))
      expect(content).toEqual(Buffer.from(text))
      expect(saved).toMatchObject({ path: name, bytes: content.length, mime_type: 'text/plain' })
    }),
    runs(25),
  )
})

test('discard leaves nothing, and a full device is told', async () => {
  const folder = temporaryFolder()
  await (await openTextFile(testContext({ cwd: folder }), 'a', { force: false })).discard()
  expect(await readdir(folder)).toEqual([])
  const file = await openTextFile(testContext(), '/dev/full', { force: false })
  await expect(file.commit('x')).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
})
