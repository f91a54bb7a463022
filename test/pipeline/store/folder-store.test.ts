import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/context.ts'
import { openByteSource, openSharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { failing, withFsHook } from '../../support/fs-faults.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { digestOf, fetched, spoilings, twoLines } from './store-samples.ts'

const network = { connection: {}, allowHttp: false }
const contextIn = (cwd: string) => ({ ...testContext({ cwd }), clock: systemClock })
const open = (cwd: string, location: string) => openSharedStore(contextIn(cwd), location, network)

async function setUp() {
  const folder = temporaryFolder()
  writeFiles(folder, { source: 'One\nTwo\n' })
  mkdirSync(join(folder, 'share'))
  const blob = join(folder, 'share', twoLines.slice(0, 2), twoLines)
  return { folder, source: join(folder, 'source'), blob, store: await open(folder, 'share') }
}

test('bytes travel through a folder under their digest, and are written once', async () => {
  const { store, source, blob, folder } = await setUp()
  expect(store.shown).toBe('share')
  expect(await fetched(store, twoLines)).toBeUndefined()
  expect(await store.put(source, twoLines)).toBe(true)
  const { ino } = statSync(blob)
  expect(await store.put(source, twoLines)).toBe(false)
  expect(await (await open('/', join(folder, 'share'))).put(source, twoLines)).toBe(false)
  expect(statSync(blob).ino).toBe(ino)
  expect(await fetched(store, twoLines, 8)).toBe('One\nTwo\n')
  expect(await fetched(store, twoLines, 7)).toBeUndefined()
  expect(readdirSync(join(folder, 'share'), { recursive: true })).toEqual(['2f', join('2f', twoLines)])
})

test.each(spoilings)('what is not what its name says is absent, and replaced: %s', async (_, spoil) => {
  const { store, source, blob } = await setUp()
  await store.put(source, twoLines)
  spoil(blob)
  expect(await fetched(store, twoLines)).toBeUndefined()
  await store.put(source, twoLines)
  expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
})

test('no name leads out of the folder', async () => {
  const { store } = await setUp()
  for (const name of ['../source', '', '..', twoLines.toUpperCase(), `${twoLines}/../../../source`]) {
    expect(await fetched(store, name)).toBeUndefined()
  }
})

test('a file that is not what was read first is not stored for it', async () => {
  const { store, source } = await setUp()
  await expect(store.put(source, digestOf('x'))).rejects.toMatchObject({
    code: 'source_changed',
    exitCode: 10,
  })
  expect(await fetched(store, digestOf('x'))).toBeUndefined()
  await expect(store.put('/nowhere/at/all', digestOf('y'))).rejects.toMatchObject({ code: 'not_found' })
})

test.skipIf(process.platform === 'win32').each([
  [0o2770, 0o2770, 0o660],
  [0o777, 0o777, 0o666],
  [0o700, 0o700, 0o600],
])('who may use the folder may use what is made in it: %o', async (mode, folderMode, fileMode) => {
  const { source, blob, folder } = await setUp()
  chmodSync(join(folder, 'share'), mode)
  await (await open(folder, 'share')).put(source, twoLines)
  const modes = [dirname(blob), blob].map((path) => statSync(path).mode & 0o7777)
  expect(modes).toEqual([folderMode, fileMode])
})

// Only root may give a folder to any group.
test.skipIf(process.getuid?.() !== 0)(
  'what is made in a folder is of its group, whatever that of the file',
  async () => {
    const { source, blob, folder } = await setUp()
    chownSync(join(folder, 'share'), 0, 12_345)
    chownSync(source, 0, 54_321)
    await (await open(folder, 'share')).put(source, twoLines)
    expect([dirname(blob), blob].map((path) => statSync(path).gid)).toEqual([12_345, 12_345])
  },
)

test.skipIf(process.getuid?.() === 0)('a folder that cannot be written to is read', async () => {
  const { store, source, folder } = await setUp()
  await store.put(source, twoLines)
  chmodSync(join(folder, 'share'), 0o500)
  expect(await fetched(await openByteSource(contextIn(folder), 'share', network), twoLines)).toBe(
    'One\nTwo\n',
  )
  await expect(open(folder, 'share')).rejects.toMatchObject({ exitCode: 10 })
})

test('a file system without permissions will do', async () => {
  const { store, source } = await setUp()
  // Not the permissions of a new file: they would be set.
  chmodSync(source, 0o600)
  await withFsHook(failing('chmod', 'EPERM'), async () => {
    await store.put(source, twoLines)
    expect(await fetched(store, twoLines)).toBe('One\nTwo\n')
  })
})

test('many writers at once leave whole blobs and nothing else', async () => {
  const { folder } = await setUp()
  const contents = Array.from({ length: 20 }, (_, at) => `content ${at}`)
  writeFiles(folder, Object.fromEntries(contents.map((content) => [digestOf(content), content])))
  const stores = await Promise.all(Array.from({ length: 4 }, () => open(folder, 'share')))
  const putting = stores.flatMap((store) =>
    contents.map((content) => store.put(join(folder, digestOf(content)), digestOf(content))),
  )
  await Promise.all(putting)
  for (const content of contents) expect(await fetched(stores[0]!, digestOf(content))).toBe(content)
  const names = readdirSync(join(folder, 'share'), { recursive: true, encoding: 'utf8' })
  expect(names.filter((name) => name.includes('mgpart'))).toEqual([])
})

test.each([
  ['share/none', 'store_missing', 2],
  ['source', 'config_invalid', 2],
  ['source/none', 'not_found', 10],
  [' ', 'config_invalid', 2],
  // A drive of Windows is no scheme.
  ['D:/share', 'store_missing', 2],
])('a folder has to be there: %s', async (location, code, exitCode) => {
  const { folder } = await setUp()
  await expect(open(folder, location)).rejects.toMatchObject({ code, exitCode })
})
