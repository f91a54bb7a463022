import { expect, test } from 'vitest'
import { combineParts, type Whole } from '../../../src/pipeline/shards/combine-parts.ts'
import { block, manifestDigest, part, type SamplePart } from './sample-parts.ts'

const began = new Map([
  ['hero', block('hero.png', 'old hero')],
  ['old', block('copy.png', 'copy')],
  ['teaser', block('teaser.mp4', 'teaser')],
])
const whole: Whole = {
  manifest: manifestDigest,
  lock: began,
  selected: (jobs) => (jobs.length === 0 ? ['hero', 'copy', 'teaser', 'banner'] : jobs),
  placesOf: (id) => [id === 'teaser' ? 'teaser.mp4' : `${id}.png`],
}
const first: SamplePart = {
  index: 1,
  total: 2,
  began,
  instances: [
    { id: 'hero', outcome: 'done' },
    { id: 'banner', outcome: 'failed' },
  ],
  lock: new Map([['hero', block('hero.png', 'hero')]]),
  report: { exit: 'partial' },
}
const second: SamplePart = {
  index: 2,
  total: 2,
  began,
  instances: [
    { id: 'copy', outcome: 'done' },
    { id: 'teaser', outcome: 'unknown' },
  ],
  lock: new Map([['copy', block('copy.png', 'copy')]]),
  report: { exit: 'unknown' },
}

test('has the lock of the whole run', async () => {
  // What was locked as old is copy now.
  expect(combineParts([await part(second), await part(first)], whole)).toEqual(
    new Map([
      ['hero', block('hero.png', 'hero')],
      ['teaser', block('teaser.mp4', 'teaser')],
      ['copy', block('copy.png', 'copy')],
    ]),
  )
})

test('takes the parts of a run of some jobs', async () => {
  const some = { began, report: { jobs: ['hero', 'copy'] } }
  const parts = [
    await part({ index: 1, total: 2, instances: [{ id: 'copy', outcome: 'outdated' }], ...some }),
    await part({ index: 2, total: 2, instances: [{ id: 'hero', outcome: 'done' }], ...some }),
  ]
  expect(combineParts(parts, whole)).toEqual(began)
})

test.each<[string, readonly SamplePart[], string]>([
  ['no parts', [], 'There are no parts to merge.'],
  [
    'another manifest',
    [first, { ...second, report: { ...second.report, manifest: 'a'.repeat(64) } }],
    '2-of-2 was made from another manifest, or from another version of it.',
  ],
  [
    'another lock',
    [first, { ...second, began: new Map() }],
    '2-of-2 began with another lock than the one that is here.',
  ],
  [
    'other jobs',
    [first, { ...second, report: { ...second.report, jobs: ['copy'] } }],
    '2-of-2 was run for other jobs than 1-of-2.',
  ],
  [
    'another total',
    [first, second, { ...second, index: 3, total: 3 }],
    '3-of-3 is part 3 of 3, but 1-of-2 is one of 2.',
  ],
  ['a part twice', [first, first, second], '1-of-2 and 1-of-2 are both part 1 of 2.'],
  ['a missing part', [second], 'Part 1 of 2 is missing.'],
  ['many missing parts', [{ ...first, total: 9 }], 'Parts 2, 3, 4, 5, 6 and 3 more of 9 are missing.'],
  [
    'a missing instance',
    [first, { ...second, instances: [{ id: 'copy', outcome: 'done' }] }],
    'No part has teaser.',
  ],
  [
    'an instance in two parts',
    [first, { ...second, instances: [...second.instances, { id: 'banner', outcome: 'done' }] }],
    '2-of-2 has banner, which 1-of-2 has as well.',
  ],
  [
    'an instance of another manifest',
    [first, { ...second, instances: [...second.instances, { id: 'x', outcome: 'done' }] }],
    '2-of-2 has x, which the manifest does not have.',
  ],
  [
    'a part that was stopped',
    [
      first,
      {
        ...second,
        instances: [
          { id: 'copy', outcome: 'done' },
          { id: 'teaser', outcome: 'left' },
        ],
      },
    ],
    '2-of-2 was stopped early: teaser did not run.',
  ],
])('refuses %s', async (_, samples, message) => {
  const parts = await Promise.all(samples.map(part))
  let error: unknown
  try {
    combineParts(parts, whole)
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ exit: 'usage', code: 'parts_mismatch' })
  expect((error as Error).message.split('\n')[0]).toContain(message)
})

test('refuses a part whose lock is not that of its instances', async () => {
  const [one, two] = [await part(first), await part(second)]
  const other = { ...two, lock: new Map([...two.lock, ['hero', block('x.png', 'x')] as const]) }
  expect(() => combineParts([one, other], whole)).toThrow('2-of-2 locks hero, which it does not report.')
  const misplaced = { ...two, lock: new Map([['copy', block('.github/workflows/x.yml', 'x')]]) }
  expect(() => combineParts([one, misplaced], whole)).toThrow(
    '2-of-2 locks .github/workflows/x.yml, where the manifest has no such output.',
  )
})

test('tells everything that does not fit', async () => {
  const other = { ...second, began: new Map(), report: { manifest: 'a'.repeat(64) } }
  const parts = [await part(first), await part(other)]
  expect(() => combineParts(parts, whole)).toThrow(/another manifest[^]*another lock/)
})
