import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseReference } from '../../../src/pipeline/manifest/references.ts'
import { anyText } from '../../support/any-text.ts'

test.each([
  ['@hero', { job: 'hero' }],
  ['@hero#2', { job: 'hero', candidate: 2 }],
  ['@photos[shoe-de]', { job: 'photos', row: 'shoe-de' }],
  ['@photos[red shoe #1/2]#3', { job: 'photos', row: 'red shoe #1/2', candidate: 3 }],
  ['@photos[e\u0301]', { job: 'photos', row: '\u00e9' }],
])('%s', (text, parts) => {
  expect(parseReference(text)).toEqual(parts)
})

test.each([
  'hero',
  '@',
  '@Hero',
  '@-hero',
  '@hero#0',
  '@hero#x',
  '@hero[]',
  '@hero[a',
  '@hero[a]]',
  '@hero#1[a]',
  '@canon/hero',
  '@a/b/c',
  '@../hero',
  '@hero ',
  `@${'a'.repeat(65)}`,
])('%s is no reference', (text) => {
  expect(parseReference(text)).toBeUndefined()
})

test('reads any id of a row', () => {
  fc.assert(
    fc.property(anyText({ minLength: 1 }), (row) => {
      fc.pre(!/[[\]]/.test(row))
      expect(parseReference(`@a[${row}]#7`)).toEqual({ job: 'a', row: row.normalize('NFC'), candidate: 7 })
    }),
  )
})
