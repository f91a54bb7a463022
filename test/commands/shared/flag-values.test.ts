import { expect, test } from 'vitest'
import { parseJsonFlag, parseTextFlag } from '../../../src/commands/shared/request/flag-values.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

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

test.each([
  [
    '@bad.json',
    2,
    '"bad.json" is not valid JSON: line 3, column 5: expected a value near `oops`.',
    undefined,
  ],
  ['@-', 2, expect.stringMatching(/^standard input is not valid JSON: line 1, column 2:/), undefined],
  [
    'high',
    2,
    'is not valid JSON: line 1, column 1: expected a value near `high`.',
    'To read JSON from a file: --tools @FILE',
  ],
  ['a.json', 2, expect.any(String), 'To read JSON from a file: --tools @a.json'],
  ['@none.json', 10, '"none.json" cannot be read: it does not exist.', undefined],
  ['@empty', 2, '"empty" is empty.', undefined],
  ['@', 2, 'has no file name after "@".', undefined],
  ['@binary', 2, '"binary" is not UTF-8 text (byte 0xff at offset 1).', undefined],
])('JSON as %s is refused with the flag and the place', async (value, exitCode, problem, hint) => {
  const error = await parseJsonFlag(contextWith('{]'), '--tools', value).catch((found: unknown) => found)
  const { message, ...rest } = error as { message: string; facts: { hint?: string } }
  expect([message.replace(/^--tools:? /, ''), hint ?? rest.facts.hint]).toEqual([problem, rest.facts.hint])
  expect(error).toMatchObject({ exitCode })
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

test.each(['@alice, what do you think?', `@${'long '.repeat(1000)}`])(
  'text that names no file is told about the escape: %.20s',
  async (value) => {
    await expect(parseTextFlag(contextWith(''), '--system', value)).rejects.toMatchObject({
      exitCode: 10,
      facts: { hint: expect.stringContaining(String.raw`'\@`) },
    })
  },
)
