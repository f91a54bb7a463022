import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
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
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
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
  expect(await store.list()).toEqual([{ sha256: twoLines, bytes: 8 }])
  expect(readdirSync(root)).toEqual(['2f'])
  appendFileSync(path, 'Three\n')
  expect(await has(twoLines)).toBe(true)
})

test('nothing is made by looking', async () => {
  const { folder, store, has } = setUp()
  expect([await has(twoLines), await has('../../../etc/passwd')]).toEqual([false, false])
  expect(await store.list()).toEqual([])
  expect(readdirSync(folder)).toEqual([])
})

test('Git is told to leave the folder out, once', async () => {
  for (const isSandbox of [false, true]) {
    const { folder, store } = setUp({ isSandbox })
    await store.putAside(fileOf('x'))
    const ignore = join(folder, '.modelgate/.gitignore')
    expect(readFileSync(ignore, 'utf8')).toBe('*\n')
    writeFileSync(ignore, 'store\n')
    await store.putAside(fileOf('y'))
    expect(readFileSync(ignore, 'utf8')).toBe('store\n')
  }
})

test('a text is stored with LF; what is put aside stays as it is', async () => {
  const { store, pathOf } = setUp()
  const path = fileOf('One\r\nTwo\r\n')
  expect(await store.add(path, true)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(readFileSync(pathOf(twoLines), 'utf8')).toBe('One\nTwo\n')
  const { sha256 } = await store.putAside(path)
  expect(readFileSync((await store.open(sha256))!, 'utf8')).toBe('One\r\nTwo\r\n')
})

test('what a link leads to is stored, and a file that may only be read', async () => {
  const { folder, store, has } = setUp()
  const path = fileOf('One\nTwo\n')
  chmodSync(path, 0o400)
  symlinkSync(path, join(folder, 'link'))
  await store.add(join(folder, 'link'), false)
  expect(await has(twoLines)).toBe(true)
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

  test('whatever one change of its bytes', async () => {
    const { store, has, pathOf } = setUp()
    const content = Buffer.from('some bytes of a picture')
    const { sha256 } = await store.putAside(fileOf(content))
    await fc.assert(
      fc.asyncProperty(fc.nat(content.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const changed = Buffer.from(content)
        changed[at]! ^= mask
        writeFileSync(pathOf(sha256), changed)
        expect(await has(sha256)).toBe(false)
      }),
    )
  })
})

test('many that add the same bytes at once leave one blob and nothing else', async () => {
  const { root, store, has } = setUp()
  const path = fileOf('One\nTwo\n')
  await Promise.all(Array.from({ length: 20 }, () => store.add(path, false)))
  expect(readdirSync(root, { recursive: true })).toEqual(['2f', join('2f', twoLines)])
  expect(await has(twoLines)).toBe(true)
})

test.each([
  ['missing', 'not_found'],
  ['folder', 'not_a_file'],
  ['pipe', 'read_failed'],
])('a source that is no file is told: %s', async (name, code) => {
  const { folder, store } = setUp()
  mkdirSync(join(folder, 'folder'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  for (const isText of [false, true]) {
    await expect(store.add(join(folder, name), isText)).rejects.toMatchObject({ exit: 'io', code })
  }
  expect(await store.list()).toEqual([])
})

test('what a killed process left is removed after a day', async () => {
  const { root, store } = setUp()
  const left = join(root, '.blob.0123456789abcdef.mgpart')
  writeFiles(root, { '.blob.0123456789abcdef.mgpart': 'x' })
  utimesSync(left, 1, 1)
  await store.add(fileOf('x'), false)
  expect(readdirSync(dirname(left))).toEqual([digestOf('x').slice(0, 2)])
})
