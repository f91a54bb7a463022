import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageError } from '../../../src/errors.ts'
import { readPart } from '../../../src/pipeline/shards/part.ts'
import { runs } from '../../support/sample.ts'
import { block, leavePart, part, sha256Of, type SamplePart } from './sample-parts.ts'

const sample: SamplePart = {
  index: 2,
  total: 5,
  instances: [
    { id: 'hero', outcome: 'done' },
    { id: 'note', outcome: 'failed', error: { exit: 'partial', code: 'x', message: 'No.', billed: 'no' } },
  ],
  lock: new Map([['hero', block('assets/hero.png', 'hero')]]),
  began: new Map([['old', block('old.png', 'old')]]),
  report: { exit: 'unknown', jobs: ['hero', 'note'] },
}

test('a part is read as it was left', async () => {
  const { project, report, lock } = await part(sample)
  expect(project.stateFolder).toBe(join(project.folder, '.modelgate/parts/2-of-5'))
  expect(lock).toEqual(sample.lock)
  expect(report).toMatchObject({
    shard: { index: 2, total: 5 },
    exit: 'unknown',
    jobs: ['hero', 'note'],
    instances: sample.instances,
  })
})

const lockOf = (folder: string) => readFileSync(join(folder, 'lock.json'), 'utf8')

test.each<[string, (folder: string) => void, string, string]>([
  [
    'no report, as while it runs',
    (folder) => rmSync(join(folder, 'part.json')),
    'part_damaged',
    ' is not a part of a run that has ended: it has no part.json.',
  ],
  [
    'a part of 0.1.0',
    (folder) => {
      rmSync(join(folder, 'part.json'))
      writeFileSync(join(folder, 'report.json'), '{}')
    },
    'part_version',
    ' was left by an older version of modelgate.',
  ],
  [
    'a report that was cut',
    (folder) =>
      writeFileSync(join(folder, 'part.json'), readFileSync(join(folder, 'part.json')).subarray(0, 300)),
    'part_damaged',
    'part.json is not valid JSON: line ',
  ],
  [
    'a report of the future',
    (folder) => editReport(folder, /"version": 2/, '"version": 3'),
    'part_version',
    ' was left by a newer version of modelgate.',
  ],
  [
    'a part of too few',
    (folder) => editReport(folder, '"total": 5', '"total": 1'),
    'part_damaged',
    'part.json is not the report of a part: shard: is not a part of a whole.',
  ],
  [
    'a torn lock',
    (folder) => writeFileSync(join(folder, 'lock.json'), '{'),
    'lock_invalid',
    'lock.json:1:2: the lock is not valid JSON',
  ],
  [
    'a changed lock',
    (folder) => writeFileSync(join(folder, 'lock.json'), lockOf(folder).replace('hero.png', 'hera.png')),
    'part_damaged',
    'lock.json is not what it was: its bytes do not have the digest that the part names.',
  ],
  [
    'a lock of the future',
    (folder) => {
      const text = lockOf(folder).replace('"$version": 1', '"$version": 2')
      editReport(folder, sha256Of(lockOf(folder)), sha256Of(text))
      writeFileSync(join(folder, 'lock.json'), text)
    },
    'lock_newer',
    'lock.json:1: the lock has version 2; this program reads up to 1.',
  ],
])('refuses %s', async (_, spoil, code, message) => {
  const project = await leavePart(sample)
  spoil(project.stateFolder)
  const reading = readPart({ cwd: '/' }, project.stateFolder, project)
  const error: unknown = await reading.catch((reason: unknown) => reason)
  expect(error).toMatchObject({ exit: 'usage', code })
  expect((error as Error).message).toContain(message)
  expect((error as Error).message).toContain(project.stateFolder)
})

function editReport(folder: string, from: string | RegExp, to: string): void {
  const path = join(folder, 'part.json')
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to))
}

test('whatever a file holds, it is a report or refused', async () => {
  const project = await leavePart(sample)
  const path = join(project.stateFolder, 'part.json')
  const text = readFileSync(path, 'utf8')
  const edited = fc
    .tuple(
      fc.nat(text.length),
      fc.nat(20),
      fc.string({ unit: fc.constantFrom('{', '}', '"', ',', '1', 'a', '[', ']') }),
    )
    .map(([at, length, put]) => text.slice(0, at) + put + text.slice(at + length))
  await fc.assert(
    fc.asyncProperty(fc.oneof(edited, fc.json(), fc.string()), async (source) => {
      writeFileSync(path, source)
      const error: unknown = await readPart({ cwd: '/' }, project.stateFolder, project).then(
        () => undefined,
        (reason: unknown) => reason,
      )
      if (error === undefined) return
      expect(error).toBeInstanceOf(UsageError)
      expect(['part_damaged', 'part_version']).toContain((error as UsageError).code)
    }),
    runs(500),
  )
})
