import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { SavedFile } from '../../src/events/text.ts'
import { createImageSaver } from '../../src/operations/text-images.ts'
import { pngBytes } from '../support/image-bytes.ts'
import { temporaryFolder, writeFiles } from '../support/temporary-folder.ts'
import { rescuedIn } from '../program/images/image-run.ts'
import { testContext } from '../support/test-context.ts'

const png = pngBytes()

/** Saves images, and tells what became of them. */
async function save(cwd: string, folder: string, images: readonly (string | Buffer)[], isHomeless = false) {
  const files: SavedFile[] = []
  const warnings: string[] = []
  const state = temporaryFolder()
  const context = testContext({ cwd, env: { MODELGATE_STATE_DIR: isHomeless ? '' : state }, home: '' })
  const call = {
    context,
    listener: { event() {}, flush: async () => {} },
    redactor: { text: (text: string) => text, document: (json: string) => json },
    rescueFolder: isHomeless ? undefined : join(state, 'rescued'),
  }
  const saver = createImageSaver(call, folder, files, (message) => void warnings.push(message))
  for (const image of images) {
    const base64 = typeof image === 'string' ? image : image.toString('base64')
    await saver.save([{ type: 'image-data', mime_type: 'image/png', base64, partial: false }], 'resp_1')
  }
  const rescued = [...rescuedIn(state)]
  const paths = files.map(({ path }) => path)
  return { paths, warnings, error: saver.failure(false), some: saver.failure(true), rescued }
}

test('images are saved in the folder under names of their own', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'out'))
  const paths = ['out/modelgate-resp_1-1.png', 'out/modelgate-resp_1-2.png']
  const expected = { paths, warnings: [], error: undefined, rescued: [] }
  expect(await save(cwd, 'out', [png, png])).toMatchObject(expected)
  expect(readFileSync(join(cwd, paths[0]!))).toEqual(png)
})

test('what is no base64 is not saved, and the rest is', async () => {
  const cwd = temporaryFolder()
  const data = ['%%%', `data:image/png;base64,${png.toString('base64')}`, 'https://example.com/a.png', png]
  const { paths, warnings, some } = await save(cwd, '.', data)
  expect(paths).toEqual(['modelgate-resp_1-1.png', 'modelgate-resp_1-2.png'])
  for (const path of paths) expect(readFileSync(join(cwd, path))).toEqual(png)
  expect(warnings).toEqual([
    'An image of the reply is not valid base64 and is not saved.',
    'The reply contains only the URL of an image: https://example.com/a.png',
  ])
  expect(some).toMatchObject({ exitCode: 12, code: 'some_failed' })
})

test('a folder that is a file does not lose what was paid for', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { out: '' })
  const { paths, warnings, error, rescued } = await save(cwd, 'out', [png, png])
  expect([paths, warnings.length]).toEqual([[], 2])
  expect(warnings[0]).toMatch(/not a folder.* It is kept in "\/.*-modelgate-resp_1-1\.png" instead\.$/)
  expect(rescued).toEqual([
    ['modelgate-resp_1-1.png', png],
    ['modelgate-resp_1-2.png', png],
  ])
  expect(error).toMatchObject({ exitCode: 10, code: 'not_found', facts: { phase: 'output', billed: 'yes' } })
  expect(error!.facts.rescued?.length).toBe(2)
})

test('where nothing can be written it is the fault of the disk, and was billed', async () => {
  const cwd = temporaryFolder()
  writeFiles(cwd, { out: '' })
  const { paths, warnings, error } = await save(cwd, 'out', [png, png], true)
  expect(paths).toEqual([])
  expect(warnings[0]).toMatch(/It could not be rescued either: There is no folder for it/)
  const facts = { phase: 'output', billed: 'yes' }
  expect(error).toMatchObject({ name: 'FileError', exitCode: 10, code: 'not_found', facts })
})

test('an image that is not whole is kept apart, and told', async () => {
  const cwd = temporaryFolder()
  const half = png.subarray(0, -20)
  const { paths, warnings, error } = await save(cwd, '.', [half])
  const message =
    'An image of the reply is damaged: the PNG data ends too early. It is kept as "modelgate-resp_1-1.damaged.png".'
  expect([paths, warnings]).toEqual([[], [message]])
  expect(error).toMatchObject({ exitCode: 8, code: 'damaged_media', message, facts: { billed: 'yes' } })
  expect(readFileSync(join(cwd, 'modelgate-resp_1-1.damaged.png'))).toEqual(half)
})
