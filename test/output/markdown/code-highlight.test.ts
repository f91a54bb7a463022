import { expect, test } from 'vitest'
import { createMarkdownRenderer } from '../../../src/output/markdown/renderer.ts'
import { loadLanguage } from '../../../src/output/markdown/code-highlight.ts'
import { readable, withNames } from './render.ts'

test('what goes over several lines keeps its colour', async () => {
  const text = '```ts\n/* a\nb */ let c = `d\ne` // f\n\n```\n'
  expect(await readable(text)).toBe(
    '<2>```ts<>\n<2;3>/* a<>\n<2;3>b */<> <35>let<> <36>c<> = <32>`d<>\n<32>e`<> <2;3>// f<>\n\n<2>```<>\n',
  )
})

test('tabs, ends of lines and characters of control are those of the text', async () => {
  const output = await readable('```go\r\n\tx := 1\u001b[0m\r\n```\r\n')
  expect(output.replaceAll(/<[\d;]*>/g, '')).toBe('```go\n\tx := 1␛[0m\n```\n')
})

test('code in a language that is not known, and without colours, is as it was', async () => {
  expect(await readable('```brainsort\nlet a\n```\n')).toBe('<2>```brainsort<>\nlet a\n<2>```<>\n')
  expect(await readable('```js\nlet a\n```\n', { colors: false })).toBe('```js\nlet a\n```\n')
})

/** A program in each language that fences name most. */
test.each(
  'bash c clojure cpp csharp css dart diff dockerfile go groovy haskell html http ini java javascript json julia kotlin latex less lua nginx objectivec ocaml perl powershell protobuf python r ruby rust scala scss sql swift toml typescript xml yaml'.split(
    ' ',
  ),
)('%s: the pieces of a line are the line', async (name) => {
  const highlighter = (await loadLanguage(name))!()
  const lines =
    '  if (a < b) { return "c" } // d\n# e = 1\n<a href="b">c</a> <!-- d -->\nf: \'g\n\t\\\n`h ${i}\n/*\n */\n' +
    '"""\n}}}])\n@j\n--- k\n+l\nFROM m AS n\nSELECT * FROM "o"\ndef p(q):\n日本 = 🎉\n'
  for (const line of lines.split('\n'))
    expect(
      highlighter(line)
        .map(({ text }) => text)
        .join(''),
    ).toBe(line)
})

test('while a language is loaded, all that follows waits for it, unless something else has to be written', async () => {
  const written: string[] = []
  const create = () =>
    createMarkdownRenderer({
      columns: () => 40,
      isTerminal: true,
      colors: true,
      hyperlinks: false,
      write: (text) => void written.push(withNames(text)),
    })
  const patient = create()
  patient.push('a\n```js\nlet b\n```\nc\n')
  expect(written.splice(0)).toEqual(['a\n<2>```js<>\n'])
  await patient.settle()
  expect(written.splice(0)).toEqual(['<35>let<> <36>b<>\n<2>```<>\nc\n'])
  const hurried = create()
  hurried.push('a\n```js\nlet b\n')
  hurried.end()
  expect(written.splice(0).join('')).toBe('a\n<2>```js<>\nlet b\n')
  await hurried.settle()
  expect(written).toEqual([])
})
