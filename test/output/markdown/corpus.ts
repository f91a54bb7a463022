/** Answers as models give them. */
export const corpus: Readonly<Record<string, string>> = {
  guide: `# Installing on Linux

You'll need **Node.js 22** or newer and about *200 MB* of disk space. Run \`node --version\` first; if it prints \`v18\`, see [the upgrade guide](https://nodejs.org/en/download "Downloads").

## Steps

1. Download the archive:

   \`\`\`bash
   curl -LO https://example.com/tool_1.2.tar.gz # about 40 MB
   tar xf tool_1.2.tar.gz && cd tool_1.2
   \`\`\`

2. Set \`MY_TOOL_HOME\` and the snake_case_name in **~/.profile**.
   - On *Debian*, use \`apt\`:
     1. \`sudo apt update\`
     2. \`sudo apt install tool\`
   - On **Fedora**: \`dnf install tool\`.
3. Check that 2 * 3 * 4 is 24 and *.tmp files are gone.

> **Note:** this is only needed once.
> It may take a while:
>
> > patience is a virtue

- [x] downloaded
- [ ] installed

***

Questions? See <https://example.com/faq> or mail <help@example.com>.
`,
  comparison: `Here is how the three compare:
| Language | Typing | Best for | Speed |
|:---------|:------:|----------|------:|
| Python | dynamic | scripts, data science | 1x |
| Go | static | servers, command-line tools | 40x |
| Rust | static | systems where every cycle and every byte counts | 55x |
| TypeScript | static | web front ends | 12x |

In short: ~~C++~~ **Rust** for speed, \`go\` for ~~~everything~~~ servers.

Name | Value
--- | ---
a \\| b | \`x | y\`
`,
  code: `The bug is in \`parse()\`: the loop never ends.

\`\`\`typescript
/* A comment over
   two lines */
export function parse(text: string): string[] {
	const parts = \`\${text}
still a string\`.split('\\n') // and a comment
	return parts.filter((part) => part !== '')
}
\`\`\`

~~~python
def f(x):
    """A docstring
    over two lines."""
    return x if x else None  # \`\`\` no fence
~~~

\`\`\`
plain <b>text</b> with *stars*
\`\`\`

    indented code

Done.
`,
  world: `## 世界の言語 🌍

- 日本語のテキストは単語の間に空白がないので、どこでも折り返すことができます。
- 한국어는 **띄어쓰기**가 있어서 단어 사이에서 줄을 바꿀 수 있습니다.
- עברית נכתבת מימין לשמאל, וגם ערבית: العربية من اليمين إلى اليسار.
- Emoji: 👩‍👩‍👧 and 🇫🇷 and ⚠️ and é (e\u0301), *größer* als nichts.
`,
  odd: `Setext heading
===

An unclosed **bold and \`code and [link( here.

Kwargs **kwargs and *args are not emphasis; 5 < 6 & 7 &gt; 6 &copy; \\*not\\* \\\\.
A line with two spaces  
and a backslash\\
break. A footnote[^1], a [reference] and an ![image of a cat](https://example.com/cat.png).

<details>
<summary>More</summary>
</details>

[reference]: https://example.com/ref
Now a [reference] works.\r
Windows line ends,\r
too.\r
`,
}

