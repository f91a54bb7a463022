import { describe, expect, test } from 'vitest'
import { closingQuote } from '../../src/json.ts'
import { escapeAround, hideSpans, stringsIn } from '../../src/redact/spans.ts'

test.each([
  ['abc', [], 'abc'],
  ['abc', [0, 3], '[hidden]'],
  ['abcdef', [1, 2, 4, 5], 'a[hidden]cd[hidden]f'],
])('of %j the spans %j are hidden: %s', (text, spans, clean) => {
  expect(hideSpans(text, spans)).toBe(clean)
})

test.each<[string, number, { start: number; end: number } | undefined]>([
  [String.raw`a\nb`, 1, undefined],
  [String.raw`a\nb`, 2, { start: 1, end: 3 }],
  [String.raw`a\nb`, 3, undefined],
  [String.raw`\u00e9x`, 1, { start: 0, end: 6 }],
  [String.raw`\u00e9x`, 5, { start: 0, end: 6 }],
  [String.raw`\u00e9x`, 6, undefined],
  [String.raw`\u00`, 4, { start: 0, end: 6 }],
  // A backslash that is escaped begins nothing.
  [String.raw`\\n`, 2, undefined],
  [String.raw`\\n`, 1, { start: 0, end: 2 }],
  [String.raw`\\\n`, 3, { start: 2, end: 4 }],
  ['abc', 0, undefined],
  ['', 0, undefined],
])('around the position in %j, %i, the escape is %j', (text, at, escape) => {
  expect(escapeAround(text, at)).toEqual(escape)
})

describe('in JSON', () => {
  test.each([
    ['"abc"', [1, 4], '"[hidden]"'],
    ['"abcdef"', [2, 3, 5, 6], '"a[hidden]cd[hidden]f"'],
    // No escape is split.
    [String.raw`"\u00e9x"`, [3, 8], '"[hidden]"'],
    [String.raw`"x\u00e9y"`, [1, 4], '"[hidden]y"'],
    [String.raw`"\u00e9"`, [3, 4, 5, 6], '"[hidden][hidden]"'],
    // A number stays one.
    ['{"a":12345}', [6, 8], '{"a":0}'],
    ['[12345]', [2, 3], '[0]'],
    ['[1, -12.5e+3 ,2]', [5, 7], '[1, 0 ,2]'],
    ['12345', [0, 5], '0'],
    ['{"a": 12}', [6, 8], '{"a": 0}'],
    // Digits of something else are text.
    ['"a12345"', [2, 7], '"a[hidden]"'],
    ['"12345"', [1, 6], '"[hidden]"'],
    ['[true1]', [5, 6], '[true[hidden]]'],
    ['[1x]', [1, 2], '[[hidden]x]'],
    ['"abc"', [], '"abc"'],
    // Words between spaces and commas are no number, whatever digits they have.
    ['"a key, b"', [3, 6], '"a [hidden], b"'],
    ['"a 1key, b"', [3, 7], '"a [hidden], b"'],
    ['"a key1, b"', [3, 7], '"a [hidden], b"'],
  ])('of %s the spans %j are hidden: %s', (json, spans, clean) => {
    expect(hideSpans(json, spans, true)).toBe(clean)
  })

  test.each([
    ['"a"b"', 0, 2],
    [String.raw`"a\"b"`, 0, 5],
    [String.raw`"a\\"b"`, 0, 4],
    [String.raw`"\\\""`, 0, 5],
    ['"abc', 0, 4],
    ['x"a"', 1, 3],
  ])('the string in %s at %i ends at %i', (json, start, end) => {
    expect(closingQuote(json, start)).toBe(end)
  })

  const channels = (json: string) =>
    stringsIn(json).map(({ start, end, channel }) => [json.slice(start, end), channel])

  test('each string value has its path', () => {
    expect(channels('{"a":"x","b":["y","z",{"c":"w"}],"d":{"e":"v"}}')).toEqual([
      ['x', '/a '],
      ['y', '/b/0 '],
      ['z', '/b/1 '],
      ['w', '/b/2/c '],
      ['v', '/d/e '],
    ])
    expect(channels('[true, "y"]')).toEqual([['y', '/1 ']])
    expect(channels('"alone"')).toEqual([['alone', ' ']])
    expect(channels('{"a" : "x"}')).toEqual([['x', '/a ']])
    expect(channels('{"a":[["x"],"y"],"b":"z"}')).toEqual([
      ['x', '/a/0/0 '],
      ['y', '/a/1 '],
      ['z', '/b '],
    ])
  })

  test('types, indices and ids tell the texts of a stream apart', () => {
    const delta = (index: number, id = 'i') =>
      `{"type":"delta","index":${index},"item_id":"${id}","delta":"text"}`
    const channelOf = (json: string) => channels(json).at(-1)![1]
    expect(channelOf(delta(1))).toBe('/delta "delta 1 "i')
    expect(channelOf(delta(12))).toBe('/delta "delta 1 2 "i')
    expect(channelOf(delta(1, 'j'))).not.toBe(channelOf(delta(1)))
    expect(channelOf('{"index":0,"delta":"text"}')).toBe('/delta 0')
    expect(channelOf('{"index":9,"delta":"text"}')).toBe('/delta 9')
    expect(channelOf('{"candid":3,"delta":"text"}')).toBe('/delta ')
    expect(channelOf('{"output_index":3,"delta":"text"}')).toBe('/delta 3')
    // Other numbers, such as a sequence, differ from piece to piece.
    expect(channelOf('{"sequence_number":3,"delta":"text"}')).toBe('/delta ')
    expect(channelOf('{"indexes":3,"x_index_":4,"delta":"text"}')).toBe('/delta ')
  })

  test('what is no JSON has what looks like strings', () => {
    expect(channels('a "b" } ] , c "d')).toEqual([
      ['b', ' '],
      ['d', ' '],
    ])
    expect(channels('"a": "b" 1')).toEqual([
      ['a', ' '],
      ['b', ' '],
    ])
    expect(channels('{"a"}')).toEqual([['a', '/ ']])
    expect(channels('')).toEqual([])
  })
})
