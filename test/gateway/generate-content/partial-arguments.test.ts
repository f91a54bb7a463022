import { expect, test } from 'vitest'
import { PartialArguments } from '../../../src/gateway/generate-content/chunks.ts'
import { prototypes } from '../hostile-values.ts'

function argumentsOf(...pieces: unknown[]): unknown {
  const partial = new PartialArguments()
  for (const piece of pieces) partial.add([piece])
  return partial.value
}

test.for([
  ['$.a', { a: 1 }],
  ['.a', { a: 1 }],
  ['$.a.b', { a: { b: 1 } }],
  ['$.a[0]', { a: [1] }],
  ['$.a[0][1]', { a: [[undefined, 1]] }],
  ["$['a b'].c", { 'a b': { c: 1 } }],
  ['$["a.b"]', { 'a.b': 1 }],
])('puts a value at %s', ([jsonPath, expected]) => {
  expect(argumentsOf({ jsonPath, numberValue: 1 })).toEqual(expected)
})

test('adds to a string, and replaces anything else', () => {
  const value = argumentsOf(
    { jsonPath: '$.a', stringValue: 'x' },
    { jsonPath: '$.a', stringValue: 'y' },
    { jsonPath: '$.b', stringValue: 'x' },
    { jsonPath: '$.b', nullValue: null },
    { jsonPath: '$.c', boolValue: true },
    { jsonPath: '$.c', stringValue: 'z' },
    { jsonPath: '$.d' },
  )
  expect(value).toEqual({ a: 'xy', b: null, c: 'z' })
})

test.for(['', '$', 'a', '$.', '$..a', '$[a]', '$[-1]', '$.a[', "$['a]", '$.a]', '$[*]'])(
  'ignores what is no path: %s',
  (jsonPath) => {
    expect(argumentsOf({ jsonPath, numberValue: 1 })).toEqual({})
  },
)

test.for(['$.__proto__.x', "$['__proto__']['x']", '$.constructor.prototype.x', '$.a.__proto__.x'])(
  'reaches no prototype by %s',
  (jsonPath) => {
    const before = prototypes()
    expect(argumentsOf({ jsonPath, numberValue: 1 })).toEqual({})
    expect(prototypes()).toEqual(before)
  },
)

test.for([-1, 1e9, 'x'])('does not take %s from the gateway as the length of an array', (numberValue) => {
  const value = argumentsOf({ jsonPath: '$.a[0]', numberValue: 1 }, { jsonPath: '$.a.length', numberValue })
  expect(value).toEqual({ a: [1] })
})

test('keeps arrays and depth within bounds', () => {
  const value = argumentsOf({ jsonPath: '$.a[999999999]', numberValue: 1 }) as { a?: unknown[] }
  expect(value.a?.length ?? 0).toBeLessThanOrEqual(1024)
  const deep = argumentsOf({ jsonPath: `$${'.a'.repeat(100_000)}`, numberValue: 1 })
  expect(JSON.stringify(deep).length).toBeLessThan(1_000)
})
