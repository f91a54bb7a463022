import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Lock } from '../../../src/pipeline/lock/lock-block.ts'
import { readPart, uniteLocks, type Part, type PartInstance } from '../../../src/pipeline/shards/part.ts'
import { createSampleWorld } from '../plan/sample-world.ts'
import { block, leavePart, manifestDigest, part, type SamplePart } from './sample-parts.ts'

const sample: SamplePart = {
  index: 2,
  total: 5,
  instances: [
    { id: 'hero' },
    { id: 'note', error: { exit: 'partial', code: 'x', message: 'No.', billed: 'no' } },
  ],
  lock: new Map([['hero', block('assets/hero.png', 'hero')]]),
  began: new Map([['old', block('old.png', 'old')]]),
  report: { jobs: ['hero', 'note'] },
}

const edit = (name: string, from: string, to: string) => (folder: string) => {
  const path = join(folder, name)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(from)
  writeFileSync(path, text.replace(from, to))
}

test.each<[string, (folder: string) => void, string]>([
  [
    'no report, as while it runs',
    (folder) => rmSync(join(folder, 'part.json')),
    ' is not a part of a run that has ended: it has no part.json.',
  ],
  [
    'a report of the future',
    edit('part.json', '"version": 2', '"version": 3'),
    ' is not the report of a part: version: is that of another version of modelgate.',
  ],
  ['no text', edit('part.json', '"version": 2', '"version": ['), ' is not valid JSON'],
  [
    'an error that is none',
    edit('part.json', '"billed": "no"', '"billed": 1'),
    ' is not the report of a part: instances.1.error.billed: ',
  ],
  [
    'a changed lock',
    edit('lock.json', 'hero.png', 'hera.png'),
    'lock.json is not what it was: its bytes do not have the digest that the part names.',
  ],
])('refuses %s', async (_, spoil, message) => {
  const project = await leavePart(sample)
  spoil(project.stateFolder)
  const reading = readPart('/', project.stateFolder, project)
  await expect(reading).rejects.toMatchObject({ exit: 'usage', code: 'lock_invalid' })
  await expect(reading).rejects.toThrow(message)
  await expect(reading).rejects.toThrow(project.stateFolder)
})

const began = new Map([
  ['hero', block('hero.png', 'old hero')],
  ['old', block('copy.png', 'copy')],
  ['teaser', block('teaser.mp4', 'teaser')],
])
function unite(...parts: readonly Part[]): Lock {
  const sample = createSampleWorld()
  for (const id of ['hero', 'copy', 'teaser', 'banner']) {
    sample.define(id, { output: id === 'teaser' ? 'teaser.mp4' : `${id}.png` })
  }
  return uniteLocks(parts, { ...sample.world().manifest, sha256: manifestDigest }, began, 0)
}

const first: SamplePart = {
  index: 1,
  total: 2,
  began,
  instances: [{ id: 'hero' }, { id: 'banner' }],
  lock: new Map([['hero', block('hero.png', 'hero')]]),
}
const second: SamplePart = {
  index: 2,
  total: 2,
  began,
  instances: [{ id: 'copy' }, { id: 'teaser' }],
  lock: new Map([['copy', block('copy.png', 'copy')]]),
}

test('has the lock of the whole run', async () => {
  // What was locked as old is copy now.
  expect(unite(await part(second), await part(first))).toEqual(
    new Map([
      ['hero', block('hero.png', 'hero')],
      ['teaser', block('teaser.mp4', 'teaser')],
      ['copy', block('copy.png', 'copy')],
    ]),
  )
})

const also = (one: PartInstance): SamplePart => ({ ...second, instances: [...second.instances, one] })

test('takes of a part what it has of its own instances, where the manifest has them', async () => {
  const lock = new Map([
    ['hero', block('hero.png', 'x')],
    ['copy', block('.github/workflows/x.yml', 'copy')],
    ['other', block('other.png', 'x')],
  ])
  const united = unite(await part(first), await part({ ...second, lock }))
  expect(united.get('hero')).toEqual(block('hero.png', 'hero'))
  expect(united.get('copy')).toEqual(block('copy.png', 'copy'))
  expect(united.has('other')).toBe(false)
})

test.each<[string, readonly SamplePart[], string]>([
  [
    'another manifest',
    [first, { ...second, report: { manifest: 'a'.repeat(64) } }],
    '2-of-2 was made from another manifest, or from another version of it.',
  ],
  [
    'another lock',
    [first, { ...second, began: new Map() }],
    '2-of-2 began with another lock than the one that is here.',
  ],
  ['a part twice', [first, first, second], '1-of-2 has hero, banner, which 1-of-2 has as well.'],
  ['a missing part', [second], 'No part has hero, banner; not given: 1/2.'],
  [
    'an instance in two parts',
    [first, also({ id: 'banner' })],
    '2-of-2 has banner, which 1-of-2 has as well.',
  ],
  [
    'a part that was stopped',
    [first, also({ id: 'x', left: true })],
    '2-of-2 was stopped early: x did not run.',
  ],
])('refuses %s', async (_, samples, message) => {
  const parts = await Promise.all(samples.map(part))
  let error: unknown
  try {
    unite(...parts)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ exit: 'usage', code: 'lock_invalid' })
  expect((error as Error).message.split('\n')[0]).toContain(message)
})
