import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runOnScreen } from '../../support/screen.ts'

test.each<[number, number, string, [columns: number, rows: number]]>([
  [80, 24, '200 200', [24, 12]],
  [80, 60, '200 200', [40, 20]],
  [80, 24, '400 100', [80, 10]],
  [80, 24, '100 400', [6, 12]],
  [80, 24, '10 10', [10, 5]],
  [20, 24, '400 100', [20, 3]],
  [20, 6, '200 200', [4, 2]],
  [20, 24, '3000 2', [20, 1]],
  [20, 24, '2 3000', [1, 12]],
])(
  '%i columns and %i rows show a picture of %s pixels on %j characters',
  async (columns, rows, size, taken) => {
    const child = join(import.meta.dirname, 'preview-child.ts')
    const { lines } = await runOnScreen(child, ['blocks', ...size.split(' ')], { columns, rows })
    const picture = Array.from({ length: taken[1] }, () => '▀'.repeat(taken[0]))
    expect(lines).toEqual([...picture, 'out/hero.png', 'shown'])
  },
)
