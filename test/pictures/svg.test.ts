import { expect, test } from 'vitest'
import type { Frame, Run } from './record.ts'
import { animation, still } from './svg.ts'

const plain = {
  foreground: undefined,
  background: undefined,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
}
const run = (text: string, more: Partial<Run> = {}): Run => ({
  column: 0,
  width: text.length,
  text,
  ...plain,
  ...more,
})
const frame = (at: number, ...texts: readonly string[]): Frame => ({
  at,
  rows: texts.map((text) => (text === '' ? [] : [run(text)])),
})

test('words stand in their columns, whatever font there is', () => {
  const svg = still({ at: 0, rows: [[run('a  b c'), run('漢', { column: 6, width: 2 })]] }, 10, 'dark')
  const texts = [...svg.matchAll(/<text x="([\d.]+)" y="13.5" textLength="([\d.]+)"[^>]*>([^<]*)</g)]
  expect(texts.map(([, ...facts]) => facts)).toEqual([
    ['0', '8.4', 'a'],
    ['25.2', '25.2', 'b c'],
    ['50.4', '16.8', '漢'],
  ])
})

test('what means something in SVG is text', () => {
  expect(still({ at: 0, rows: [[run('a<b>&c')]] }, 10, 'light')).toContain('>a&lt;b&gt;&amp;c</text>')
})

test.each<[Partial<Run>, string]>([
  [{ foreground: 1 }, 'fill="#ff7b72"'],
  [{ foreground: 196 }, 'fill="#ff0000"'],
  [{ foreground: 232 }, 'fill="#080808"'],
  [{ foreground: '#123456' }, 'fill="#123456"'],
  [{ background: 4 }, '<path fill="#58a6ff" d="M0 0h8.7v18.3H0z"/>'],
  [{ bold: true }, 'font-weight="bold"'],
  [{ dim: true }, 'opacity=".6"'],
  [{ italic: true }, 'font-style="italic"'],
  [{ underline: true }, 'd="M0 15h8.7v1.3H0z"'],
])('the look %j', (look, expected) => {
  expect(still({ at: 0, rows: [[run('x', look)]] }, 10, 'dark')).toContain(expected)
})

test('half blocks are shapes of both colours', () => {
  const svg = still(
    { at: 0, rows: [[run('▀', { foreground: '#111111', background: '#222222' })]] },
    1,
    'dark',
  )
  expect(svg).toContain(
    '<path fill="#222222" d="M0 0h8.7v18.3H0z"/><path fill="#111111" d="M0 0h8.7v9.3H0z"/>',
  )
  expect(svg).not.toContain('<text')
})

test('a still picture ends with its last row', () => {
  expect(still(frame(0, 'a', '', 'b', '', ''), 10, 'dark')).toContain('viewBox="0 0 116 86"')
})

test('a row is drawn once, and shown where and while it is on the screen', () => {
  const frames = [frame(0, 'a', ''), frame(500, 'a', 'b'), frame(1000, 'b', '')]
  const svg = animation({ columns: 10, rows: 2, frames, end: 6000 }, 'dark')
  expect([...svg.matchAll(/<g id="(r\d)">/g)].map(([, id]) => id)).toEqual(['r0', 'r1'])
  expect([...svg.matchAll(/<use [^>]*>/g)].map(([use]) => use)).toEqual([
    '<use href="#r0" y="0" style="animation-name:s0"/>',
    '<use href="#r1" y="18" style="animation-name:s1"/>',
    '<use href="#r1" y="0" class="l" style="animation-name:s2"/>',
  ])
  expect([...svg.matchAll(/@keyframes [^\n]*/g)].map(([step]) => step)).toEqual([
    '@keyframes s0{0%{visibility:visible}10%{visibility:hidden}}',
    '@keyframes s1{0%{visibility:hidden}5%{visibility:visible}10%{visibility:hidden}}',
    '@keyframes s2{0%{visibility:hidden}10%{visibility:visible}}',
  ])
})
