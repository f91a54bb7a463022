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

test.each<[string, number, string, string?]>([
  ['@bad.json', 2, '--tools: "bad.json" is not valid JSON: line 3, column 5: expected a value near `oops`.'],
  ['@-', 2, '--tools: standard input is not valid JSON: line 1, column 2:'],
  [
    'high',
    2,
    '--tools is not valid JSON: line 1, column 1: expected a value near `high`.',
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
