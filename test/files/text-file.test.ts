import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { openTextFile } from '../../src/files/text-file.ts'
import { anyText } from '../support/any-text.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { testContext } from '../support/test-context.ts'
import { runs } from '../support/sample.ts'

test('the file holds exactly the text, however it was cut and flushed', async () => {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.array(anyText()), fc.integer({ min: 1, max: 4 }), async (texts, size) => {
      const name = `file-${count++}`
      const whole = texts.join('')
      const file = await openTextFile(context, name, { force: false })
      for (let at = 0; at < whole.length; at += size) {
        file.write(whole.slice(at, at + size))
        await file.flush()
      }
      const saved = await file.commit()
      const content = await readFile(join(folder, name))
      expect(content).toEqual(Buffer.from(whole))
      expect(saved).toMatchObject({ path: name, bytes: content.length, mime_type: 'text/plain' })
    }),
    runs(25),
  )
})

test('a character whose halves come apart around a real write stays whole', async () => {
  const folder = temporaryFolder()
  const file = await openTextFile(testContext({ cwd: folder }), 'a', { force: false })
  const start = 'x'.repeat(70_000)
  file.write(`${start}\ud83d`)
  await file.flush()
  expect(await sizeOfOnlyFile(folder)).toBe(70_000)
  file.write('\ude00')
  await file.commit()
  expect(await readFile(join(folder, 'a'), 'utf8')).toBe(`${start}😀`)
})

async function sizeOfOnlyFile(folder: string): Promise<number> {
  const [name] = await readdir(folder)
  return (await readFile(join(folder, name!))).length
}

test('discard leaves nothing', async () => {
  const folder = temporaryFolder()
  const file = await openTextFile(testContext({ cwd: folder }), 'a', { force: false })
  file.write('x'.repeat(100_000))
  await file.flush()
  await file.discard()
  expect(await readdir(folder)).toEqual([])
})

test('flush reports a full device', async () => {
  const file = await openTextFile(testContext(), '/dev/full', { force: false })
  file.write('x')
  await expect(file.flush()).rejects.toMatchObject({ exitCode: 10, code: 'no_space' })
  await file.discard()
})
