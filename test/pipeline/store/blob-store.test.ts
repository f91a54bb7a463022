import { appendFileSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/blob-store.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { digestOf, fileOf, spoilings, twoLines } from './store-samples.ts'

function setUp() {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const root = join(project.stateFolder, 'replaced')
  return {
    root,
    store: new Replaced(testContext({ cwd: folder }), project),
    blob: join(root, '2f', twoLines),
  }
}

test('bytes lie under their digest, once, and are a copy', async () => {
  const { root, store, blob } = setUp()
  const path = fileOf('One\nTwo\n')
  expect(await store.add(path, false)).toEqual({ sha256: twoLines, bytes: 8 })
  const { ino } = statSync(blob)
  expect(await store.add(fileOf('One\nTwo\n'), false)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(statSync(blob).ino).toBe(ino)
  expect(await store.list()).toEqual([{ sha256: twoLines, path: blob, bytes: 8 }])
  expect(readdirSync(root)).toEqual(['2f'])
  appendFileSync(path, 'Three\n')
  expect(await store.open(twoLines)).toBe(blob)
})

test.each(['its folder', 'a shelf'])(
  '%s could not be made once: what comes later is stored',
  async (which) => {
    const { root, store, blob } = setUp()
    const [way, entry] = which === 'its folder' ? [join(root, '..'), 'replaced'] : [root, '2f']
    writeFiles(way, { [entry]: 'in the way' })
    await expect(store.add(fileOf('One\nTwo\n'), false)).rejects.toMatchObject({ exitCode: 10 })
    rmSync(join(way, entry))
    await store.add(fileOf('One\nTwo\n'), false)
    expect(await store.open(twoLines)).toBe(blob)
  },
)

test('a store that is gone, and a source that is, are named', async () => {
  const { root, store } = setUp()
  const path = fileOf('One\nTwo\n')
  await store.add(path, false)
  rmSync(root, { recursive: true })
  const isFault = (place: string) => ({ exitCode: 10, message: expect.stringContaining(place) })
  await expect(store.add(path, true)).rejects.toMatchObject(isFault(root))
  rmSync(path)
  await expect(store.add(path, false)).rejects.toMatchObject(isFault(path))
})

test('a text is stored with LF; what is put aside stays as it is', async () => {
  const { store, blob } = setUp()
  const path = fileOf('One\r\nTwo\r\n')
  expect(await store.add(path, true)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(readFileSync(blob, 'utf8')).toBe('One\nTwo\n')
  const { sha256 } = await store.putAside(path)
  expect(readFileSync((await store.open(sha256))!, 'utf8')).toBe('One\r\nTwo\r\n')
})

test.each(spoilings)(
  'a blob that is not what its name says is absent, and replaced: %s',
  async (_, spoil) => {
    const { store, blob } = setUp()
    const path = fileOf('One\nTwo\n')
    await store.add(path, false)
    spoil(blob)
    expect(await store.open(twoLines)).toBeUndefined()
    await store.add(path, false)
    expect(await store.open(twoLines)).toBe(blob)
  },
)

test('a blob that was planted under a digest that nothing has is absent', async () => {
  const { root, store } = setUp()
  await store.putAside(fileOf('x'))
  const planted = 'ab'.repeat(32)
  writeFiles(root, { [`ab/${planted}`]: 'x', 'ab/notes.txt': 'x' })
  expect(await store.open(planted)).toBeUndefined()
  expect((await store.list()).map(({ sha256 }) => sha256)).toEqual([digestOf('x'), planted])
})
