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
import { describe, expect, test } from 'vitest'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/replaced.ts'
import {
  moveOutput,
  removeOutput,
  placeOutput,
  type Placing,
} from '../../../src/pipeline/store/place-output.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { withFsHook, type FsHook } from '../../support/fs-faults.ts'
import { until } from '../../support/until.ts'
import { digestOf } from './store-samples.ts'

function setUp({ isSandbox = false } = {}) {
  const [folder, elsewhere] = [temporaryFolder(), temporaryFolder()]
  writeFiles(elsewhere, { blob: 'new' })
  const source = join(elsewhere, 'blob')
  const project = projectOf(join(folder, 'modelgate.yaml'), isSandbox)
  const context = testContext({ cwd: folder })
  const usual = { source, sha256: digestOf('new'), isText: false, path: 'art/hero.png', mayReplace: [] }
  return {
    folder,
    elsewhere,
    source,
    final: join(folder, 'art/hero.png'),
    place: (changes: Partial<Placing> = {}) => placeOutput(context, project, { ...usual, ...changes }),
    remove: (path: string) => {
      const facts = { bytes: 3, width: null, height: null, seconds: null, credentials: false }
      const output = { path, sha256: digestOf('new'), media_type: 'image/png', ...facts }
      return removeOutput(project, new Replaced(context, project), output)
    },
    move: (from: string, changes: Partial<Placing> = {}) =>
      moveOutput(context, project, { ...usual, from, ...changes }),
  }
}

test('the bytes are in their place, with the folders that it needs, and nothing else', async () => {
  const { folder, place, source } = setUp()
  await place({ path: 'art/2026/hero.png' })
  expect(readdirSync(folder, { recursive: true }).toSorted()).toEqual([
    'art',
    'art/2026',
    'art/2026/hero.png',
  ])
  expect(readFileSync(join(folder, 'art/2026/hero.png'), 'utf8')).toBe('new')
  appendFileSync(join(folder, 'art/2026/hero.png'), ' and edited')
  expect(readFileSync(source, 'utf8')).toBe('new')
})

test('a former output is removed, but not through a link out of the folder', async () => {
  const { folder, elsewhere, remove } = setUp()
  writeFiles(folder, { 'art/old.png': 'new', 'art/edited.png': 'edited' })
  symlinkSync(elsewhere, join(folder, 'link'))
  symlinkSync('art', join(folder, 'inner'))
  writeFiles(folder, { 'art/inner.png': 'new' })
  for (const path of ['art/old.png', 'art/edited.png', 'inner/inner.png', 'link/blob']) await remove(path)
  expect(readdirSync(join(folder, 'art'))).toEqual(['edited.png'])
  expect(readFileSync(join(elsewhere, 'blob'), 'utf8')).toBe('new')
})

test('the permissions are those of a new file, or of the one that is replaced', async () => {
  const { source, final, place, folder } = setUp()
  chmodSync(source, 0o400)
  await place()
  writeFileSync(join(folder, 'other'), '')
  expect(statSync(final).mode).toBe(statSync(join(folder, 'other')).mode)
  writeFileSync(final, 'old')
  chmodSync(final, 0o640)
  await place({ mayReplace: [digestOf('old')] })
  expect(statSync(final).mode & 0o777).toBe(0o640)
})

