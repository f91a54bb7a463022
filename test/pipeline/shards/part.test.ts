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

const noReport = '/part.json is not the report of a part'
const changed = '/lock.json is not what it was'

test.each<[file: string, from: string, to: string | null, message: string]>([
  ['part.json', '', null, ' is not a part of a run that has ended: it has no part.json.'],
  [
    'part.json',
    '"version": 2',
    '"version": 3',
    `${noReport}: version: is that of another version of modelgate.`,
  ],
  ['part.json', '"version": 2', '"version": [', '/part.json is not valid JSON'],
  ['part.json', '"billed": "no"', '"billed": 1', `${noReport}: instances.1.error.billed: `],
  ['lock.json', 'hero.png', 'hera.png', `${changed}: its bytes do not have the digest that the part names.`],
])('refuses a part whose %s has for %j %j', async (file, from, to, message) => {
  const project = await leavePart(sample)
  const path = join(project.stateFolder, file)
  const text = readFileSync(path, 'utf8')
  expect(text).toContain(from)
  if (to === null) rmSync(path)
  else writeFileSync(path, text.replace(from, to))
  await expect(readPart('/', project.stateFolder, project)).rejects.toMatchObject({
    exit: 'usage',
    code: 'lock_invalid',
    message: expect.stringContaining(`${project.stateFolder}${message}`),
  })
})

test('a part of 0.1.0 is named as such', async () => {
  const project = await leavePart(sample)
  rmSync(join(project.stateFolder, 'part.json'))
  writeFileSync(join(project.stateFolder, 'report.json'), '{}')
  const reading = readPart('/', project.stateFolder, project)
  await expect(reading).rejects.toMatchObject({ exit: 'usage', code: 'other_version' })
})

const began = new Map([
  ['hero', block('hero.png', 'old hero')],
  ['old', block('copy.png', 'copy')],
  ['teaser', block('teaser.mp4', 'teaser')],
])
function unite(...parts: readonly Part[]): Lock {
  const { manifest } = createSampleWorld({
    hero: { output: 'hero.png' },
    copy: { output: 'copy.png' },
    teaser: { output: 'teaser.mp4' },
    banner: {},
  }).world()
  return uniteLocks(parts, { ...manifest, sha256: manifestDigest }, began, 0)
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
const elsewhere = { ...second, report: { manifest: 'a'.repeat(64) } }

test('takes of a part what it has of its own instances, where the manifest has them', async () => {
  const lock = new Map([
    ['hero', block('hero.png', 'x')],
    ['copy', block('.github/workflows/x.yml', 'copy')],
    ['other', block('other.png', 'x')],
  ])
  expect(Object.fromEntries(unite(await part(first), await part({ ...second, lock })))).toEqual({
    hero: block('hero.png', 'hero'),
    copy: block('copy.png', 'copy'),
    teaser: block('teaser.mp4', 'teaser'),
  })
})

test.each<[string, readonly SamplePart[], string]>([
  ['another manifest', [first, elsewhere], '2-of-2 was made from another manifest, or'],
  ['another lock', [first, { ...second, began: new Map() }], '2-of-2 began with another lock than the one'],
  ['a part twice', [first, first, second], '1-of-2 has hero, banner, which 1-of-2 has as well.'],
  ['a missing part', [second], 'No part has hero, banner; not given: 1/2.'],
  ['an instance twice', [first, also({ id: 'banner' })], '2-of-2 has banner, which 1-of-2 has as well.'],
  ['a stopped one', [first, also({ id: 'x', left: true })], '2-of-2 was stopped early: x did not run.'],
])('refuses %s', async (_, samples, message) => {
  const parts = await Promise.all(samples.map(part))
  const refusal = { exit: 'usage', code: 'lock_invalid', message: expect.stringContaining(message) }
  expect(() => unite(...parts)).toThrow(expect.objectContaining(refusal))
})
