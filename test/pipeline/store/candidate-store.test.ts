import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { OutputFacts } from '../../../src/pipeline/lock/lock-block.ts'
import { projectOf } from '../../../src/pipeline/project.ts'
import { openCandidates, type CandidateRecord } from '../../../src/pipeline/store/candidate-store.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

const key = 'a'.repeat(64)
const digestOf = (content: string) => createHash('sha256').update(content).digest('hex')

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

const recordOf = (
  outputs: readonly OutputFacts[],
  changes: Partial<CandidateRecord> = {},
): CandidateRecord => ({
  instance: 'hero',
  key,
  variant: 2,
  state: 'candidate',
  reasons: [],
  result: {
    outputs,
    model: 'gpt-image-2',
    origin: null,
    request_id: 'req_1',
    job_id: null,
    usage: { total_tokens: 1 },
    took_s: 1.5,
  },
  ...changes,
})

function setUp() {
  const folder = temporaryFolder()
  const project = projectOf(join(folder, 'modelgate.yaml'), false)
  const candidates = openCandidates(testContext({ cwd: folder }), project)
  writeFiles(folder, { 'work/hero.png': 'one', 'work/hero-2.png': 'two' })
  const files = [join(folder, 'work/hero.png'), join(folder, 'work/hero-2.png')]
  const record = recordOf([output('hero.png', 'one'), output('art/hero.png', 'two')])
  return { folder, root: join(folder, '.modelgate/candidates'), candidates, files, record }
}

test('a result comes back with its files, and lies where a person can look at it', async () => {
  const { root, candidates, files, record } = setUp()
  const added = await candidates.add(record, files)
  expect(added).toEqual({
    ...record,
    files: [join(root, key, '1-hero.png'), join(root, key, '2-hero.png')],
  })
  expect(await candidates.get(key)).toEqual(added)
  expect(await candidates.list()).toEqual([added])
  expect(added.files.map((path) => readFileSync(path, 'utf8'))).toEqual(['one', 'two'])
  expect(readdirSync(join(root, key)).toSorted()).toEqual(['1-hero.png', '2-hero.png', 'record.json'])
  writeFileSync(files[0]!, 'edited')
  expect(await candidates.get(key)).toEqual(added)
})

test('a text may have any line breaks', async () => {
  const { folder, candidates } = setUp()
  writeFiles(folder, { 'work/a.md': 'One\r\nTwo\r\n' })
  const record = recordOf([output('a.md', 'One\nTwo\n', 'text/markdown')])
  const added = await candidates.add(record, [join(folder, 'work/a.md')])
  expect(readFileSync(added.files[0]!, 'utf8')).toBe('One\r\nTwo\r\n')
  expect(await candidates.get(key)).toEqual(added)
})

test('a name that is as long as any, or that of the record', async () => {
  const { folder, candidates } = setUp()
  const long = `${'x'.repeat(251)}.png`
  writeFiles(folder, { 'work/a': 'one' })
  const paths = [join(folder, 'work/a'), join(folder, 'work/a')]
  await candidates.add(recordOf([output(long, 'one'), output('record.json', 'one')]), paths)
  expect((await candidates.get(key))?.files.map((path) => readFileSync(path, 'utf8'))).toEqual(['one', 'one'])
})

test('nothing is made by looking', async () => {
  const { folder, candidates } = setUp()
  expect(await candidates.get(key)).toBeUndefined()
  expect(await candidates.get('..')).toBeUndefined()
  expect(await candidates.list()).toEqual([])
  await candidates.remove(key)
  await candidates.remove('../../work')
  expect(readdirSync(folder)).toEqual(['work'])
})

test('the same result is kept once; another one of its key puts it aside', async () => {
  const { root, candidates, files, record } = setUp()
  await candidates.add(record, files)
  await candidates.add(record, files)
  expect(readdirSync(root)).toEqual([key])
  const rejected = { ...record, state: 'rejected', reasons: ['It is too small.'] } as const
  expect(await candidates.add(rejected, files)).toMatchObject({ state: 'rejected' })
  await candidates.add(record, files)
  expect(readdirSync(root).toSorted()).toEqual([key, `${key}.1`, `${key}.2`])
  expect(await candidates.list()).toHaveLength(1)
  expect(readFileSync(join(root, `${key}.1/1-hero.png`), 'utf8')).toBe('one')
})