describe('a file that is there', () => {
  test('is kept when it is another one', async () => {
    const { final, place, folder } = setUp()
    writeFiles(folder, { 'art/hero.png': 'edited' })
    await expect(place({ mayReplace: [digestOf('old')] })).rejects.toMatchObject({
      exit: 'outdated',
      code: 'output_changed',
      message: '"art/hero.png" differs from what was made; it is kept.',
    })
    expect(readFileSync(final, 'utf8')).toBe('edited')
    expect(readdirSync(join(folder, 'art'))).toEqual(['hero.png'])
  })

  test('is left as it is when it has the bytes, of a text with any line breaks', async () => {
    const { final, place, folder } = setUp()
    writeFiles(folder, { 'art/hero.png': 'One\r\nTwo\r\n' })
    utimesSync(final, 1, 1)
    const text = { sha256: digestOf('One\nTwo\n'), source: join(folder, 'none') }
    await place({ ...text, isText: true })
    expect(statSync(final).mtimeMs).toBe(1000)
    await expect(place({ ...text, isText: false })).rejects.toMatchObject({ code: 'output_changed' })
  })

  test.each<[string, string[]]>([
    ['nothing was there', []],
    ['another one was there', ['old']],
  ])('is kept when it appears while the bytes are copied: %s', async (_, before) => {
    const { final, place, folder } = setUp()
    mkdirSync(join(folder, 'art'))
    for (const content of before) writeFileSync(final, content)
    const placed = place({ mayReplace: before.map(digestOf) })
    await until(() => readdirSync(join(folder, 'art')).some((name) => name.endsWith('.mgpart')))
    writeFileSync(final, 'edited')
    await expect(placed).rejects.toMatchObject({ code: 'output_changed' })
    expect(readFileSync(final, 'utf8')).toBe('edited')
    expect(readdirSync(join(folder, 'art'))).toEqual(['hero.png'])
  })
})

describe('a source that is not what was stored is not used:', () => {
  test.each<[string, (elsewhere: string) => string]>([
    ['another content', (elsewhere) => (writeFileSync(join(elsewhere, 'blob'), 'neW'), 'blob')],
    ['a link to the right bytes', (elsewhere) => (symlinkSync('blob', join(elsewhere, 'link')), 'link')],
    ['a pipe', (elsewhere) => (execFileSync('mkfifo', [join(elsewhere, 'pipe')]), 'pipe')],
    ['a folder', (elsewhere) => (mkdirSync(join(elsewhere, 'folder')), 'folder')],
  ])('%s', async (_, make) => {
    const { elsewhere, folder, place } = setUp()
    await expect(place({ source: join(elsewhere, make(elsewhere)) })).rejects.toMatchObject({
      exit: 'io',
      code: 'result_lost',
    })
    expect(readdirSync(join(folder, 'art'))).toEqual([])
  })
})

describe('links', () => {
  test('that lead out of the folder are refused, for folders and files', async () => {
    const { folder, elsewhere, place } = setUp()
    symlinkSync(elsewhere, join(folder, 'art'))
    await expect(place()).rejects.toMatchObject({
      exit: 'io',
      code: 'bad_file_name',
      message: `"art/hero.png" cannot be written: "${folder}/art" leads out of the folder of the manifest.`,
    })
    symlinkSync(join(elsewhere, 'blob'), join(folder, 'file.png'))
    const mayReplace = [digestOf('new'), digestOf('old')]
    await expect(place({ path: 'file.png', mayReplace })).rejects.toMatchObject({ code: 'bad_file_name' })
    symlinkSync(folder, join(folder, 'self'))
    await expect(place({ path: 'self/a.png' })).rejects.toMatchObject({ code: 'bad_file_name' })
    expect(readdirSync(elsewhere)).toEqual(['blob'])
    expect(readFileSync(join(elsewhere, 'blob'), 'utf8')).toBe('new')
  })

  test('into the folders of Git and of the program are refused', async () => {
    const { folder, place } = setUp()
    mkdirSync(join(folder, '.git/hooks'), { recursive: true })
    mkdirSync(join(folder, '.modelgate/replaced'), { recursive: true })
    symlinkSync('.git/hooks', join(folder, 'hooks'))
    symlinkSync('.modelgate/replaced', join(folder, 'art'))
    await expect(place({ path: 'hooks/post-checkout' })).rejects.toMatchObject({ code: 'bad_file_name' })
    await expect(place()).rejects.toMatchObject({ code: 'bad_file_name' })
  })

  test('within the folder are followed, and stay', async () => {
    const { folder, place } = setUp()
    writeFiles(folder, { 'real/old.png': 'old' })
    symlinkSync('real', join(folder, 'art'))
    symlinkSync('old.png', join(folder, 'real/hero.png'))
    await place({ mayReplace: [digestOf('old')] })
    expect(readFileSync(join(folder, 'real/old.png'), 'utf8')).toBe('new')
    expect(readdirSync(join(folder, 'real')).toSorted()).toEqual(['hero.png', 'old.png'])
  })
})

