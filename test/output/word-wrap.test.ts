import { Terminal } from '@xterm/headless'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createOutput } from '../../src/output/create-output.ts'
import { createWordWrap } from '../../src/output/word-wrap.ts'
import { sampleDocument, textDelta } from '../support/output-samples.ts'
import { testContext } from '../support/test-context.ts'
import { breakLine, wrap } from '../../src/output/line-breaks.ts'

function wrapped(text: string, columns: number, pieces: readonly string[] = [text]): string {
  const wrap = createWordWrap(() => columns)
  return pieces.map((piece) => wrap.push(piece)).join('') + wrap.end()
}

/** The rows of a terminal, and which of them go on with the one before. */
async function rowsOf(output: string, columns: number): Promise<string[]> {
  const terminal = new Terminal({ cols: columns, rows: 50, allowProposedApi: true, convertEol: true })
  await new Promise<void>((resolve) => terminal.write(output, resolve))
  const { active } = terminal.buffer
  const lines = Array.from({ length: active.length }, (_, index) => active.getLine(index)!)
  const rows = lines.map((line) => `${line.isWrapped ? '↳' : ''}${line.translateToString(true).trimEnd()}`)
  return rows.slice(0, rows.findLastIndex((row) => row !== '') + 1)
}

test.each<[string, string, readonly string[]]>([
  ['words', 'The longest river of all the rivers', ['The longest river', '↳of all the rivers']],
  [
    'a word that ends at the edge, and one before it',
    'one two three four five\nabcdefghi abcdefghij x',
    ['one two three four', '↳five', 'abcdefghi', '↳abcdefghij x'],
  ],
  ['a word as long as a row', `a ${'b'.repeat(20)} c`, [`a ${'b'.repeat(18)}`, '↳bb c']],
  ['a long address', 'see https://example.com/a/b then', ['see https://example.', '↳com/a/b then']],
  ['wide characters', '日本語のテキストは単語の間に', ['日本語のテキストは単', '↳語の間に']],
  ['a wide character that does not fit', 'a日本語のテキストは単語', ['a日本語のテキストは', '↳単語']],
  ['an indented line', '  - one two three four', ['  - one two three', '↳four']],
  ['a long word after an indent', `  ${'b'.repeat(19)}`, [`  ${'b'.repeat(18)}`, '↳b']],
])('%s at 20 columns', async (_, text, rows) => {
  expect(await rowsOf(wrapped(text, 20), 20)).toEqual(rows)
})

test.each<[string, string]>([
  ['fenced code', '```sh\necho "one   two" three four five\n```'],
  ['code in an inner fence', '````\n```\none two three four five\n```\none two three four five\n````'],
  ['indented code', '    echo one two three four five'],
  ['a table', '| one two | three four | five six |'],
  ['JSON', '{"a": "one two three four five six"}'],
  ['a list in JSON', '["one two three four five six seven"]'],
  ['a tab', 'one\ttwo three four five six seven'],
  ['joined emoji, which terminals measure differently', '👩‍👩‍👧 one two three four five six seven'],
])('%s is left to the terminal', (_, text) => {
  expect(wrapped(text, 20)).toBe(text)
})

test('after a block of code words are wrapped again, and brackets alone are no JSON', async () => {
  const text = '[sandbox] one two three four\n```\n```\none two three four five'
  const rows = ['[sandbox] one two', '↳three four', '```', '```', 'one two three four', '↳five']
  expect(await rowsOf(wrapped(text, 20), 20)).toEqual(rows)
})

const pieces = [
  ' ',
  '  ',
  '\n',
  '\n\n',
  'a',
  'word',
  'longer-word',
  '日本',
  '🎉',
  '```',
  '|',
  '    ',
  'é',
  '\t',
  '- ',
]
const anyText = fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 30 })))

test('nothing is lost or added but spaces beside spaces and at ends of lines, however the text is split', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 20, max: 60 }), (pieces, columns) => {
      const text = pieces.join('')
      const once = wrapped(text, columns)
      const seen = (shown: string) => shown.replaceAll(/ +(?=\n|$)/g, '').replaceAll(/ +/g, ' ')
      expect(seen(once)).toBe(seen(text))
      expect(wrapped(text, columns, pieces)).toBe(once)
    }),
  )
})

test('only the word that has just begun is held back, and not the first of a line', () => {
  const wrap = createWordWrap(() => 20)
  const passed = ['Hel', 'lo', ' wo', 'rld', '!', ' x', '\nNe', 'w'].map((piece) => wrap.push(piece))
  expect(passed).toEqual(['Hel', 'lo', '', '', '', ' world!', ' x\nNe', 'w'])
  expect(wrap.end()).toBe('')
})

test('a new width counts from the next word on', async () => {
  let columns = 40
  const wrap = createWordWrap(() => columns)
  const before = wrap.push('one two three four ')
  columns = 20
  const after = wrap.push('five six seven eight nine') + wrap.end()
  expect(await rowsOf(before + after, 20)).toEqual(['one two three four', '↳five six seven', '↳eight nine'])
})

test('a terminal without a width, or that only prints, gets the text as it is', async () => {
  const text = 'one two three four five six'
  expect(wrapped(text, 0)).toBe(text)
  for (const [env, expected] of [
    [{ TERM: 'dumb' }, `${text}\n`],
    [{}, 'one two three four  five six\n'],
  ] as const) {
    const context = testContext({ terminal: true, columns: 20, env })
    const output = createOutput(context, { quiet: true, usage: false })
    output.event(textDelta(text))
    await output.flush()
    await output.end(sampleDocument)
    expect(context.stdout.text).toBe(expected)
  }
})

test.each<[string, number, string[]]>([
  ['', 10, ['']],
  ['a few words', 11, ['a few words']],
  ['a few words', 10, ['a few', '> words']],
  ['  a few words', 7, ['  a few', '> words']],
  ['anextraordinarilylongword is', 10, ['anextraordinarilylongword', '> is']],
  ['name   a   gap', 12, ['name   a', '> gap']],
  ['日本 日本 日本', 9, ['日本 日本', '> 日本']],
  ['éé éé éé', 8, ['éé éé éé']],
])('%j in %d cells', (line, room, lines) => {
  expect(breakLine(line, room, '> ')).toEqual(lines)
})

test.each([
  ['a b c', 3, '', 'a b\nc'],
  ['a b c', 5, '', 'a b c'],
  ['  abcdef gh', 4, '    ', '  abcdef\n    gh'],
  ['abcdef', 3, '', 'abcdef'],
  ['', 3, '', ''],
])('%j expected at %i', (line, columns, hanging, expected) => {
  expect(wrap(line, columns, hanging)).toBe(expected)
})