/** The forms that answers are made of, one by one. */
export const forms: Readonly<Record<string, string>> = {
  headings:
    '# One\n## Two `code`\n### Three *em*\n#### Four ##\n###### Six\n####### seven\n#hashtag\nText\n# Next\n',
  'nested lists':
    '- a\n  - b\n    - c\n      - d\n- e\n\n* x\n    * four spaces\n        * eight\n\n1. one\n   - inner\n   - inner\n2. two\n\n   A second paragraph of two.\n\n10) ten\n11) eleven\n',
  'lists and words around them':
    'Here are some:\n- a\n- b\nlazy words\n\n- after a blank\n\n- loose\n\nEnd.\n1. first\n1. again\n1. and again\n\nIn 2024. a year\n5. five\n+ plus\n',
  'list items with bold heads':
    '1. **Install**: run `npm i`.\n2. **Set up**\n   Words below it.\n3. ***Both*** of them\n\n**Note**\n: not a list\n',
  'task lists': '- [ ] open\n- [x] done\n  - [X] inner\n- [y] none\n- [ ]none\n1. [ ] numbered\n',
  tables:
    'The table:\n\n| Name | Count | Note |\n|:-----|------:|:----:|\n| a | 1 | **bold** |\n| b | 22 | `x | y` |\n| c \\| d | 333 | [link](https://a.b/c) |\n| e | 4 |\n| f | 5 | 6 | 7 |\n\nAfter.\n| only | a line |\n\n- item\n\n  | in | list |\n  |----|------|\n  | 1  | 2    |\n',
  code: 'Use `a` or ``b`c`` or ` d `.\n\n```\nplain *x*\n\n  indented\n```\n\n1. Item:\n   ```js\n   let a = 1\n     b()\n   ```\n2. Next\n\n~~~~\n```\n~~~~\n\nText\n```sh title="a"\nls\n```\n\n    indented\n      more\n\n    again\n\nend `code\nover lines`\n\n```py\nnot closed',
  links:
    'A [link](https://a.b/c), [with *style*](https://a.b/d "Title"), [paren](https://a.b/(x)), <https://e.f>, <me@a.b>,\nhttps://bare.a/b_c_d, ![image](https://a.b/i.png), [![badge](https://b.c/s.svg)](https://b.c), [not a link] (x),\n[brackets [in] it](https://g.h), [empty](), [space](a b), [ref][1], [1], [^1], `[code](x)`, [a](<b c>).\n\n[1]: https://ref.example\n[^1]: A footnote.\n',
  quotes:
    '> a quote\n> goes on\nlazily\n\n> > nested\n> back\n\n> - list\n>   - inner\n>\n> ```\n> code\n> ```\n>no space\n\n> [!NOTE]\n> Text\n',
  emphasis:
    '*a* _b_ **c** __d__ ***e*** ~~f~~ ~g~ **bold *both* bold** *em **both** em* **bold *both*** ***both** em*\nsnake_case_name __init__.py 2 * 3 * 4 5*3*2 a*b*c un**believ**able foo_bar_ _foo_bar **「CJK」**です **bold:**text\n(**in parens**) "*in quotes*" **two\nlines** *not * this* ** nor ** this 10**2 a**b **`code`** *[l](https://m.n)* **[o](https://p.q)**.\n',
  'unfinished marks':
    'An *open, **open, `open, [open, [open](http, ![open, <open, &open\n\n**never closed\n\nfunc(*args, **kwargs) and `x\n\n> *quote\n\n- [item\n- ~~del\n',
  escapes:
    '\\*a\\* \\_b\\_ \\# c \\[d\\] \\`e\\` \\\\ f \\n &amp; &lt;b&gt; &nbsp;&copy; &#65; &#x42; &unknown; & AT&T \\(x\\) $a_1 * b_2$\n',
  rules: 'a\n\n---\n\nb\n***\nc\n\n* * *\n___\n- - -\n--\n',
  html: 'Line<br>break <b>bold</b> <!-- note --> a < b > c <3 x<y\n\n<details>\n<summary>More</summary>\n\nHidden **text**.\n\n</details>\n\n<div align="center">\n  <img src="a.png" width="10">\n</div>\n',
  underlined: 'Heading\n=======\n\nOther\n-----\ntext\n',
  breaks: 'two spaces  \nbackslash\\\nplain\nend\r\nwindows\r\n\r\n\r\n\r\nfar\n\ttab\n',
  'long lines': `${'The quick brown fox jumps over the lazy dog and keeps running. '.repeat(3)}\n\n- ${'The **quick brown fox** jumps over `the lazy dog`. '.repeat(3)}\n  - ${'nested words that wrap '.repeat(5)}\n\n> ${'quoted words that wrap '.repeat(6)}\n\n${'x'.repeat(100)} ${'y'.repeat(50)}\n`,
  'wide characters':
    '# 見出し\n\n**太字**の文字と*斜体*の文字、そして`コード`。これは長い行なので折り返されるはずです。\n\n| 名前 | 説明 |\n|---|---|\n| 猫 | 毛むくじゃらの動物で、よく眠る |\n| 犬 | 忠実な友 |\n\n1. 한국어 목록\n2. 中文列表，包括标点符号。\n',
  'control characters':
    'a\u001b[31mred\u001b[0m \u0007bell \u202ebidi\u202c `\u001b]8;;x\u0007`\n\n```\n\u001b[2J\n```\n',
  mathematics: 'Let $x_1 * x_2 = y_1 * y_2$ and \\[ a_b^* = \\frac{1}{2} \\].\n\n$$\nE = mc^2\n$$\n',
  json: '[{"a": "*b*"}]\n',
}
