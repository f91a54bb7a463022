import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLineBuffer } from '../../../src/gateway/events/event-reader.ts'

test('passes every character on once, in order, and only whole lines', () => {
  const piece = fc.string({ unit: fc.constantFrom('a', '\n', '\r', '😀') })
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      let passed = ''
      const buffer = createLineBuffer((text) => {
        expect(text).toMatch(/[\r\n]$/)
        passed += text
      })
      for (const text of pieces) buffer.push(text)
      const all = pieces.join('')
      expect(all.startsWith(passed)).toBe(true)
      expect(all.slice(passed.length)).not.toMatch(/[\r\n]/)
      expect(buffer.length).toBe(all.length - passed.length)
    }),
  )
})
