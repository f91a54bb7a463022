import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPart } from '../../../src/pipeline/shards/part-folder.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { block, leavePart, sha256Of } from './sample-parts.ts'

const hero = block('assets/hero.png', 'hero')
const candidateKey = 'c'.repeat(64)
const leave = () =>
  leavePart({
    index: 2,
    total: 5,
    instances: [
      { id: 'hero', outcome: 'done' },
      { id: 'banner', outcome: 'unknown' },
    ],
    lock: new Map([['hero', hero]]),
    contents: ['hero'],
    journal: '{}\n',
    candidates: { [candidateKey]: 'one' },
    began: new Map([
      ['old', block('old.png', 'old')],
      ['copy', hero],
    ]),
    removed: ['old'],
    report: { exit: 'unknown', jobs: ['hero', 'banner'] },
  })

test('a part is read as it was left', async () => {
  const { project, folder } = await leave()
  expect(folder).toBe(join(project.folder, '.modelgate/parts/2-of-5'))
  expect(readdirSync(join(folder, '..'))).toEqual(['2-of-5'])
  expect(readFileSync(join(folder, 'blobs', sha256Of('hero')), 'utf8')).toBe('hero')
  const { report, lock, candidates } = await readPart(testContext(), folder)
  expect(lock).toEqual(new Map([['hero', hero]]))
  expect(
    candidates.map(({ key, files }) => [key, ...files.map((file) => readFileSync(file, 'utf8'))]),
  ).toEqual([[candidateKey, 'one']])
  expect(report).toMatchObject({
    shard: { index: 2, total: 5 },
    exit: 'unknown',
    jobs: ['hero', 'banner'],
    removed: ['old'],
    instances: [
      { id: 'hero', outcome: 'done' },
      { id: 'banner', outcome: 'unknown' },
    ],
  })
  expect(Object.keys(report.files).toSorted()).toEqual([
    `blobs/${sha256Of('hero')}`,
    'journal.jsonl',
    'lock.json',
  ])
})

test('a part has what its own instances have changed, and nothing else', async () => {
  const { folder } = await leavePart({
    index: 1,
    total: 1,
    instances: [
      { id: 'hero', outcome: 'done' },
      { id: 'copy', outcome: 'done' },
    ],
    began: new Map([['copy', block('copy.png', 'copy')]]),
    lock: new Map([
      ['hero', hero],
      ['of-another-shard', block('x.png', 'x')],
    ]),
    contents: ['hero'],
  })
  const { lock, report } = await readPart(testContext(), folder)
  expect([[...lock.keys()], report.removed]).toEqual([['hero'], []])
})

test('a part takes the place of an earlier one, and of one that was not finished', async () => {
  const root = temporaryFolder()
  const earlier = ['2-of-5', '2-of-5.new'].map((name) => join(root, '.modelgate/parts', name))
  for (const folder of earlier) writeFiles(folder, { 'report.json': '{}', more: '' })
  const { folder } = await leavePart({ index: 2, total: 5, instances: [] }, root)
  expect(folder).toBe(earlier[0])
  expect(readdirSync(folder).toSorted()).toEqual(['lock.json', 'report.json'])
  expect(existsSync(earlier[1]!)).toBe(false)
})

test('a part without the blob that its lock names is not left', async () => {
  const left = leavePart({
    index: 1,
    total: 1,
    instances: [{ id: 'hero', outcome: 'done' }],
    lock: new Map([['hero', hero]]),
  })
  await expect(left).rejects.toMatchObject({ exit: 'io', code: 'blob_missing' })
})

const blob = `blobs/${sha256Of('hero')}`
const spoilt = (name: string) =>
  `${name} is not what it was: its bytes do not have the digest that the part names.`

test.each<[string, (folder: string) => void, string, string]>([
  [
    'no report',
    (folder) => rmSync(join(folder, 'report.json')),
    'part_damaged',
    ' is not a part of a run: it has no report.json.',
  ],
  [
    'a report that was cut',
    (folder) =>
      writeFileSync(join(folder, 'report.json'), readFileSync(join(folder, 'report.json')).subarray(0, 300)),
    'part_damaged',
    'report.json is not valid JSON: line 14, column 11: ',
  ],
  [
    'a report of the future',
    (folder) => editReport(folder, /"version": 1/, '"version": 2'),
    'part_newer',
    'report.json has version 2; this program reads up to 1.',
  ],
  [
    'a name that leads out',
    (folder) => editReport(folder, 'journal.jsonl', '../../../x'),
    'part_damaged',
    'is not the name of a file of a part.',
  ],
  [
    'a part of too few',
    (folder) => editReport(folder, '"total": 5', '"total": 1'),
    'part_damaged',
    'report.json is not the report of a part: shard: is not a part of a whole.',
  ],
  [
    'a torn lock',
    (folder) => writeFileSync(join(folder, 'lock.json'), '{'),
    'part_damaged',
    spoilt('lock.json'),
  ],
  [
    'a lock of the future',
    (folder) => {
      const text = readFileSync(join(folder, 'lock.json'), 'utf8').replace('"$version": 1', '"$version": 2')
      editReport(folder, sha256Of(readFileSync(join(folder, 'lock.json'), 'utf8')), sha256Of(text))
      writeFileSync(join(folder, 'lock.json'), text)
    },
    'lock_newer',
    'lock.json:1: the lock has version 2; this program reads up to 1.',
  ],
  ['a flipped blob', (folder) => writeFileSync(join(folder, blob), 'hEro'), 'part_damaged', spoilt(blob)],
  [
    'no blob',
    (folder) => rmSync(join(folder, blob)),
    'part_damaged',
    `${blob} is missing, or cannot be read.`,
  ],
  [
    'a link in place of a blob',
    (folder) => {
      writeFileSync(join(folder, 'same'), 'hero')
      rmSync(join(folder, blob))
      symlinkSync(join(folder, 'same'), join(folder, blob))
    },
    'part_damaged',
    `${blob} is missing, or cannot be read.`,
  ],
  [
    'a blob under the name of another',
    (folder) => {
      appendFileSync(join(folder, blob), '!')
      editReport(folder, `"${sha256Of('hero')}"`, `"${sha256Of('hero!')}"`)
    },
    'part_damaged',
    spoilt(blob),
  ],
  [
    'a blob that is not listed',
    (folder) => editReport(folder, `blobs/${sha256Of('hero')}`, `blobs/${sha256Of('hero!')}`),
    'part_damaged',
    `${sha256Of('hero!')} is missing, or cannot be read.`,
  ],
  [
    'a changed journal',
    (folder) => appendFileSync(join(folder, 'journal.jsonl'), ' '),
    'part_damaged',
    spoilt('journal.jsonl'),
  ],
  [
    'a changed candidate',
    (folder) => appendFileSync(join(folder, 'candidates', candidateKey, '1-teaser.mp4'), ' '),
    'part_damaged',
    `candidates/${candidateKey} is missing, or not what it was.`,
  ],
])('refuses %s', async (_, spoil, code, message) => {
  const { folder } = await leave()
  spoil(folder)
  const error: unknown = await readPart(testContext(), folder).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ exit: 'usage', code })
  expect((error as Error).message).toContain(message)
  expect((error as Error).message).toContain(folder)
})

function editReport(folder: string, from: string | RegExp, to: string): void {
  const path = join(folder, 'report.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
}