test('what is removed is gone, with what was put aside; others stay', async () => {
  const { root, candidates, files, record } = setUp()
  const other = 'b'.repeat(64)
  await candidates.add(record, files)
  await candidates.add({ ...record, variant: 3 }, files)
  await candidates.add({ ...record, key: other }, files)
  await candidates.remove(key)
  expect(readdirSync(root)).toEqual([other])
})

test('what a killed process left is not a result, and is in nobody’s way', async () => {
  const { root, candidates, files, record } = setUp()
  writeFiles(root, { [`${key}/1-hero.png`]: 'on', [`${key}/.record.json.0123456789abcdef.mgpart`]: '{' })
  expect(await candidates.get(key)).toBeUndefined()
  await candidates.add(record, files)
  expect(await candidates.get(key)).toMatchObject(record)
  expect(readdirSync(root)).toEqual([key])
})

test('a file that is not what was made is told, and not kept', async () => {
  const { candidates, files, record } = setUp()
  writeFileSync(files[1]!, 'twO')
  await expect(candidates.add(record, files)).rejects.toMatchObject({ exit: 'io', code: 'damaged_copy' })
  expect(await candidates.get(key)).toBeUndefined()
})

describe('a result that is not as it was written counts as absent:', () => {
  const replace = (path: string, make: () => void) => (rmSync(path, { recursive: true }), make())
  const edit = (change: (record: Record<string, unknown>) => void) => (folder: string) => {
    const path = join(folder, 'record.json')
    const record = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>
    change(record)
    writeFileSync(path, JSON.stringify(record))
  }
  const spoil: Readonly<Record<string, (folder: string) => void>> = {
    'a flipped file': (folder) => writeFileSync(join(folder, '2-hero.png'), 'twO'),
    'swapped files'(folder) {
      renameSync(join(folder, '1-hero.png'), join(folder, 'x'))
      renameSync(join(folder, '2-hero.png'), join(folder, '1-hero.png'))
      renameSync(join(folder, 'x'), join(folder, '2-hero.png'))
    },
    'a missing file': (folder) => rmSync(join(folder, '1-hero.png')),
    'a link to the file'(folder) {
      renameSync(join(folder, '1-hero.png'), join(folder, 'x'))
      symlinkSync('x', join(folder, '1-hero.png'))
    },
    'a folder for a file'(folder) {
      const path = join(folder, '1-hero.png')
      replace(path, () => mkdirSync(path))
    },
    'a pipe for a file'(folder) {
      const path = join(folder, '1-hero.png')
      replace(path, () => execFileSync('mkfifo', [path]))
    },
    'a pipe for the record'(folder) {
      const path = join(folder, 'record.json')
      replace(path, () => execFileSync('mkfifo', [path]))
    },
    'no record': (folder) => rmSync(join(folder, 'record.json')),
    'a cut record'(folder) {
      const path = join(folder, 'record.json')
      writeFileSync(path, readFileSync(path, 'utf8').slice(0, 100))
    },
    'the record of another key': edit((record) => (record['key'] = 'b'.repeat(64))),
    'a record of the future': edit((record) => (record['version'] = 2)),
    'an unknown state': edit((record) => (record['state'] = 'picked')),
    'reasons that are none': edit((record) => (record['reasons'] = [1])),
    'no variant': edit((record) => (record['variant'] = 0)),
    'no instance': edit((record) => delete record['instance']),
    'a result that is none': edit((record) => (record['result'] = { outputs: [] })),
    'an output that leads outside': edit((record) => {
      const { outputs } = record['result'] as { outputs: { path: string }[] }
      outputs[0]!.path = '../../../1-hero.png'
    }),
  }

  test.each(Object.keys(spoil))('%s', async (name) => {
    const { root, candidates, files, record } = setUp()
    await candidates.add(record, files)
    spoil[name]!(join(root, key))
    expect(await candidates.get(key)).toBeUndefined()
    expect(await candidates.list()).toEqual([])
    await candidates.add(record, files)
    expect(await candidates.get(key)).toMatchObject(record)
  })

  test('anything for the record', async () => {
    const { root, candidates, files, record } = setUp()
    await candidates.add(record, files)
    const path = join(root, key, 'record.json')
    const written = readFileSync(path, 'utf8')
    await fc.assert(
      fc.asyncProperty(fc.nat(written.length), fc.nat(20), fc.string(), async (at, length, inserted) => {
        writeFileSync(path, written.slice(0, at) + inserted + written.slice(at + length))
        const found = await candidates.get(key)
        expect([undefined, key]).toContain(found?.key)
      }),
    )
  })
})
