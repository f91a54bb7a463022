import { expect, test } from 'vitest'
import * as fc from 'fast-check'
import { parseJsonFlag, parseTextFlag } from '../../../src/commands/shared/request/flag-values.ts'
import type { ModelgateError } from '../../../src/errors.ts'
import { parseSet, setPath } from '../../../src/commands/shared/request/set-path.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'
import { anyText } from '../../support/any-text.ts'
import { runs } from '../../support/sample.ts'

function contextWith(stdin: string) {
  const cwd = temporaryFolder()
  writeFiles(cwd, {
    'a.json': '\uFEFF[1]',
    'windows.json': Buffer.from('\uFEFF{"ä": 2}', 'utf16le'),
    'bad.json': '{\n  "a": [1,\n    oops\n  ]\n}',
    'notes.txt': 'from a file\n',
    empty: '',
    binary: new Uint8Array([0x61, 0xff]),
  })
  return testContext({ cwd, stdin })
}

test.each([
  ['{"a": [true]}', { a: [true] }],
  ['@a.json', [1]],
  ['@windows.json', { ä: 2 }],
  ['@-', 'piped'],
])('JSON as %s', async (value, expected) => {
  expect(await parseJsonFlag(contextWith('"piped"'), '--tools', value)).toEqual(expected)
})

test.each<[string, number, string, string?]>([
  ['@bad.json', 2, '--tools: "bad.json" is not valid JSON: line 3, column 5: expected a value near `oops`.'],
  ['@-', 2, '--tools: standard input is not valid JSON: line 1, column 2:'],
  [
    'high',
    2,
    '--tools is not valid JSON: line 1, column 1: expected',
    'To read JSON from a file: --tools @FILE',
  ],
  ['a.json', 2, '--tools is not valid JSON', 'To read JSON from a file: --tools @a.json'],
  ['@none.json', 10, '--tools: "none.json" cannot be read: it does not exist.'],
  ['@empty', 2, '--tools: "empty" is empty.'],
  ['@', 2, '--tools has no file name after "@".'],
  ['@binary', 2, '--tools: "binary" is not UTF-8 text (byte 0xff at offset 1).'],
])('JSON as %s is refused with the flag and the place', async (value, exitCode, start, hint) => {
  const message = expect.stringContaining(start) as string
  const facts = expect.objectContaining(hint === undefined ? {} : { hint }) as object
  const read = parseJsonFlag(contextWith('{]'), '--tools', value)
  await expect(read).rejects.toMatchObject({ exitCode, message, facts })
})