test.each(['../hero.png', '/tmp/hero.png', 'art/../../hero.png', '.git/config', '.modelgate/x', ''])(
  'a path that leads out of the folder is refused: %j',
  async (path) => {
    const { place } = setUp()
    await expect(place({ path })).rejects.toMatchObject({ exit: 'io', code: 'bad_file_name' })
  },
)

test('what a killed process left is removed after a day', async () => {
  const { folder, place } = setUp()
  const left = join(folder, 'art/.hero.png.0123456789abcdef.mgpart')
  writeFiles(folder, { 'art/.hero.png.0123456789abcdef.mgpart': 'ne' })
  utimesSync(left, 1, 1)
  await place()
  expect(readdirSync(join(folder, 'art'))).toEqual(['hero.png'])
})

describe('an output that is moved', () => {
  test('may change the case of its name alone, also where that is the same file', async () => {
    const { folder, move } = setUp()
    writeFiles(folder, { 'Hero.png': 'new' })
    expect(await move('Hero.png', { path: 'hero.png' })).toBe(true)
    expect(readdirSync(folder)).toEqual(['hero.png'])
    linkSync(join(folder, 'hero.png'), join(folder, 'HERO.png'))
    expect(await move('hero.png', { path: 'HERO.png' })).toBe(true)
    expect(readFileSync(join(folder, 'HERO.png'), 'utf8')).toBe('new')
  })

  test('replaces no other file whose number on a Windows disk differs in the last digit only', async () => {
    const { folder, move } = setUp()
    writeFiles(folder, { 'old.png': 'new', 'art/hero.png': 'theirs' })
    let files = 0
    const ntfs: FsHook = async (name, call) => {
      const found = (await call()) as object
      if (name !== 'lstat' || !('isFile' in found) || !(found as BigIntStats).isFile()) return found
      const ino = 0x0500_0000_0000_1a40n + BigInt(files++)
      return Object.assign(found, {
        ino: typeof (found as Stats | BigIntStats).ino === 'bigint' ? ino : Number(ino),
      })
    }
    expect(await withFsHook(ntfs, () => move('old.png'))).toBe(false)
    expect(readFileSync(join(folder, 'art/hero.png'), 'utf8')).toBe('theirs')
  })

  test('stays when it is gone or has other bytes', async () => {
    const { folder, move } = setUp()
    expect(await move('old/old.png')).toBe(false)
    expect(readdirSync(folder)).toEqual([])
    writeFiles(folder, { 'old.png': 'edited' })
    expect(await move('old.png')).toBe(false)
    expect(readFileSync(join(folder, 'old.png'), 'utf8')).toBe('edited')
  })

  test('never replaces another file, nor a link', async () => {
    const { folder, final, move } = setUp()
    writeFiles(folder, { 'old.png': 'new', 'art/hero.png': 'new' })
    expect(await move('old.png')).toBe(false)
    symlinkSync('../art/hero.png', join(folder, 'art/link.png'))
    expect(await move('old.png', { path: 'art/link.png' })).toBe(false)
    expect(readFileSync(final, 'utf8')).toBe('new')
    expect(readFileSync(join(folder, 'old.png'), 'utf8')).toBe('new')
  })

  test('never comes from outside, nor goes there', async () => {
    const { folder, elsewhere, move } = setUp()
    await expect(move('../blob')).rejects.toMatchObject({ code: 'bad_file_name' })
    symlinkSync(elsewhere, join(folder, 'out'))
    await expect(move('out/blob')).rejects.toMatchObject({ code: 'bad_file_name' })
    writeFiles(folder, { 'old.png': 'new' })
    await expect(move('old.png', { path: 'out/new.png' })).rejects.toMatchObject({ code: 'bad_file_name' })
  })
})
