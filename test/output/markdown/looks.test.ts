import { expect, test } from 'vitest'
import { readable } from './render.ts'

const rule = `<2>${'─'.repeat(20)}<>`

test.each<[string, string]>([
  ['# One\n## Two `code` *b*\n', '<1;4;35>One<>\n<1;35>Two<> <1;35;36>code<> <1;35;3>b<>\n'],
  ['### Three *em*\n#### Four ##\n###### Six\n', '<1>Three<> <1;3>em<>\n<1;3>Four<>\n<3>Six<>\n'],
  ['####### seven\n#hashtag\nText\n# Next\n', '####### seven\n#hashtag\nText\n<1;4;35>Next<>\n'],
  ['Heading\n=======\n', 'Heading\n=======\n'],
  // Lists.
  ['- a\n  - b\n    - c\n      - d\n- e\n', '• a\n  ◦ b\n    ▪ c\n      • d\n• e\n'],
  ['* x\n    * four spaces\n        * eight\n', '• x\n  ◦ four spaces\n    ▪ eight\n'],
  [
    '1. one\n   - inner\n2. two\n\n   A paragraph of two.\n',
    '1. one\n   ◦ inner\n2. two\n\n   A paragraph of two.\n',
  ],
  ['10) ten\n11) eleven\n\nEnd.\n1. first\n1. again\n', '10) ten\n11) eleven\n\nEnd.\n1. first\n2. again\n'],
  ['Some:\n- a\nlazy words\n\n- after a blank\n', 'Some:\n• a\n  lazy words\n\n• after a blank\n'],
  ['In 2024. a year\n5. five\n+ plus\n', 'In 2024. a year\n5. five\n• plus\n'],
  [
    '1. **Install**: run `npm i`.\n2. **Set up**\n',
    '1. <1>Install<>: run <36>npm<><36> i<>.\n2. <1>Set<><1> up<>\n',
  ],
  ['**Note**\n: not a list\n', '<1>Note<>\n: not a list\n'],
  ['- [ ] open\n- [x] done\n  - [X] inner\n1. [ ] numbered\n', '☐ open\n☑ done\n  ☑ inner\n1. ☐ numbered\n'],
  ['- [y] none\n- [ ]none\n', '• [y] none\n• [ ]none\n'],
  // Tables.
  [
    '|Name|Count|Note|\n|:-|-:|:-:|\n|a|1|**bold**|\n|c \\| d|333|`x | y`|\n',
    '<1>Name<>   <2> │ <>  <1>Count<><2> │ <> <1>Note<>\n' +
      '<2>────────┼─────────┼────────<>\n' +
      'a      <2> │ <>      1<2> │ <> <1>bold<>\n' +
      'c | d  <2> │ <>    333<2> │ <> <36>x | y<>\n',
  ],
  [
    'It:\n\n|名前|\n|-|\n|[b](https://a.b/c)|\n|よく眠る|\n\nAfter.\n| only | a line |\n',
    'It:\n\n<1>名前<>\n<2>───────────<>\n{https://a.b/c}<4>b<>{}\nよく眠る\n\nAfter.\n| only | a line |\n',
  ],
  // Code.
  ['Use `a` or ``b`c`` or ` d `.\n', 'Use <36>a<> or <36>b`c<> or <36>d<>.\n'],
  ['```\nplain *x*\n\n  indented\n```\n', '<2>```<>\nplain *x*\n\n  indented\n<2>```<>\n'],
  [
    '1. Item:\n   ```js\n   let a = 1\n     b()\n   ```\n2. Next\n',
    '1. Item:\n   <2>```js<>\n   <35>let<> <36>a<> = <33>1<>\n     b()\n   <2>```<>\n2. Next\n',
  ],
  ['~~~~\n```\n~~~~\n', '<2>~~~~<>\n```\n<2>~~~~<>\n'],
  ['```sh title="a"\nls\n```\n', '<2>```sh title="a"<>\n<36>ls<>\n<2>```<>\n'],
  ['    indented\n      more\n\n    again\n', '    indented\n      more\n\n    again\n'],
  ['end `code\nover lines`\n', 'end `code\nover lines`\n'],
  ['```py\nnot closed', '<2>```py<>\n<35>not<> closed\n'],
  // Links and pictures.
  ['[with *style*](https://a.b "Title")', '{https://a.b}<4>with<>{} {https://a.b}<3;4>style<>{}\n'],
  ['[paren](https://a.b/(x)), [empty]()', '{https://a.b/(x)}<4>paren<>{}, <4>empty<>\n'],
  ['<https://e.f>, <me@a.b>', '{https://e.f}<4>https://e.f<>{}, {mailto:me@a.b}<4>me@a.b<>{}\n'],
  [
    'https://bare.a/b_c_d, [not a link] (x), [space](a b)',
    'https://bare.a/b_c_d, [not a link] (x), [space](a b)\n',
  ],
  [
    '[ref][1], [1], [^1]\n\n[1]: https://r.e\n[^1]: A note.\n',
    '[ref][1], [1], [^1]\n\n[1]: https://r.e\n[^1]: A note.\n',
  ],
  ['`[code](x)`, [a](<b c>)', '<36>[code](x)<>, <4>a<><2> (b<><2> c)<>\n'],
  ['[in [it]](https://g.h)', '{https://g.h}<4>in<>{}{https://g.h}<4> [it]<>{}\n'],
  ['![image](https://a.b)', '{https://a.b}<4>[image:<>{}{https://a.b}<4> image]<>{}\n'],
  [
    '[![a](https://b.c)](https://d.e)',
    '{https://b.c}<4>[image:<>{}{https://b.c}<4> a]<>{}<2> (https://d.e)<>\n',
  ],
  ['![](https://b.c)', '{https://b.c}<4>[image]<>{}\n'],
  // Of addresses, those that are no page, a place in the same text, and what could act on the terminal.
  ['[a](javascript:alert), [a](#b)', '<4>a<><2> (javascript:alert)<>, <4>a<><2> (#b)<>\n'],
  ['[a](https://b.c/é\\"%20)', '{https://b.c/%C3%A9"%20}<4>a<>{}\n'],
  ['[a](https://b.c/&#27;]8;;x)', '{https://b.c/%1B]8;;x}<4>a<>{}\n'],
  // A text that passes for another address, and one that does not.
  [
    '[bank.example](https://evil.example)',
    '{https://evil.example}<4>bank.example<>{}<2> (https://evil.example)<>\n',
  ],
  ['[www.a.example/b](https://www.a.example/b)', '{https://www.a.example/b}<4>www.a.example/b<>{}\n'],
  // Quotes.
  ['> a quote\n> goes on\nlazily\n', '<2>│ <>a quote\n<2>│ <>goes on\n<2>│ <>lazily\n'],
  ['> > nested\n> back\n\n>no space\n', '<2>│ <><2>│ <>nested\n<2>│ <><2>│ <>back\n\n<2>│ <>no space\n'],
  ['> - list\n>   - inner\n>\n> Text\n', '<2>│ <>• list\n<2>│ <>  ◦ inner\n<2>│<>\n<2>│ <>Text\n'],
  ['> ```\n> code\n> ```\n', '<2>│ <><2>```<>\n<2>│ <>code\n<2>│ <><2>```<>\n'],
  ['> [!NOTE]\n> Text\n', '<2>│ <>[!NOTE]\n<2>│ <>Text\n'],
  // Emphasis, and marks that are none.
  ['*a* _b_ **c** __d__ ***e*** ~~f~~ ~g~\n', '<3>a<> <3>b<> <1>c<> <1>d<> <1;3>e<> <9>f<> ~g~\n'],
  ['**bold *both* bold** *em **both***\n', '<1>bold<> <1;3>both<><1> bold<> <3>em<> <1;3>both<>\n'],
  ['**bold *both*** ***both** em*\n', '<1>bold<> <1;3>both<> <1;3>both<><3> em<>\n'],
  ['snake_case_name __init__.py un**believ**able\n', 'snake_case_name <1>init<>.py un<1>believ<>able\n'],
  ['2 * 3 * 4 5*3*2 a*b*c foo_bar_ _foo_bar\n', '2 * 3 * 4 5*3*2 a*b*c foo_bar_ _foo_bar\n'],
  ['**「太字」**です **bold:**text\n', '<1>「<><1>太<><1>字<><1>」<>です <1>bold:<>text\n'],
  ['(**in parens**) "*in quotes*"\n', '(<1>in<><1> parens<>) "<3>in<><3> quotes<>"\n'],
  ['**two\nlines** *not * this* ** nor **\n', '<1>two<>\n<1>lines<> <3>not<><3> *<><3> this<> ** nor **\n'],
  ['**`code`** *[l](https://m.n)*\n', '<1;36>code<> {https://m.n}<3;4>l<>{}\n'],
  [
    'An *open, **open, `open, [open\n\n**never closed\n',
    'An *open, **open, `open, [open\n\n**never closed\n',
  ],
  ['[open](http, ![open, <open, &open\n', '[open](http, ![open, <open, &open\n'],
  [
    'func(*args, **kwargs)\n\n> *quote\n\n- [item\n- ~~del\n',
    'func(*args, **kwargs)\n\n<2>│ <>*quote\n\n• [item\n• ~~del\n',
  ],
  // Escapes, mathematics, rules, HTML, ends of lines, characters of control.
  ['\\*a\\* \\_b\\_ \\# c \\[d\\] \\`e\\` \\\\ f \\n\n', '*a* _b_ # c [d] `e` \\ f \\n\n'],
  ['&amp; &lt;b&gt; &copy; &#65; &#x42; &unknown; & AT&T\n', '& <b> © A B &unknown; & AT&T\n'],
  ['\\(x\\) $a_1 * b_2$ \\[ a_b^* = \\frac{1}{2} \\]\n', '(x) $a_1 * b_2$ [ a_b^* = \\frac{1}{2} ]\n'],
  ['Line<br>break <b>bold</b> a < b <3 x<y\n', 'Line<2><br><>break <2><b><>bold<2></b><> a < b <3 x<y\n'],
  [
    '<!-- note -->\n\n<div>\nHidden\n</div>\n',
    '<2><!--<><2> note<><2> --><>\n\n<2><div><>\nHidden\n<2></div><>\n',
  ],
  ['spaces  \nbackslash\\\nend\r\n\r\n\r\nfar\n\ttab\n', 'spaces\nbackslash\nend\n\nfar\ntab\n'],
  ['\u001b[31mred \u0007 \u202ebidi `\u001b]8;;x\u0007`\n', '␛[31mred ␇ \\u{202e}bidi <36>␛]8;;x␇<>\n'],
  ['```\n\u001b[2J\n```\n', '<2>```<>\n␛[2J\n<2>```<>\n'],
])('%j is shown as %j', async (text, output) => {
  expect(await readable(text)).toBe(output)
})

test.each<[string, string]>([
  ['a\n---\nb\n\n***\n* * *\n___\n--\n', `a\n${rule}\nb\n\n${rule}\n${rule}\n${rule}\n--\n`],
  ['The **quick brown** foxes jump', 'The <1>quick<><1> brown<>     foxes jump\n'],
  [
    '- Some words that wrap\n  - nested words to wrap\n',
    '• Some words that     wrap\n  ◦ nested words to     wrap\n',
  ],
  ['> quoted words that wrap\n', '<2>│ <>quoted words that\n<2>│ <>wrap\n'],
  [`${'x'.repeat(25)} yyy`, `${'x'.repeat(25)} yyy\n`],
  ['1. 中文列表，包括标点符号。\n', '1. 中文列表，包括标\n   点符号。\n'],
])('at 20 columns %j is shown as %j', async (text, output) => {
  expect(await readable(text, { columns: 20 })).toBe(output)
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
  const options = { columns: 20, isTerminal: false }
  expect(await readable('one two three four five six', options)).toBe('one two three four\nfive six\n')
})
