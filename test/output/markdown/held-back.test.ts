import { expect, test } from 'vitest'
import { MarkdownRenderer } from '../../../src/output/markdown/renderer.ts'
import { corpus } from './corpus.ts'

/** For each letter of a text, how many characters came behind it before it was written. */
function delays(text: string): number[] {
  let written = ''
  const renderer = new MarkdownRenderer({
    columns: () => 200,
    isTerminal: true,
    colors: false,
    hyperlinks: false,
    write: (out) => void (written += out),
  })
  const places = [...text.matchAll(/\p{L}/gu)].map(({ index }) => index)
  const found: number[] = []
  const count = (at: number) => {
    const shown = written.match(/\p{L}/gu)?.length ?? 0
    while (found.length < shown) found.push(at - places[found.length]!)
  }
  for (const [at, character] of text.split('').entries()) {
    renderer.push(character)
    count(at)
  }
  renderer.end()
  count(text.length)
  expect(written.match(/\p{L}/gu)).toEqual(text.match(/\p{L}/gu))
  return found.sort((a, b) => a - b)
}

const prose =
  'The quick brown fox jumps over the lazy dog, and then it sleeps in the sun for the rest of the day. '.repeat(
    5,
  )

test.each<[string, string, number, number]>([
  ['prose: a word', prose, 2, 6],
  ['prose with marks', corpus.guide!.replace(' "Downloads"', '').replace('[x]', '[ ]'), 3, 49],
  ['code', corpus.code!, 0, 10],
  ['tables: the first three rows, then each row', corpus.comparison!, 37, 255],
  ['text without spaces', corpus.world!, 1, 7],
  ['a mark that nothing answers', `*args and ${prose}`, 3, 79],
  ['bold text that nothing ends', `**kwargs and ${prose}`, 3, 158],
])('%s', (_, text, median, most) => {
  const found = delays(text)
  expect([found[found.length >> 1], found.at(-1)]).toEqual([median, most])
})
