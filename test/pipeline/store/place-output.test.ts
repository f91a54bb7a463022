import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  type BigIntStats,
  type Stats,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectOf } from '../../../src/pipeline/project.ts'
import {
  moveOutput,
  placeOutput,
  removeOutput,
  type Placing,
} from '../../../src/pipeline/store/place-output.ts'
import { Replaced } from '../../../src/pipeline/store/blob-store.ts'
import { withFsHook, type FsHook } from '../../support/fs-faults.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { until } from '../../support/until.ts'
import { factsOf } from '../plan/sample-world.ts'
import { digestOf } from './store-samples.ts'

/** A project with files, and elsewhere a blob that is `new`. */
function setUp(files: Readonly<Record<string, string>> = {}) {
  const [folder, elsewhere] = [temporaryFolder(), temporaryFolder()]
  writeFiles(folder, files)
  writeFiles(elsewhere, { blob: 'new' })
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const context = testContext({ cwd: folder })
  const source = join(elsewhere, 'blob')
  const usual = { source, sha256: digestOf('new'), isText: false, path: 'art/hero.png', mayReplace: [] }
  return {
    folder,
    elsewhere,
    source,
    final: join(folder, 'art/hero.png'),
    read: (path: string) => readFileSync(join(folder, path), 'utf8'),
    list: (path = '') => readdirSync(join(folder, path)).toSorted(),
    link: (target: string, path: string) => symlinkSync(target, join(folder, path)),
    place: (changes: Partial<Placing> = {}) => placeOutput(context, project, { ...usual, ...changes }),
    remove: (path: string) => removeOutput(project, new Replaced(context, project), factsOf(path, 'new')),
    move: (from: string, path = 'art/hero.png') => moveOutput(context, project, { ...usual, from, path }),
  }
}

const badName = { exit: 'io', code: 'bad_file_name' }

test('the bytes are in their place, with the folders that it needs, and nothing else', async () => {
  const { folder, place, source, list, read } = setUp()
  await place({ path: 'art/2026/hero.png' })
  expect([list(), list('art'), list('art/2026')]).toEqual([['art'], ['2026'], ['hero.png']])
  expect(read('art/2026/hero.png')).toBe('new')
  appendFileSync(join(folder, 'art/2026/hero.png'), ' and edited')
  expect(readFileSync(source, 'utf8')).toBe('new')
})

test('a former output is removed, but not through a link out of the folder', async () => {
  const { elsewhere, source, remove, link, list } = setUp({
    'art/old.png': 'new',
    'art/edited.png': 'edited',
    'art/inner.png': 'new',
  })
  link(elsewhere, 'link')
  link('art', 'inner')
  for (const path of ['art/old.png', 'art/edited.png', 'inner/inner.png', 'link/blob']) await remove(path)
  expect(list('art')).toEqual(['edited.png'])
  expect(readFileSync(source, 'utf8')).toBe('new')
})

test('the permissions are those of a new file, or of the one that is replaced', async () => {
  const { source, final, place, folder } = setUp({ other: '' })
  chmodSync(source, 0o400)
  await place()
  expect(statSync(final).mode).toBe(statSync(join(folder, 'other')).mode)
  writeFileSync(final, 'old')
  chmodSync(final, 0o640)
  await place({ mayReplace: [digestOf('old')] })
  expect(statSync(final).mode & 0o777).toBe(0o640)
})

test('a file that is there is kept when it is another one', async () => {
  const { place, read, list } = setUp({ 'art/hero.png': 'edited' })
  await expect(place({ mayReplace: [digestOf('old')] })).rejects.toMatchObject({
    exit: 'outdated',
    code: 'output_changed',
    message: '"art/hero.png" differs from what was made; it is kept.',
  })
  expect([read('art/hero.png'), list('art')]).toEqual(['edited', ['hero.png']])
})

test('a file that is there is left as it is when it has the bytes, of a text with any line breaks', async () => {
  const { final, place } = setUp({ 'art/hero.png': 'One\r\nTwo\r\n' })
  utimesSync(final, 1, 1)
  const text = { sha256: digestOf('One\nTwo\n'), source: '/nowhere' }
  await place({ ...text, isText: true })
  expect(statSync(final).mtimeMs).toBe(1000)
  await expect(place({ ...text, isText: false })).rejects.toMatchObject({ code: 'output_changed' })
})

test.each([{}, { 'art/hero.png': 'old' }])(
  'a file is kept when it appears while the bytes are copied, where there was %j',
  async (before) => {
    const { final, place, read, list } = setUp({ 'art/other.png': '', ...before })
    const placed = place({ mayReplace: Object.values(before).map(digestOf) })
    await until(() => list('art').some((name) => name.endsWith('.mgpart')))
    writeFileSync(final, 'edited')
    await expect(placed).rejects.toMatchObject({ code: 'output_changed' })
    expect([read('art/hero.png'), list('art')]).toEqual(['edited', ['hero.png', 'other.png']])
  },
)