test('a __proto__ key in a flag reaches no prototype', async () => {
  const value = await parseJsonFlag(contextWith(''), '--body', '{"__proto__": {"polluted": 1}}')
  expect(Object.hasOwn(value as object, '__proto__')).toBe(true)
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

test.each([
  ['plain @ text', 'plain @ text'],
  ['', ''],
  ['@notes.txt', 'from a file\n'],
  [String.raw`\@notes.txt`, '@notes.txt'],
  [String.raw`\n`, String.raw`\n`],
  ['@-', 'piped'],
])('text as %j', async (value, expected) => {
  expect(await parseTextFlag(contextWith('piped'), '--system', value)).toBe(expected)
})

const noFiles = ['@alice, what do you think?', `@${'long '.repeat(1000)}`]

test.each(noFiles)('text that names no file is told about the escape: %.20s', async (value) => {
  const facts = { hint: expect.stringContaining(String.raw`'\@`) as string }
  const read = parseTextFlag(contextWith(''), '--system', value)
  await expect(read).rejects.toMatchObject({ exitCode: 10, facts })
})

test.each<[string, string[], unknown]>([
  ['temperature=0.5', ['temperature'], 0.5],
  ['a.b.0.c="x=y"', ['a', 'b', '0', 'c'], 'x=y'],
  ['a={"b": [1, null]}', ['a'], { b: [1, null] }],
  [String.raw`a\.b.c\=d.e\\f=true`, ['a.b', 'c=d', String.raw`e\f`], true],
  ['a= 1 ', ['a'], 1],
  ['größe.日本=1', ['größe', '日本'], 1],
  [String.raw`a\[0\]=1`, ['a[0]'], 1],
  ['a=[{"b":[1]}]', ['a'], [{ b: [1] }]],
])('%s', (text, path, value) => {
  expect(parseSet(text)).toEqual({ path, value })
})

test.each<[string, string, string?]>([
  ['temperature', '"temperature" has no "=".', 'path.to.field=JSON'],
  ['=1', '"" has an empty name in its path.'],
  ['a..b=1', '"a..b" has an empty name in its path.'],
  ['a.=1', '"a." has an empty name in its path.'],
  ['reasoning.effort=high', 'is not valid JSON: line 1, column 1', `--set 'reasoning.effort="high"'`],
  ['a={b: 1}', 'the value of "a" is not valid JSON: line 1, column 2'],
  ['a=', 'expected a value'],
  ['tools[0].type="x"', '"tools[0].type" has brackets', `--set 'tools.0.type=…'`],
  ['tools[0]["a b"]=1', 'has brackets', `--set 'tools.0.a b=…'`],
  ['tools[]=1', 'has brackets', `--set 'tools.0=…'`],
  ['tools]=1', 'has brackets', 'a number is an index'],
  [`${'a.'.repeat(64)}a=1`, 'the path has 65 names'],
])('%s is refused', (text, message, hint) => {
  const error = errorOf(() => parseSet(text))
  const said = { exitCode: 2, code: 'invalid_request', message: expect.stringContaining(message) as string }
  expect(error).toMatchObject(said)
  expect(error?.facts.hint ?? '').toContain(hint ?? '')
  expect(error?.facts.hint === undefined).toBe(hint === undefined)
})

function errorOf(call: () => unknown): ModelgateError | undefined {
  try {
    call()
  } catch (error) {
    return error as ModelgateError
  }
  return undefined
}

test.each<[object, string[], unknown, object]>([
  [{}, ['a'], 1, { a: 1 }],
  [{}, ['a', 'b', 'c'], 1, { a: { b: { c: 1 } } }],
  [{ a: { b: 1 }, x: 2 }, ['a', 'c'], 3, { a: { b: 1, c: 3 }, x: 2 }],
  [{}, ['tools', '0', 'type'], 'x', { tools: [{ type: 'x' }] }],
  [{ tools: [{ type: 'x' }] }, ['tools', '1'], 'y', { tools: [{ type: 'x' }, 'y'] }],
  [{ tools: [1, 2, 3] }, ['tools', '1'], 9, { tools: [1, 9, 3] }],
  [{ a: {} }, ['a', '0'], 1, { a: { '0': 1 } }],
  [{}, ['a', '1'], 1, { a: { '1': 1 } }],
  [{ a: null }, ['a', 'b'], 1, { a: { b: 1 } }],
  [{ a: 'text' }, ['a'], null, { a: null }],
])('%j with %j set to %j', (body, path, value, expected) => {
  const before = structuredClone(body)
  expect(setPath({ ...body }, path, value)).toEqual(expected)
  expect(body).toEqual(before)
})

test.each<[object, string[], string]>([
  [{ a: 'text' }, ['a', 'b'], '"a" is neither an object nor an array'],
  [{ a: { b: 5 } }, ['a', 'b', '0'], '"a.b" is neither an object nor an array'],
  [{ a: [1] }, ['a', '2'], '"a" is an array of 1, so its index is 0 to 1, not "2"'],
  [{ a: [1] }, ['a', 'length'], 'not "length"'],
  [{ a: [1] }, ['a', '-1'], 'not "-1"'],
  [{ a: [1] }, ['a', '00'], 'not "00"'],
  [{}, ['__proto__', 'a'], 'the name "__proto__" is not allowed'],
  [{}, ['a', 'constructor', 'b'], 'the name "constructor" is not allowed'],
  [{}, ['a', 'prototype'], 'the name "prototype" is not allowed'],
])('%j has no %j', (body, path, message) => {
  expect(() => setPath({ ...body }, path, 1)).toThrow(message)
})

const readBack = (body: unknown, path: readonly string[]) =>
  path.reduce((value, name) => Object.getOwnPropertyDescriptor(value, name)?.value as unknown, body)

const special = '__proto__ constructor prototype 0 1 a toString hasOwnProperty'.split(' ')
const names = fc.oneof(fc.constantFrom(...special), anyText({ minLength: 1, maxLength: 5 }))

test('what was set can be read back, and no prototype ever changes', () => {
  const prototypes = [Object.prototype, Array.prototype, Function.prototype]
  const before = prototypes.map((prototype) => Reflect.ownKeys(prototype))
  fc.assert(
    fc.property(
      fc.dictionary(names, fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>),
      fc.array(names, { minLength: 1, maxLength: 5 }),
      fc.integer(),
      (body, path, value) => {
        const error = errorOf(() => setPath(body, path, value))
        expect(error?.code ?? 'invalid_request').toBe('invalid_request')
        fc.pre(error === undefined)
        expect(readBack(setPath(body, path, value), path)).toBe(value)
      },
    ),
    runs(2000),
  )
  expect(prototypes.map((prototype) => Reflect.ownKeys(prototype))).toEqual(before)
})
