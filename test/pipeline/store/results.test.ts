import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { provenanceOf } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/blob-store.ts'
import { Results, writeRecord, type StoredResult } from '../../../src/pipeline/store/results.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { factsOf } from '../plan/sample-world.ts'
import { digestOf, fileOf } from './store-samples.ts'

const key = 'a'.repeat(64)

function setUp() {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const replaced = new Replaced(context, project)
  writeFiles(folder, { 'work/a.png': 'one', 'work/b.png': 'two' })
  const outputs = [factsOf('1.png', 'one'), factsOf('2.png', 'two')]
  const made: StoredResult = {
    instance: 'hero',
    key,
    variant: 2,
    result: { outputs, ...provenanceOf(sampleBlock) },
    cost: { amount: 1_234n, currency: 'EUR' },
    warnings: ['It is small.'],
    files: [join(folder, 'work/a.png'), join(folder, 'work/b.png')],
  }
  const root = join(folder, '.modelgate/results')
  const contents = async () => (await results.get(key))?.files.map((path) => readFileSync(path, 'utf8'))
  const results = new Results(project, replaced)
  return { folder, root, results, contents, replaced, made }
}

test('a result comes back with its files, and says where they lie', async () => {
  const { root, results, contents, made } = setUp()
  await results.take(made)
  const found = (await results.get(key))!
  expect(found).toMatchObject({
    instance: 'hero',
    key,
    variant: 2,
    cost: made.cost,
    warnings: made.warnings,
    files: [join(root, key, '1.png'), join(root, key, '2.png')],
    result: {
      outputs: [{ path: `.modelgate/results/${key}/1.png` }, { path: `.modelgate/results/${key}/2.png` }],
    },
  })
  expect(await contents()).toEqual(['one', 'two'])
  expect(await results.keys()).toEqual([key])
  expect(readdirSync(join(root, key)).toSorted()).toEqual(['1.png', '2.png', 'result.json'])
  expect(readFileSync(join(root, '../version'), 'utf8')).toBe('2\n')
})

test.each([
  ['no record', {}],
  ['an empty one', { 'result.json': '' }],
  ['a torn one', { 'result.json': '{"key": "' }],
  ['another JSON', { 'result.json': '[]' }],
])(
  'what is made in its folder is kept where a kill has left %s, and earlier attempts go',
  async (_, left) => {
    const { root, results, made } = setUp()
    writeFiles(join(root, key), { '1.png': 'one', '2.png': 'two', 'earlier-1/1.png': 'half', ...left })
    await results.keep(made)
    expect(readdirSync(join(root, key)).toSorted()).toEqual(['1.png', '2.png', 'result.json'])
    expect(await results.get(key)).toMatchObject({ key, variant: 2 })
  },
)

test('nothing is made by looking', async () => {
  const { folder, results } = setUp()
  for (const name of [key, '..']) expect(await results.get(name)).toBeUndefined()
  expect(await results.keys()).toEqual([])
  await results.putAside(key)
  await results.remove(key)
  expect(readdirSync(folder)).toEqual(['work'])
})

test('another result of its key puts it aside', async () => {
  const { folder, root, results, contents, replaced, made } = setUp()
  await results.take(made)
  await results.take(made)
  expect(await replaced.list()).toEqual([])
  writeFiles(folder, { 'work/c.png': 'three' })
  const outputs = [factsOf('1.png', 'three')]
  await results.take({ ...made, result: { ...made.result, outputs }, files: [join(folder, 'work/c.png')] })
  expect(readdirSync(root)).toEqual([key])
  expect(await contents()).toEqual(['three'])
  for (const content of ['one', 'two']) expect(await replaced.open(digestOf(content))).toBeDefined()
})

test('a file that is not what was made is told, and not kept', async () => {
  const { results, made } = setUp()
  writeFileSync(made.files[1]!, 'twO')
  await expect(results.take(made)).rejects.toMatchObject({ exit: 'io', code: 'result_lost' })
  expect(await results.get(key)).toBeUndefined()
})

const recordIn = (folder: string) => join(folder, 'result.json')
const edit = (from: string, to: string) => (folder: string) => {
  const text = readFileSync(recordIn(folder), 'utf8')
  expect(text).toContain(from)
  writeFileSync(recordIn(folder), text.replace(from, to))
}

test.each<[what: string, spoil: (folder: string) => void]>([
  ['a flipped file', (folder) => writeFileSync(join(folder, '2.png'), 'twO')],
  [
    'a pipe for the record',
    (folder) => (rmSync(recordIn(folder)), execFileSync('mkfifo', [recordIn(folder)])),
  ],
  ['the record of another key', edit(key, 'b'.repeat(64))],
  ['an output that leads outside', edit('"1.png"', '"../../../work/a.png"')],
])('a result that is not as it was written is absent, until it is there again: %s', async (_, spoil) => {
  const { root, results, made } = setUp()
  await results.take(made)
  spoil(join(root, key))
  expect(await results.get(key)).toBeUndefined()
  await results.take(made)
  expect(await results.get(key)).toMatchObject({ instance: 'hero', key })
})

test('a link or a pipe in place of a record is replaced', async () => {
  const { root, results, made } = setUp()
  await results.take(made)
  const [path, elsewhere] = [recordIn(join(root, key)), fileOf('of somebody')]
  for (const plant of [() => symlinkSync(elsewhere, path), () => execFileSync('mkfifo', [path])]) {
    rmSync(path)
    plant()
    await results.keep({ ...made, key })
    expect(readFileSync(elsewhere, 'utf8')).toBe('of somebody')
    expect(await results.get(key)).toMatchObject({ instance: 'hero', key })
  }
})

test('a record with anything in it is that of its key, or absent', async () => {
  const { root, results, made } = setUp()
  await results.take(made)
  const path = recordIn(join(root, key))
  const written = readFileSync(path, 'utf8')
  await fc.assert(
    fc.asyncProperty(fc.nat(written.length), fc.nat(20), fc.string(), async (at, length, inserted) => {
      writeFileSync(path, written.slice(0, at) + inserted + written.slice(at + length))
      expect([undefined, key]).toContain((await results.get(key))?.key)
    }),
  )
})

test('what a secret could be in is hidden from the record', () => {
  const { folder, made } = setUp()
  writeRecord(folder, made, (text) => text.replaceAll('req_1', '***'))
  expect(readFileSync(join(folder, 'result.json'), 'utf8')).toContain('"request_id": "***"')
})
