import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesFrom, linesFromEnd, type Line } from '../../src/files/sealed-lines.ts'
import { runs } from '../support/sample.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('lines in which a text stands are found as by reading all of them, wherever they begin', () => {
  const path = join(temporaryFolder(), 'lines')
  // Some are longer than the block of 256 KiB that is read at once.
  const anyLine = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'b', 'ü'), minLength: 1, maxLength: 6 }),
    fc
      .tuple(fc.integer({ min: 1, max: 300_000 }), fc.constantFrom('', 'ab'))
      .map(([n, end]) => 'x'.repeat(n) + end),
  )
  fc.assert(
    fc.property(fc.array(anyLine, { maxLength: 8 }), fc.constantFrom('\n', ''), (lines, end) => {
      writeFileSync(path, lines.join('\n') + end)
      let start = 0
      const expected = (end === '' ? lines.slice(0, -1) : lines).flatMap((line) => {
        const found = line.includes('ab') ? [[start, line]] : []
        start += Buffer.byteLength(line) + 1
        return found
      })
      const all = (found: Iterable<Line>) =>
        Array.from(found, ({ start, bytes }) => [start, bytes.toString()])
      expect(all(linesFrom(path, 0, Buffer.from('ab')))).toEqual(expected)
      writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
      expect(all(linesFromEnd(path))).toEqual(all(linesFrom(path)).toReversed())
    }),
    runs(100),
  )
})
