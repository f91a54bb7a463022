import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'vitest'
import { runOnScreen } from '../../support/screen.ts'

const child = join(import.meta.dirname, 'preview-child.ts')

function picture(columns: number, rows: number) {
  return [...Array.from({ length: rows }, () => '▀'.repeat(columns)), 'out/hero.png', 'shown']
}

test.each<[number, number, string, [columns: number, rows: number]]>([
  [80, 24, '200 200', [24, 12]],
  [80, 60, '200 200', [40, 20]],
  [80, 24, '400 100', [80, 10]],
  [80, 24, '100 400', [6, 12]],
  [80, 24, '10 10', [10, 5]],
  [20, 24, '200 200', [20, 10]],
  [20, 24, '400 100', [20, 3]],
  [20, 6, '200 200', [4, 2]],
  [20, 24, '3000 2', [20, 1]],
  [20, 24, '2 3000', [1, 12]],
])(
  'a screen of %i columns and %i rows shows a picture of %s pixels on %j characters',
  async (columns, rows, size, taken) => {
    const screen = await runOnScreen(child, ['blocks', ...size.split(' ')], { columns, rows })
    expect(screen.lines).toEqual(picture(...taken))
  },
)

test('the terminal is asked what it is', async () => {
  const show = async (env: Record<string, string>) =>
    (await runOnScreen(child, ['auto', '4', '4'], { env })).bytes
  expect(await show({ KITTY_WINDOW_ID: '1' })).toContain('\x1b_Ga=T,f=100,q=2,r=12,m=0;')
  expect(await show({ TERM_PROGRAM: 'WezTerm' })).toContain('\x1b]1337;File=inline=1;')
  expect(await show({ COLORTERM: 'truecolor' })).toContain('\x1b[38;2;')
  expect(await show({})).toContain('\x1b[38;5;')
})

test('nothing is shown in a pipe, whatever is asked for', () => {
  const output = execFileSync(process.execPath, [child, 'kitty', '4', '4'], {
    stdio: 'pipe',
    encoding: 'utf8',
  })
  expect(output).toBe('no preview\n')
})
