import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBitWriter, nalUnit } from '../../../../src/sandbox/videos/film/bit-writer.ts'
import * as codes from '../../../../src/sandbox/videos/film/cavlc.ts'

function bitsOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
}

test('Exp-Golomb codes are those of the standard (table 9-2)', () => {
  const out = createBitWriter()
  for (let value = 0; value < 9; value++) out.unsigned(value)
  const first = ['1', '010', '011', '00100', '00101', '00110', '00111', '0001000', '0001001']
  expect(bitsOf(out.bytes()).startsWith(first.join(''))).toBe(true)
  const signed = createBitWriter()
  for (const value of [0, 1, -1, 2, -2]) signed.signed(value)
  expect(bitsOf(signed.bytes())).toMatch(/^10100110010000101/)
})

test('what is written is what can be read, and copied from any bit to any other', () => {
  const values = fc.array(fc.tuple(fc.nat(2 ** 24 - 1), fc.integer({ min: 1, max: 24 })), { maxLength: 4000 })
  fc.assert(
    fc.property(values, fc.nat(), fc.nat(), fc.nat(7), (list, one, other, shift) => {
      const out = createBitWriter()
      let expected = ''
      for (const [value, length] of list) {
        out.bits(value, length)
        expected += (value % 2 ** length).toString(2).padStart(length, '0')
      }
      expect(out.length).toBe(expected.length)
      expect(bitsOf(out.bytes()).slice(0, expected.length)).toBe(expected)
      expect(bitsOf(out.bytes()).slice(expected.length)).toMatch(/^0{0,7}$/)
      const [from, to] = [one, other].map((at) => at % (expected.length + 1)).sort((a, b) => a - b)
      const copy = createBitWriter()
      copy.bits(0, shift)
      copy.copy(out, from!, to!)
      expect(bitsOf(copy.bytes()).slice(shift, copy.length)).toBe(expected.slice(from, to))
    }),
    { numRuns: 50 },
  )
})

test('no unit looks as if another one began in it, and its payload can be had back', () => {
  const payloads = fc.uint8Array({ max: 4, maxLength: 200 })
  fc.assert(
    fc.property(payloads, (payload) => {
      const out = createBitWriter()
      for (const byte of payload) out.bits(byte, 8)
      const unit = nalUnit(0x65, out)
      expect(Buffer.from(unit).toString('hex')).not.toMatch(/^(..)*0000(00|01|02)/)
      const restored: number[] = []
      let zeros = 0
      for (const byte of unit.subarray(1)) {
        if (zeros === 2 && byte === 3) {
          zeros = 0
          continue
        }
        restored.push(byte)
        zeros = byte === 0 ? zeros + 1 : 0
      }
      // The payload ends with a one.
      expect(restored).toEqual([...payload, 0x80])
    }),
    { numRuns: 2000 },
  )
})

const wordOf = ({ value, length }: codes.Code) => value.toString(2).padStart(length, '0')

const { fewAround, someAround, manyAround, chromaDc, zeroCount, chromaDcZeroCount, zeroRun } = codes

test.each<[string, readonly (readonly codes.Code[])[]]>([
  // Of these, all words stand in one table; of the others, each row is one.
  ['few around', [fewAround.flat()]],
  ['some around', [someAround.flat()]],
  ['many around', [manyAround.flat()]],
  ['chroma DC', [chromaDc.flat()]],
  ['zero counts', zeroCount],
  ['chroma DC zero counts', chromaDcZeroCount],
  ['zero runs', zeroRun],
])('no word of %s begins another, and hardly any is unused', (_, tables) => {
  for (const table of tables) {
    const words = table.map(wordOf)
    for (const word of words) {
      expect(words.filter((other) => other.startsWith(word))).toEqual([word])
    }
    const used = table.reduce((sum, { length }) => sum + 2 ** -length, 0)
    expect(used).toBeGreaterThan(0.998)
    expect(used).toBeLessThanOrEqual(1)
  }
})

test('the tables have a word for all there is', () => {
  expect([fewAround, someAround, manyAround].map((table) => table.flat().length)).toEqual([62, 62, 62])
  expect(chromaDc.flat()).toHaveLength(14)
  expect(zeroCount.map((row) => row.length)).toEqual(Array.from({ length: 15 }, (_, at) => 16 - at))
  expect(chromaDcZeroCount.map((row) => row.length)).toEqual([4, 3, 2])
  expect(zeroRun.map((row) => row.length)).toEqual([2, 3, 4, 5, 6, 7, 15])
})