test.each<[what: string, make: (path: string, blob: string) => void]>([
  ['another content', (path) => writeFileSync(path, 'neW')],
  ['a link to the right bytes', (path, blob) => symlinkSync(blob, path)],
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
])('a source that is not what was stored is not used: %s', async (_, make) => {
  const { elsewhere, source, place, list } = setUp()
  make(join(elsewhere, 'spoilt'), source)
  const placed = place({ source: join(elsewhere, 'spoilt') })
  await expect(placed).rejects.toMatchObject({ exit: 'io', code: 'result_lost' })
  expect(list('art')).toEqual([])
})

test('links that lead out of the folder are refused, for folders and files', async () => {
  const { folder, elsewhere, source, place, link } = setUp()
  link(elsewhere, 'art')
  await expect(place()).rejects.toMatchObject({
    ...badName,
    message: `"art/hero.png" cannot be written: "${folder}/art" leads out of the folder of the manifest.`,
  })
  link(source, 'file.png')
  const mayReplace = [digestOf('new'), digestOf('old')]
  await expect(place({ path: 'file.png', mayReplace })).rejects.toMatchObject(badName)
  link(folder, 'self')
  await expect(place({ path: 'self/a.png' })).rejects.toMatchObject(badName)
  expect([readdirSync(elsewhere), readFileSync(source, 'utf8')]).toEqual([['blob'], 'new'])
})

test('links into the folders of Git and of the program are refused', async () => {
  const { place, link } = setUp({ '.git/hooks/x': '', '.modelgate/replaced/x': '' })
  link('.git/hooks', 'hooks')
  link('.modelgate/replaced', 'art')
  await expect(place({ path: 'hooks/post-checkout' })).rejects.toMatchObject(badName)
  await expect(place()).rejects.toMatchObject(badName)
})

test('links within the folder are followed, and stay', async () => {
  const { place, link, read, list } = setUp({ 'real/old.png': 'old' })
  link('real', 'art')
  link('old.png', 'real/hero.png')
  await place({ mayReplace: [digestOf('old')] })
  expect([read('real/old.png'), list('real')]).toEqual(['new', ['hero.png', 'old.png']])
})

test.each(['../hero.png', '/tmp/hero.png', 'art/../../hero.png', '.git/config', '.modelgate/x', ''])(
  'a path that leads out of the folder is refused: %j',
  async (path) => {
    await expect(setUp().place({ path })).rejects.toMatchObject(badName)
  },
)

test('an output that is moved may change the case of its name alone, also where that is the same file', async () => {
  const { folder, move, read, list } = setUp({ 'Hero.png': 'new' })
  expect(await move('Hero.png', 'hero.png')).toBe(true)
  expect(list()).toEqual(['hero.png'])
  linkSync(join(folder, 'hero.png'), join(folder, 'HERO.png'))
  expect(await move('hero.png', 'HERO.png')).toBe(true)
  expect(read('HERO.png')).toBe('new')
})

test('an output that is moved replaces no other file, whose number on a Windows disk may differ in the last digit only', async () => {
  const { move, read } = setUp({ 'old.png': 'new', 'art/hero.png': 'theirs' })
  let files = 0
  const ntfs: FsHook = async (name, call) => {
    const found = (await call()) as Stats | BigIntStats
    if (name !== 'lstat' || !found.isFile()) return found
    const ino = 0x0500_0000_0000_1a40n + BigInt(files++)
    return Object.assign(found, { ino: typeof found.ino === 'bigint' ? ino : Number(ino) })
  }
  expect(await withFsHook(ntfs, () => move('old.png'))).toBe(false)
  expect(read('art/hero.png')).toBe('theirs')
})

test('an output that is moved stays when it is gone or has other bytes', async () => {
  const { move, list, read } = setUp({ 'old.png': 'edited' })
  expect([await move('older/old.png'), await move('old.png')]).toEqual([false, false])
  expect([list(), read('old.png')]).toEqual([['old.png'], 'edited'])
})

test('an output that is moved never replaces another file, nor a link', async () => {
  const { move, link, read } = setUp({ 'old.png': 'new', 'art/hero.png': 'new' })
  expect(await move('old.png')).toBe(false)
  link('../art/hero.png', 'art/link.png')
  expect(await move('old.png', 'art/link.png')).toBe(false)
  expect([read('art/hero.png'), read('old.png')]).toEqual(['new', 'new'])
})

test('an output that is moved never comes from outside, nor goes there', async () => {
  const { elsewhere, move, link } = setUp({ 'old.png': 'new' })
  link(elsewhere, 'out')
  await expect(move('../blob')).rejects.toMatchObject(badName)
  await expect(move('out/blob')).rejects.toMatchObject(badName)
  await expect(move('old.png', 'out/new.png')).rejects.toMatchObject(badName)
})
