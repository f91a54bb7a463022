import { expect, test } from 'vitest'
import { parseJsonFlag, parseTextFlag } from '../../../src/commands/shared/request/request-body.ts'
import { temporaryFolder, writeFiles } from '../../support/temporary-folder.ts'
import { testContext } from '../../support/test-context.ts'

function contextWith(files: Readonly<Record<string, string | Uint8Array>> = {}, stdin?: string) {
  const cwd = temporaryFolder()
  writeFiles(cwd, files)
  return testContext({ cwd, ...(stdin === undefined ? {} : { stdin }) })
}

test('JSON comes inline, from a file in any Unicode encoding, or from standard input', async () => {
  const context = contextWith(
    { 'a.json': '\uFEFF[1]', 'windows.json': Buffer.from('\uFEFF{"ä": 2}', 'utf16le') },
    '"piped"',
  )
  expect(await parseJsonFlag(context, '--tools', '{"a": [true]}')).toEqual({ a: [true] })
  expect(await parseJsonFlag(context, '--tools', '@a.json')).toEqual([1])
  expect(await parseJsonFlag(context, '--tools', '@windows.json')).toEqual({ ä: 2 })
  expect(await parseJsonFlag(context, '--tools', '@-')).toBe('piped')
})

test('invalid JSON is placed by flag, file, line and column', async () => {
  const context = contextWith({ 'a.json': '{\n  "a": [1,\n    oops\n  ]\n}' }, '{]')
  await expect(parseJsonFlag(context, '--tools', '@a.json')).rejects.toMatchObject({
    exitCode: 2,
    code: 'invalid_json',
    message: '--tools: "a.json" is not valid JSON: line 3, column 5: expected a value near `oops`.',
  })
  await expect(parseJsonFlag(context, '--tools', '@-')).rejects.toMatchObject({
    message: expect.stringMatching(/^--tools: standard input is not valid JSON: line 1, column 2:/),
  })
  await expect(parseJsonFlag(context, '--reasoning', 'high')).rejects.toMatchObject({
    message: '--reasoning is not valid JSON: line 1, column 1: expected a value near `high`.',
    facts: { hint: 'To read JSON from a file: --reasoning @FILE' },
  })
  await expect(parseJsonFlag(context, '--tools', 'a.json')).rejects.toMatchObject({
    facts: { hint: 'To read JSON from a file: --tools @a.json' },
  })
})

test('a file that cannot be used is named with its flag', async () => {
  const context = contextWith({ empty: '', binary: new Uint8Array([0x61, 0xff]) })
  const parse = (value: string) => parseJsonFlag(context, '--tools', value)
  await expect(parse('@none.json')).rejects.toMatchObject({
    exitCode: 10,
    code: 'not_found',
    message: '--tools: "none.json" cannot be read: it does not exist.',
  })
  await expect(parse('@empty')).rejects.toMatchObject({ exitCode: 2, message: '--tools: "empty" is empty.' })
  await expect(parse('@')).rejects.toMatchObject({
    exitCode: 2,
    message: '--tools has no file name after "@".',
  })
  await expect(parse('@binary')).rejects.toMatchObject({
    exitCode: 2,
    message: '--tools: "binary" is not UTF-8 text (byte 0xff at offset 1).',
  })
})

test('a __proto__ key in a flag reaches no prototype', async () => {
  const value = await parseJsonFlag(contextWith(), '--body', '{"__proto__": {"polluted": 1}}')
  expect(Object.hasOwn(value as object, '__proto__')).toBe(true)
  expect(({} as { polluted?: number }).polluted).toBeUndefined()
})

test('text is itself, a file after "@", or starts with "@" after a backslash', async () => {
  const context = contextWith({ 'notes.txt': 'from a file\n' }, 'piped')
  const text = (value: string) => parseTextFlag(context, '--system', value)
  expect(await text('plain @ text')).toBe('plain @ text')
  expect(await text('')).toBe('')
  expect(await text('@notes.txt')).toBe('from a file\n')
  expect(await text(String.raw`\@notes.txt`)).toBe('@notes.txt')
  expect(await text(String.raw`\n`)).toBe(String.raw`\n`)
  expect(await text('@-')).toBe('piped')
})

test.each(['@alice, what do you think?', `@${'long '.repeat(1000)}`])(
  'text that names no file is told about the escape: %.20s',
  async (value) => {
    await expect(parseTextFlag(contextWith(), '--system', value)).rejects.toMatchObject({
      exitCode: 10,
      facts: { hint: expect.stringContaining(String.raw`'\@`) },
    })
  },
)
