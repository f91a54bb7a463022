import { expect, test } from 'vitest'
import { plainPicture } from '../../../src/sandbox/images/plain-picture.ts'

/** The pixels that are white, as text. */
function lettersOf(text: string, caption: string, width: number, height: number): string[] {
  const { data } = plainPicture({ seed: [1], text, caption, width, height })
  const rows = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => (data[(y * width + x) * 4 + 2] === 255 ? '#' : '.')).join(''),
  )
  return rows.filter((row) => row.includes('#'))
}

test('a picture shows its text and its caption; what is no letter of it is a box', () => {
  expect(lettersOf('Hé,\t猫', '2 s', 40, 40)).toEqual([
    '...#...#...................#####........',
    '...#...#...................#...#........',
    '...#...#..###..............#...#........',
    '...#####.#...#.............#...#........',
    '...#...#.#####..##.........#...#........',
    '...#...#.#.......#.........#...#........',
    '...#...#..###...#..........#####........',
    '....###.................................',
    '...#...#................................',
    '.......#........####....................',
    '......#........#........................',
    '.....#..........###.....................',
    '....#..............#....................',
    '...#####.......####.....................',
  ])
})

test('a text that does not fit shows its beginning, and its caption', () => {
  expect(lettersOf('many words '.repeat(3000), '#1', 36, 28)).toEqual([
    '...##.#...###..#.##..#...#..........',
    '...#.#.#.....#.##..#.#...#..........',
    '...#.#.#..####.#...#..####..........',
    '...#...#.#...#.#...#.....#..........',
    '...#...#..####.#...#..###...........',
    '....#.#....#........................',
    '....#.#...##........................',
    '...#####...#........................',
    '....#.#....#........................',
    '...#####...#........................',
    '....#.#....#........................',
    '....#.#...###.......................',
  ])
})

test.each([
  [1, 1],
  [1, 3000],
  [3000, 1],
])('a picture of %i by %i pixels has that size, whatever fits', (width, height) => {
  const { data } = plainPicture({ seed: [1], text: 'a kite', caption: '#1', width, height })
  expect(data).toHaveLength(width * height * 4)
})
