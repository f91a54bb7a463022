import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { provenanceOf, type OutputFacts } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { Replaced } from '../../../src/pipeline/store/replaced.ts'
import { Results, writeRecord, type StoredResult } from '../../../src/pipeline/store/results.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { sampleBlock } from '../lock/sample-block.ts'
import { digestOf } from './store-samples.ts'

const key = 'a'.repeat(64)

const output = (path: string, content: string, mediaType = 'image/png'): OutputFacts => ({
  path,
  sha256: digestOf(content),
  bytes: content.length,
  media_type: mediaType,
  width: null,
  height: null,
  seconds: null,
  credentials: false,
})

function setUp() {
  const folder = temporaryFolder()
  const context = testContext({ cwd: folder })
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const replaced = new Replaced(context, project)
  const results = new Results(project, replaced)
  writeFiles(folder, { 'work/a.png': 'one', 'work/b.png': 'two' })
  const made: StoredResult = {
    instance: 'hero',
    key,
    variant: 2,
    result: {
      outputs: [output('1.png', 'one'), output('2.png', 'two')],
      ...provenanceOf(sampleBlock),
    },
    cost: { amount: 1_234n, currency: 'EUR' },
    warnings: ['It is small.'],
    files: [join(folder, 'work/a.png'), join(folder, 'work/b.png')],
  }
  return { folder, project, root: join(folder, '.modelgate/results'), results, replaced, made }
}

test('a result comes back with its files, and says where they lie', async () => {
  const { root, results, made } = setUp()
  await results.take(made)
  const found = (await results.get(key))!
  expect(found).toMatchObject({ instance: 'hero', key, variant: 2, cost: made.cost, warnings: made.warnings })
  expect(found.files).toEqual([join(root, key, '1.png'), join(root, key, '2.png')])
  expect(found.files.map((path) => readFileSync(path, 'utf8'))).toEqual(['one', 'two'])
  expect(found.result.outputs.map(({ path }) => path)).toEqual([
    `.modelgate/results/${key}/1.png`,
    `.modelgate/results/${key}/2.png`,
  ])
  expect(await results.keys()).toEqual([key])
  expect(readdirSync(join(root, key)).toSorted()).toEqual(['1.png', '2.png', 'result.json'])
  expect(readFileSync(join(root, '../version'), 'utf8')).toBe('2\n')
})

test('what is made in its folder is kept with its record, and what an earlier attempt left goes', async () => {
  const { root, results, made } = setUp()
  writeFiles(join(root, key), { '1.png': 'one', '2.png': 'two', 'earlier-1/1.png': 'half' })
  await results.keep(made)
  expect(readdirSync(join(root, key)).toSorted()).toEqual(['1.png', '2.png', 'result.json'])
  expect(await results.get(key)).toMatchObject({ variant: 2 })
})

test.each(['', '{"key": "', '[]'])(
  'a record that a kill has left torn is written again: %j',
  async (torn) => {
    const { root, results, made } = setUp()
    writeFiles(join(root, key), { '1.png': 'one', '2.png': 'two', 'result.json': torn })
    await results.keep(made)
    expect(await results.get(key)).toMatchObject({ key, variant: 2 })
  },
)

test('nothing is made by looking', async () => {
  const { folder, results } = setUp()
  expect([await results.get(key), await results.get('..'), await results.keys()]).toEqual([
    undefined,
    undefined,
    [],
  ])
  await results.putAside(key)
  await results.remove(key)
  expect(readdirSync(folder)).toEqual(['work'])
})

test('another result of its key puts it aside', async () => {
  const { folder, root, results, replaced, made } = setUp()
  await results.take(made)
  await results.take(made)
  expect(await replaced.list()).toEqual([])
  writeFiles(folder, { 'work/c.png': 'three' })
  const outputs = [output('1.png', 'three')]
  await results.take({ ...made, result: { ...made.result, outputs }, files: [join(folder, 'work/c.png')] })
  expect(readdirSync(root)).toEqual([key])
  expect((await results.get(key))!.files.map((path) => readFileSync(path, 'utf8'))).toEqual(['three'])
  for (const content of ['one', 'two']) expect(await replaced.open(digestOf(content))).toBeDefined()
})

test('a file that is not what was made is told, and not kept', async () => {
  const { results, made } = setUp()
  writeFileSync(made.files[1]!, 'twO')
  await expect(results.take(made)).rejects.toMatchObject({ exit: 'io', code: 'result_lost' })
  expect(await results.get(key)).toBeUndefined()
})

describe('a result that is not as it was written counts as absent:', () => {
  const replace = (path: string, make: () => void) => (rmSync(path, { recursive: true }), make())
  const edit = (change: (record: Record<string, unknown>) => void) => (folder: string) => {
    const path = join(folder, 'result.json')
    const record = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    change(record)
    writeFileSync(path, JSON.stringify(record))
  }
  const spoil: Readonly<Record<string, (folder: string) => void>> = {
    'a flipped file': (folder) => writeFileSync(join(folder, '2.png'), 'twO'),
    'a pipe for the record'(folder) {
      const path = join(folder, 'result.json')
      replace(path, () => execFileSync('mkfifo', [path]))
    },
    'no record': (folder) => rmSync(join(folder, 'result.json')),
    'a cut record'(folder) {
      const path = join(folder, 'result.json')
      writeFileSync(path, readFileSync(path, 'utf8').slice(0, 100))
    },
    'the record of another key': edit((record) => (record['key'] = 'b'.repeat(64))),
    'an output that leads outside': edit((record) => {
      const { outputs } = record['result'] as { outputs: { path: string }[] }
      outputs[0]!.path = '../../../work/a.png'
    }),
  }

  test.each(Object.keys(spoil))('%s', async (name) => {
    const { root, results, made } = setUp()
    await results.take(made)
    spoil[name]!(join(root, key))
    expect(await results.get(key)).toBeUndefined()
    await results.take(made)
    expect(await results.get(key)).toMatchObject({ instance: 'hero', key })
  })

  test('anything for the record', async () => {
    const { root, results, made } = setUp()
    await results.take(made)
    const path = join(root, key, 'result.json')
    const written = readFileSync(path, 'utf8')
    await fc.assert(
      fc.asyncProperty(fc.nat(written.length), fc.nat(20), fc.string(), async (at, length, inserted) => {
        writeFileSync(path, written.slice(0, at) + inserted + written.slice(at + length))
        const found = await results.get(key)
        expect([undefined, key]).toContain(found?.key)
      }),
    )
  })
})

test('what a secret could be in is hidden from the record', () => {
  const { folder, made } = setUp()
  writeRecord(folder, made, (text) => text.replaceAll('req_1', '***'))
  expect(readFileSync(join(folder, 'result.json'), 'utf8')).toContain('"request_id": "***"')
})
