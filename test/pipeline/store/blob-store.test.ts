import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/replaced.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { digestOf, fileOf, twoLines } from './store-samples.ts'

function setUp({ isSandbox = false } = {}) {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), isSandbox)
  const root = join(project.stateFolder, 'replaced')
  const store = new Replaced(testContext({ cwd: folder }), project)
  return {
    folder,
    root,
    store,
    has: async (sha256: string) => (await store.open(sha256)) !== undefined,
    pathOf: (sha256: string) => join(root, sha256.slice(0, 2), sha256),
  }
}

test('bytes lie under their digest, once, and are a copy', async () => {
  const { root, store, has, pathOf } = setUp()
  const path = fileOf('One\nTwo\n')
  expect(await store.add(path, false)).toEqual({ sha256: twoLines, bytes: 8 })
  const { ino } = statSync(pathOf(twoLines))
  expect(await store.add(fileOf('One\nTwo\n'), false)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(statSync(pathOf(twoLines)).ino).toBe(ino)
  expect(await store.open(twoLines)).toBe(pathOf(twoLines))
  expect(await store.list()).toEqual([{ sha256: twoLines, path: pathOf(twoLines), bytes: 8 }])
  expect(readdirSync(root)).toEqual(['2f'])
  appendFileSync(path, 'Three\n')
  expect(await has(twoLines)).toBe(true)
})

test('a text is stored with LF; what is put aside stays as it is', async () => {
  const { store, pathOf } = setUp()
  const path = fileOf('One\r\nTwo\r\n')
  expect(await store.add(path, true)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(readFileSync(pathOf(twoLines), 'utf8')).toBe('One\nTwo\n')
  const { sha256 } = await store.putAside(path)
  expect(readFileSync((await store.open(sha256))!, 'utf8')).toBe('One\r\nTwo\r\n')
})

describe('a blob that is not what its name says counts as absent, and is replaced:', () => {
  const spoil: Readonly<Record<string, (path: string) => void>> = {
    'flipped, with the old time': (path) => {
      const { atime, mtime } = statSync(path)
      writeFileSync(path, 'One\nTwO\n')
      utimesSync(path, atime, mtime)
    },
    cut: (path) => writeFileSync(path, 'One\n'),
    'swapped for another blob': (path) => writeFileSync(path, 'other'),
    'a link to the right bytes'(path) {
      renameSync(path, `${path}-2`)
      symlinkSync(`${path}-2`, path)
    },
    'a folder'(path) {
      rmSync(path)
      mkdirSync(join(path, 'inner'), { recursive: true })
    },
    'a pipe'(path) {
      rmSync(path)
      execFileSync('mkfifo', [path])
    },
    gone: (path) => rmSync(path),
  }

  test.each(Object.keys(spoil))('%s', async (name) => {
    const { store, has, pathOf } = setUp()
    const path = fileOf('One\nTwo\n')
    await store.add(path, false)
    spoil[name]!(pathOf(twoLines))
    expect(await has(twoLines)).toBe(false)
    await store.add(path, false)
    expect(await has(twoLines)).toBe(true)
    expect(statSync(pathOf(twoLines)).isFile()).toBe(true)
  })

  test('planted under a digest that nothing has', async () => {
    const { root, store, has } = setUp()
    await store.putAside(fileOf('x'))
    const planted = 'ab'.repeat(32)
    writeFiles(root, { [`ab/${planted}`]: 'x', 'ab/notes.txt': 'x' })
    expect(await has(planted)).toBe(false)
    expect((await store.list()).map(({ sha256 }) => sha256)).toEqual([digestOf('x'), planted])
  })
})
