import { expect, test } from 'vitest'
import { matchInstances, selectInstances } from '../../../src/pipeline/plan/plan-run.ts'
import { createSampleWorld } from './sample-world.ts'
import { filesField } from '../../support/pipeline-task.ts'

function sampleManifest() {
  const world = createSampleWorld()
  world.define('hero')
  world.define('banner', { fields: { image: filesField('@hero') } })
  world.define('photos[shoe]')
  world.define('photos[boot]')
  world.define('captions[shoe-de]', { fields: { attach: filesField('@photos[shoe]', '@banner') } })
  return world.world().manifest
}

test.each<[string, string[], string[]]>([
  ['nothing is everything', [], ['hero', 'banner', 'photos[shoe]', 'photos[boot]', 'captions[shoe-de]']],
  ['a job', ['hero'], ['hero']],
  ['a job with what it needs', ['banner'], ['hero', 'banner']],
  ['all rows of a job', ['photos'], ['photos[shoe]', 'photos[boot]']],
  [
    'an instance, and what that needs in turn',
    ['captions[shoe-de]'],
    ['hero', 'banner', 'photos[shoe]', 'captions[shoe-de]'],
  ],
  ['a wildcard in the name of a job', ['p*'], ['photos[shoe]', 'photos[boot]']],
  ['a wildcard in a row', ['photos[s*]'], ['photos[shoe]']],
  ['a wildcard for one character', ['photos[?oot]'], ['photos[boot]']],
  ['several', ['hero', 'photos[boot]'], ['hero', 'photos[boot]']],
])('%s', (_, patterns, ids) => {
  expect([...selectInstances(sampleManifest(), patterns)]).toEqual(ids)
})

test('what was named, without what it needs', () => {
  expect([...matchInstances(sampleManifest(), ['captions', 'banner'])]).toEqual([
    'captions[shoe-de]',
    'banner',
  ])
})

test('all names that mean nothing are told at once, with what was probably meant', () => {
  expect(() => selectInstances(sampleManifest(), ['hreo', 'photos[boots]', 'x*', 'hero', '[shoe]'])).toThrow(
    [
      'There is no job "hreo". Did you mean hero?',
      'The job photos has no instance "photos[boots]". Did you mean photos[boot]?',
      'No job matches "x*".',
      'There is no job "[shoe]".',
    ].join('\n'),
  )
})
