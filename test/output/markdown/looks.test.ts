import { expect, test } from 'vitest'
import { readable } from './render.ts'

test.each<[string, string, string]>([
  ['styles in a heading', '## a *b*', '<1;35>a<> <1;35;3>b<>\n'],
  [
    'a picture that leads somewhere',
    '[![a](https://b.c)](https://d.e)',
    '{https://b.c}<4>[image:<>{}{https://b.c}<4> a]<>{}<2> (https://d.e)<>\n',
  ],
  ['a picture without words', '![](https://b.c)', '{https://b.c}<4>[image]<>{}\n'],
  ['an address that is no page', '[a](javascript:alert)', '<4>a<><2> (javascript:alert)<>\n'],
  ['a place in the same text', '[a](#b)', '<4>a<><2> (#b)<>\n'],
  ['an address with other characters', '[a](https://b.c/é\\"%20)', '{https://b.c/%C3%A9"%20}<4>a<>{}\n'],
  ['a sequence in an address', '[a](https://b.c/&#27;]8;;x)', '{https://b.c/%1B]8;;x}<4>a<>{}\n'],
  [
    'a text that passes for another address',
    '[bank.example](https://evil.example/)',
    '{https://evil.example/}<4>bank.example<>{}<2> (https://evil.example/)<>\n',
  ],
  [
    'the same address',
    '[www.a.example/b](https://www.a.example/b)',
    '{https://www.a.example/b}<4>www.a.example/b<>{}\n',
  ],
])('%s', async (_, text, output) => {
  expect(await readable(text)).toBe(output)
})

test.each<[string, string, string]>([
  ['marks stay', '## a **b** *c* `d` ~~e~~', '## a **b** *c* `d` ~~e~~\n'],
  ['an address that is its text is shown once', '[https://a.b](https://a.b)', 'https://a.b\n'],
  [
    'whole images are cut',
    `![a](data:image/png;base64,${'A'.repeat(600)})`,
    `[image: a] (data:image/png;base64,${'A'.repeat(38)}…)\n`,
  ],
  ['numbers go on from the first', '3. a\n3. b\n9. c\n', '3. a\n4. b\n5. c\n'],
  ['empty items', '-\n- a\n-\n', '• \n• a\n• \n'],
  ['empty lines are one', '\n\na\n\n\n\nb\n\n', 'a\n\nb\n'],
  ['an empty line between quotes', '> a\n>\n> b\n\n> c\n', '│ a\n│\n│ b\n\n│ c\n'],
])('without colours and links: %s', async (_, text, output) => {
  expect(await readable(text, { colors: false, hyperlinks: false })).toBe(output)
})

test.each<[string, string, string]>([
  ['a break in a cell', '|a|\n|-|\n|b<br>c|\n', 'a\n───\nb\nc\n'],
  ['the cells that a row lacks', '|a|b|\n|-|-|\n|c|\n', 'a   │ b\n────┼────\nc   │ \n'],
  [
    'long words',
    `|a|\n|-|\n|${'x'.repeat(30)}-${'y'.repeat(40)}|\n`,
    `a\n${'─'.repeat(60)}\n${'x'.repeat(30)}-\n${'y'.repeat(40)}\n`,
  ],
  ['a head alone', '|a|b|\n|-|-|\n', 'a   │ b\n────┼────\n'],
  ['a head that begins as text is text', 'Name | b\n-|-\nc|d\n', 'Name | b\n-|-\nc|d\n'],
  ['a head in an item', '- |a|b|\n  |-|-|\n  |c|d|\n', '• a   │ b\n  ────┼────\n  c   │ d\n'],
  ['a cell more than columns', '|a|b|\n|-|-|\n|1|2|3|\n', 'a   │ b\n────┼────────\n1   │ 2 | 3\n'],
])('a table: %s', async (_, text, output) => {
  expect(await readable(text, { colors: false, columns: 60 })).toBe(output)
})

test('rows behind the first three are written as they come, in the widths of those', async () => {
  const source = '|a|b|\n|-|-|\n|1|2|\n|3|4|\n|5|6|\n'
  const rows = `${'|7|long words that wrap|\n'.repeat(2)}`
  expect(await readable(source + rows, { colors: false, columns: 40 })).toBe(
    'a   │ b\n────┼────\n1   │ 2\n3   │ 4\n5   │ 6\n' +
      '7   │ lon\n    │ g\n    │ wor\n    │ ds\n    │ tha\n    │ t\n    │ wra\n    │ p\n'.repeat(2),
  )
})

test('JSON is no Markdown', async () => {
  for (const text of ['{"a": "*b*"}', '[{"a": "__b__"}]', ' [ "`a`" ]', '[[1, "*"]]']) {
    expect(await readable(text)).toBe(`${text}\n`)
  }
  expect(await readable('[a](b) *c*', { hyperlinks: false })).toBe('<4>a<><2> (b)<> <3>c<>\n')
})

test('in a pipe, lines end where the width ends', async () => {
  const output = await readable('one two three four five six', { columns: 20, isTerminal: false })
  expect(output).toBe('one two three four\nfive six\n')
})
