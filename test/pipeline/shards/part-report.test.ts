import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageError } from '../../../src/errors.ts'
import {
  formatPartReport,
  parsePartReport,
  type PartReport,
} from '../../../src/pipeline/shards/part-report.ts'
import { runs } from '../../support/sample.ts'

const digest = 'a'.repeat(64)
const report: PartReport = {
  manifest: digest,
  lock: digest,
  shard: { index: 1, total: 2 },
  jobs: ['hero'],
  exit: 'partial',
  instances: [
    { id: 'hero', outcome: 'done' },
    { id: 'note', outcome: 'failed', error: { exit: 'partial', code: 'x', message: 'No.', billed: 'no' } },
  ],
  removed: ['old'],
  candidates: [digest],
  files: { 'lock.json': digest, [`blobs/${digest}`]: digest },
}

test('a report is read as it was written', () => {
  expect(parsePartReport(formatPartReport(report), 'report.json')).toMatchObject(report)
})

test.each([
  '../lock.json',
  'blobs/../lock.json',
  `blobs/${digest}/x`,
  `Blobs/${digest}`,
  `blobs\\${digest}`,
  '/etc/passwd',
  'report.json',
])('%s is not the name of a file of a part', (name) => {
  const text = formatPartReport(report).replace('"lock.json"', JSON.stringify(name))
  expect(() => parsePartReport(text, 'report.json')).toThrow('report.json is not the report of a part')
})

test('whatever a file holds, it is a report or refused', () => {
  const text = formatPartReport(report)
  const edited = fc
    .tuple(
      fc.nat(text.length),
      fc.nat(20),
      fc.string({ unit: fc.constantFrom('{', '}', '"', ',', '1', 'a', '[', ']') }),
    )
    .map(([at, length, put]) => text.slice(0, at) + put + text.slice(at + length))
  fc.assert(
    fc.property(fc.oneof(edited, fc.json(), fc.string()), (source) => {
      expect(['the same', 'part_damaged', 'part_newer']).toContain(readTwice(source))
    }),
    runs(2000),
  )
})

/** Whether what was read says the same when it is written and read again, or the code of the refusal. */
function readTwice(source: string): string {
  try {
    const read = parsePartReport(source, 'report.json')
    return isDeepStrictEqual(parsePartReport(formatPartReport(read), 'report.json'), read)
      ? 'the same'
      : 'other'
  } catch (error) {
    return error instanceof UsageError ? error.code : String(error)
  }
}
