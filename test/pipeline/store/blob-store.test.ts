import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
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
import { openReplaced } from '../../../src/pipeline/store/blob-store.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

// printf 'One\nTwo\n' | sha256sum
const twoLines = '2fcfb7830c3bb1c40b0a64f0549acc4c661f7f9f8c39d3b8ecaaf51313670f68'
const digestOf = (content: string | Uint8Array) => createHash('sha256').update(content).digest('hex')

function setUp({ isSandbox = false } = {}) {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), isSandbox)
  const context = testContext({ cwd: folder })
  const pathOf = (sha256: string) => join(project.stateFolder, 'replaced', sha256.slice(0, 2), sha256)
  return { folder, project, context, store: openReplaced(context, project), pathOf }
}

test('bytes lie under their digest, once', async () => {
  const { folder, store, pathOf } = setUp()
  writeFiles(folder, { a: 'One\nTwo\n', b: 'One\nTwo\n' })
  expect(await store.add(join(folder, 'a'), false)).toEqual({ sha256: twoLines, bytes: 8 })
  const { ino } = statSync(pathOf(twoLines))
  expect(await store.add(join(folder, 'b'), false)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(await store.add(Buffer.from('One\nTwo\n'), false)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(statSync(pathOf(twoLines)).ino).toBe(ino)
  expect(await store.open(twoLines)).toBe(pathOf(twoLines))
  expect(await store.has(twoLines)).toBe(true)
  expect(await store.list()).toEqual([{ sha256: twoLines, bytes: 8 }])
  expect(readdirSync(join(folder, '.modelgate/replaced'))).toEqual(['2f'])
})

test('nothing is made by looking', async () => {
  const { folder, store } = setUp()
  expect(await store.has(twoLines)).toBe(false)
  expect(await store.open('../../../etc/passwd')).toBeUndefined()
  expect(await store.list()).toEqual([])
  await store.remove(twoLines)
  await store.remove('..')
  expect(readdirSync(folder)).toEqual([])
})

test('Git is told to leave the folder out, once', async () => {
  for (const isSandbox of [false, true]) {
    const { folder, store } = setUp({ isSandbox })
    await store.add(Buffer.from('x'), false)
    const ignore = join(folder, '.modelgate/.gitignore')
    expect(readFileSync(ignore, 'utf8')).toBe('*\n')
    writeFileSync(ignore, 'store\n')
    await store.add(Buffer.from('y'), false)
    expect(readFileSync(ignore, 'utf8')).toBe('store\n')
  }
})

test('editing the file that was added leaves the blob as it is', async () => {
  const { folder, store } = setUp()
  const path = join(folder, 'a')
  writeFiles(folder, { a: 'One\nTwo\n' })
  await store.add(path, false)
  appendFileSync(path, 'Three\n')
  expect(await store.has(twoLines)).toBe(true)
})

test('a text is stored with LF; what is put aside stays as it is', async () => {
  const { folder, store, pathOf } = setUp()
  writeFiles(folder, { a: 'One\r\nTwo\r\n' })
  const path = join(folder, 'a')
  expect(await store.add(path, true)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(await store.add(Buffer.from('One\r\nTwo\r\n'), true)).toEqual({ sha256: twoLines, bytes: 8 })
  expect(readFileSync(pathOf(twoLines), 'utf8')).toBe('One\nTwo\n')
  const { sha256 } = await store.putAside(path)
  expect(readFileSync((await store.open(sha256))!, 'utf8')).toBe('One\r\nTwo\r\n')
})

test('a file that is removed soon is stored without a copy, unless it has to change on the way', async () => {
  const { folder, store, pathOf } = setUp()
  writeFiles(folder, { 'work/a': 'One\nTwo\n', 'work/b': 'One\nTwo\n', 'work/c': 'One\r\nTwo\r\n' })
  const { ino } = statSync(join(folder, 'work/a'))
  for (const name of ['a', 'a', 'b', 'c']) {
    expect(await store.share(join(folder, 'work', name), true)).toEqual({ sha256: twoLines, bytes: 8 })
    expect(statSync(pathOf(twoLines)).ino).toBe(ino)
  }
  expect(readdirSync(join(folder, 'work'))).toEqual(['a', 'b', 'c'])
  expect(readdirSync(join(folder, '.modelgate/replaced'))).toEqual(['2f'])
  rmSync(join(folder, 'work'), { recursive: true })
  expect(await store.has(twoLines)).toBe(true)
})

test('of a link, what it leads to is stored', async () => {
  const { folder, store, pathOf } = setUp()
  writeFiles(folder, { a: 'One\nTwo\n' })
  symlinkSync('a', join(folder, 'link'))
  await store.share(join(folder, 'link'), false)
  expect(await store.has(twoLines)).toBe(true)
  expect(statSync(pathOf(twoLines)).ino).not.toBe(statSync(join(folder, 'a')).ino)
})

test('a large text keeps its characters and loses every CR before LF', async () => {
  const { folder, store } = setUp()
  const text = 'ä\r\n'.repeat(100_000)
  writeFiles(folder, { a: text })
  const { sha256 } = await store.add(join(folder, 'a'), true)
  expect(sha256).toBe(digestOf(text.replaceAll('\r\n', '\n')))
  expect(await store.has(sha256)).toBe(true)
})

test('what a link leads to is put aside', async () => {
  const { folder, store } = setUp()
  writeFiles(folder, { a: 'One\nTwo\n' })
  symlinkSync('a', join(folder, 'link'))
  expect(await store.putAside(join(folder, 'link'))).toEqual({ sha256: twoLines, bytes: 8 })
})

test('a file that may only be read is stored', async () => {
  const { folder, store } = setUp()
  writeFiles(folder, { a: 'One\nTwo\n' })
  chmodSync(join(folder, 'a'), 0o400)
  await store.add(join(folder, 'a'), false)
  expect(await store.has(twoLines)).toBe(true)
})

describe('a blob that is not what its name says counts as absent, and is replaced:', () => {
  const spoil: Readonly<Record<string, (path: string, folder: string) => void>> = {
    flipped(path) {
      const bytes = readFileSync(path)
      bytes[3]! ^= 1
      writeFileSync(path, bytes)
    },
    'flipped, with the old time': (path) => {
      const { atime, mtime } = statSync(path)
      writeFileSync(path, 'One\nTwO\n')
      utimesSync(path, atime, mtime)
    },
    cut: (path) => writeFileSync(path, 'One\n'),
    longer: (path) => appendFileSync(path, '\n'),
    empty: (path) => writeFileSync(path, ''),
    'swapped for another blob'(path) {
      const other = digestOf('other')
      renameSync(join(dirname(dirname(path)), other.slice(0, 2), other), path)
    },
    'a link to the right bytes'(path, folder) {
      rmSync(path)
      symlinkSync(join(folder, 'a'), path)
    },
    'a link to nothing'(path) {
      rmSync(path)
      symlinkSync('/nowhere', path)
    },
    'a link to a folder'(path, folder) {
      rmSync(path)
      symlinkSync(folder, path)
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
    const { folder, store, pathOf } = setUp()
    writeFiles(folder, { a: 'One\nTwo\n', b: 'other' })
    await store.add(join(folder, 'a'), false)
    await store.add(join(folder, 'b'), false)
    spoil[name]!(pathOf(twoLines), folder)
    expect(await store.open(twoLines)).toBeUndefined()
    expect(await store.has(twoLines)).toBe(false)
    await store.add(join(folder, 'a'), false)
    expect(await store.open(twoLines)).toBe(pathOf(twoLines))
    expect(statSync(pathOf(twoLines)).isFile()).toBe(true)
    expect(readFileSync(join(folder, 'a'), 'utf8')).toBe('One\nTwo\n')
  })

  test('planted under a digest that nothing has', async () => {
    const { folder, store } = setUp()
    await store.add(Buffer.from('x'), false)
    const planted = 'ab'.repeat(32)
    writeFiles(folder, {
      [`.modelgate/replaced/ab/${planted}`]: 'x',
      '.modelgate/replaced/ab/notes.txt': 'x',
    })
    expect(await store.has(planted)).toBe(false)
    expect((await store.list()).map(({ sha256 }) => sha256)).toEqual([digestOf('x'), planted])
    await store.remove(planted)
    expect((await store.list()).map(({ sha256 }) => sha256)).toEqual([digestOf('x')])
  })

  test('whatever one change of its bytes', async () => {
    const { store, pathOf } = setUp()
    const content = Buffer.from('some bytes of a picture')
    const { sha256 } = await store.add(content, false)
    await fc.assert(
      fc.asyncProperty(fc.nat(content.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const changed = Buffer.from(content)
        changed[at]! ^= mask
        writeFileSync(pathOf(sha256), changed)
        expect(await store.has(sha256)).toBe(false)
      }),
    )
    writeFileSync(pathOf(sha256), content)
    expect(await store.has(sha256)).toBe(true)
  })
})

test('many that add the same bytes at once leave one blob and nothing else', async () => {
  const { folder, store } = setUp()
  writeFiles(folder, { a: 'One\nTwo\n' })
  await Promise.all(Array.from({ length: 20 }, () => store.add(join(folder, 'a'), false)))
  expect(readdirSync(join(folder, '.modelgate/replaced'), { recursive: true })).toEqual([
    '2f',
    `2f/${twoLines}`,
  ])
  expect(await store.has(twoLines)).toBe(true)
})

test.each([
  ['missing', 'not_found'],
  ['folder', 'is_folder'],
  ['pipe', 'read_failed'],
])('a source that is no file is told: %s', async (name, code) => {
  const { folder, store } = setUp()
  mkdirSync(join(folder, 'folder'))
  execFileSync('mkfifo', [join(folder, 'pipe')])
  for (const isText of [false, true]) {
    await expect(store.add(join(folder, name), isText)).rejects.toMatchObject({ exit: 'io', code })
    await expect(store.share(join(folder, name), isText)).rejects.toMatchObject({ exit: 'io', code })
  }
  expect(await store.list()).toEqual([])
})

test('what a killed process left is removed after a day', async () => {
  const { folder, store } = setUp()
  const left = join(folder, '.modelgate/replaced/.blob.0123456789abcdef.mgpart')
  writeFiles(folder, { '.modelgate/replaced/.blob.0123456789abcdef.mgpart': 'x' })
  utimesSync(left, 1, 1)
  await store.add(Buffer.from('x'), false)
  expect(readdirSync(dirname(left))).toEqual([digestOf('x').slice(0, 2)])
})
