import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMarkdownRenderer } from '../../../src/output/markdown/renderer.ts'
import { rendered } from './render.ts'
import { runs, sample } from '../../support/sample.ts'

const inLine = '* ** _ __ ~~ ` `` ``` ~~~ [ ] ( ) ]( ![ < > & | --- === |-|-| \\ <b> <!-- http://a.b/ 日本 👩‍👩‍👧'
const blanks = [
  ' ',
  ' | ',
  '# ',
  '- ',
  '1. ',
  '> ',
  '- [ ] ',
  '[a]: b',
  '    ',
  '\t',
  '  \n',
  '\n',
  '\n\n',
  '\r\n',
]
const marks = [...inLine.split(' '), ...blanks, '\u202e', '\u001b[31m', '\u009b', '\ud83d', '```js\n']
const piece = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...marks) }, fc.string({ maxLength: 12 }))
const markdown = fc.array(piece, { maxLength: 60 })

/** The sequences that the renderer itself writes: looks and links. */
const ownSequence = /\u001b\[(?:\d+;)*\d+m|\u001b\]8;;[!-~]*\u001b\\/g
const control = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

test('any text in any pieces: no control character of it, the same bytes, and links that are closed', async () => {
  await fc.assert(
    fc.asyncProperty(markdown, fc.integer({ min: 1, max: 90 }), async (pieces, columns) => {
      const output = await rendered(pieces, { columns })
      expect(output.replaceAll(ownSequence, '')).not.toMatch(control)
      expect(await rendered([pieces.join('')], { columns })).toBe(output)
      expect(await rendered(pieces.join('').split(''), { columns })).toBe(output)
      const links = output.match(/\u001b\]8;;[^\u001b]*/g) ?? []
      expect(links.filter((link) => link === '\u001b]8;;')).toHaveLength(links.length / 2)
    }),
    runs(300),
  )
})

// Without what a reader does not miss: quotes would make titles, which are not shown.
const lossless = marks.filter((mark) => !/["']|\ud83d|\[a\]/.test(mark))

test('no word of a text is lost, and none is there twice', async () => {
  const words = fc.array(fc.oneof(fc.constantFrom(...lossless), fc.constant('word')), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(words, fc.boolean(), async (parts, colors) => {
      let count = 0
      const text = parts.map((part) => (part === 'word' ? `w${count++}x` : part)).join('')
      const output = await rendered([text], { columns: 0, colors, hyperlinks: false })
      const shown = output.replaceAll(ownSequence, '').match(/w\d+x/g) ?? []
      expect(shown).toEqual(Array.from({ length: count }, (_, index) => `w${index}x`))
    }),
    runs(500),
  )
})

const long = 100_000
const endless: readonly (readonly [string, string])[] = [
  ['one line', 'a'.repeat(10 * long)],
  ['words in one line', 'word '.repeat(2 * long)],
  ...['[', ']', '*', '_', '~', '`', '>', '<', '&', '|', '-', '=', '#', '(', '\\', '!['].map(
    (mark): [string, string] => [`${mark} again and again`, mark.repeat(long)],
  ),
  ...'* a |*a |*a **b |[a](|[a][|`a |<a |- |> |1. |&a |_a*b~c'
    .split('|')
    .concat('| a ', 'a|')
    .map((mark): [string, string] => [`${mark} again and again`, mark.repeat(long / 8)]),
  ...['> ', '- ', '1. '].map((mark): [string, string] => [
    `${mark} in each line`,
    `${mark.repeat(50)}a\n`.repeat(500),
  ]),
  ['a table of one row', `|a|b|\n|-|-|\n|${'x'.repeat(long)}|`],
  [
    'a table of many columns',
    `|${'a|'.repeat(2000)}\n|${'-|'.repeat(2000)}\n${`|${'b|'.repeat(2000)}\n`.repeat(10)}`,
  ],
  ['definitions', Array.from({ length: 20_000 }, (_, index) => `[${index}]: /${index}\n`).join('')],
  ['a line of code', `\`\`\`js\n${'(['.repeat(long)}\n\`\`\``],
  ['lines of code', `\`\`\`js\n${'if (a) { /* `\n'.repeat(5000)}`],
]

test.each(sample(endless, 12, ([what]) => what))('%s: is written before it ends', async (_, text) => {
  let written = 0
  const renderer = createMarkdownRenderer({
    columns: () => 40,
    isTerminal: true,
    colors: true,
    hyperlinks: true,
    write: (out) => void (written += out.length),
  })
  for (let at = 0; at < text.length; at += 1000) {
    renderer.push(text.slice(at, at + 1000))
    await renderer.settle()
  }
  const before = written
  renderer.end()
  expect(written).toBeGreaterThan(0)
  // The row of a table may be long; all else is held back in hundreds.
  expect(written - before).toBeLessThan(30_000)
})
