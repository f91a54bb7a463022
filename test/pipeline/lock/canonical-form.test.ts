import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalJson, canonicalText } from '../../../src/pipeline/lock/canonical-form.ts'

// RFC 8785, appendix B: the bits of a double, and how it is written.
test.each<[string, string]>([
  ['0000000000000000', '0'],
  ['8000000000000000', '0'],
  ['7fefffffffffffff', '1.7976931348623157e+308'],
  ['c340000000000000', '-9007199254740992'],
  ['44b52d02c7e14af5', '9.999999999999997e+22'],
  ['444b1ae4d6e2ef50', '1e+21'],
  ['3eb0c6f7a0b5ed8d', '0.000001'],
  ['becbf647612f3696', '-0.0000033333333333333333'],
  ['43143ff3c1cb0959', '1424953923781206.2'],
])('the double %s is %s', (bits, json) => {
  expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(json)
})

describe('RFC 8785, section 3.2', () => {
  test('white space and strings', () => {
    const value: unknown = JSON.parse(
      String.raw`{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`,
    )
    expect(canonicalJson(value)).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
  })

  test('members are sorted by UTF-16 units, numbers as names, too', () => {
    const value = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    }
    expect([...canonicalJson(value).matchAll(/:"(\w+)/g)].map(([, word]) => word)).toEqual([
      'Carriage',
      'One',
      'Control',
      'Latin',
      'Euro',
      'Emoji',
      'Hebrew',
    ])
    expect(canonicalJson({ 9: 1, 10: 2 })).toBe('{"10":2,"9":1}')
  })

  test.each([
    ['\ud83d', ''],
    ['The smile of a small blue cup: \ude00', 'f a small blue cup: '],
    [{ 'a\ud800': 1 }, 'a'],
  ])('half of a surrogate pair is refused: %j', (value, before) => {
    const refusal = {
      code: 'wrong_type',
      message: `A text is not valid Unicode: after "${before}" there is half of a surrogate pair.`,
      facts: expect.objectContaining({
        hint: 'Write the character itself instead of an escape such as \\ud83d.',
      }) as object,
    }
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining(refusal) as Error)
  })
})

test('a text enters keys with LF and without a byte-order mark, but with one that is within it', () => {
  expect(canonicalText('\ufeffone\r\ntwo\r\n\ufeffthree\rfour')).toBe('one\ntwo\n\ufeffthree\rfour')
  expect(canonicalText('one\n\ufefftwo')).toBe('one\n\ufefftwo')
})

test('any JSON value keeps its meaning, whatever the order of its members', () => {
  const shuffle = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffle)
    if (typeof value !== 'object' || value === null) return value
    const reversed = Object.entries(value).toReversed()
    return Object.fromEntries(reversed.map(([name, inner]) => [name, shuffle(inner)]))
  }
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const same: unknown = JSON.parse(JSON.stringify(value))
      expect(JSON.parse(canonicalJson(same))).toEqual(same)
      expect(canonicalJson(shuffle(same))).toBe(canonicalJson(same))
    }),
  )
})
