import { chmodSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createImageSaver } from '../../../src/commands/shared/save-image.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

/** Saves so many images, and tells what became of them. */
async function save(cwd: string, folder: string, count = 1) {
  const paths: string[] = []
  const warnings: string[] = []
  const onSaved = ({ path }: { path: string }) => void paths.push(path)
  const onWarning = (message: string) => void warnings.push(message)
  const saver = createImageSaver(testContext({ cwd }), folder, () => 'resp_1', onSaved, onWarning)
  const image = { type: 'image-data', mime_type: 'image/png', base64: png.toString('base64') } as const
  for (let index = 0; index < count; index++) saver.add({ ...image, partial: false })
  const error = await saver.saved().catch((failure: unknown) => failure)
  return { paths, warnings, error }
}

test('images are saved in the folder under names of their own', async () => {
  const cwd = temporaryFolder()
  mkdirSync(join(cwd, 'out'))
  expect(await save(cwd, 'out', 2)).toEqual({
    paths: ['out/modelgate-resp_1-1.png', 'out/modelgate-resp_1-2.png'],
    warnings: [],
    error: undefined,
  })
  expect(readFileSync(join(cwd, 'out/modelgate-resp_1-1.png'))).toEqual(png)
})

test('what is no base64 is not saved, and the rest is', async () => {
  const cwd = temporaryFolder()
  const paths: string[] = []
  const warnings: string[] = []
  const saver = createImageSaver(
    testContext({ cwd }),
    '.',
    () => 'resp_1',
    ({ path }) => void paths.push(path),
    (message) => void warnings.push(message),
  )
  const base64 = png.toString('base64')
  for (const data of ['%%%', `data:image/png;base64,${base64}`, 'https://example.com/a.png', base64]) {
    saver.add({ type: 'image-data', mime_type: 'image/png', base64: data, partial: false })
  }
  await saver.saved()
  expect(paths).toEqual(['modelgate-resp_1-1.png', 'modelgate-resp_1-2.png'])
  for (const path of paths) expect(readFileSync(join(cwd, path))).toEqual(png)
  expect(warnings).toEqual([
    'An image of the reply is not valid base64 and is not saved.',
    'The reply gives an image by its address alone: https://example.com/a.png',
  ])
  expect(saver.unreadable).toBe(1)
})

test.each([
  ['does not exist', () => {}, 'the folder "out" does not exist'],
  ['is a file', (cwd: string) => writeFiles(cwd, { out: '' }), 'not a folder'],
])('a folder that %s does not lose what was paid for', async (_, prepare, reason) => {
  const cwd = temporaryFolder()
  prepare(cwd)
  const { paths, warnings, error } = await save(cwd, 'out', 2)
  expect([paths, error]).toEqual([['modelgate-resp_1-1.png', 'modelgate-resp_1-2.png'], undefined])
  expect(warnings).toEqual([expect.stringContaining(reason)])
  expect(warnings[0]).toMatch(/ The image is saved in the working directory instead\.$/)
  expect(readFileSync(join(cwd, 'modelgate-resp_1-2.png'))).toEqual(png)
})

test.skipIf(process.getuid?.() === 0)(
  'a folder that may not be written to does not lose it either',
  async () => {
    const cwd = temporaryFolder()
    mkdirSync(join(cwd, 'out'), { mode: 0o500 })
    expect((await save(cwd, 'out')).paths).toEqual(['modelgate-resp_1-1.png'])
  },
)

test('where nothing can be written it is the fault of the disk, and was billed', async () => {
  const cwd = join(temporaryFolder(), 'gone')
  for (const folder of ['out', '.', cwd]) {
    const { paths, warnings, error } = await save(cwd, folder, 2)
    expect([paths, warnings]).toEqual([[], []])
    expect(error).toMatchObject({
      name: 'FileError',
      exitCode: 10,
      code: 'folder_missing',
      facts: { phase: 'output', billed: 'yes' },
    })
  }
})

test.skipIf(process.getuid?.() === 0)(
  'a working directory that may not be written to is the fault of the disk',
  async () => {
    const cwd = temporaryFolder()
    chmodSync(cwd, 0o500)
    const { error } = await save(cwd, '.')
    chmodSync(cwd, 0o700)
    expect(error).toMatchObject({ exitCode: 10, code: 'permission_denied', facts: { billed: 'yes' } })
    expect(readdirSync(cwd)).toEqual([])
  },
)
