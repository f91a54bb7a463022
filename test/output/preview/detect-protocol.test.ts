import { expect, test } from 'vitest'
import { nearestColour } from '../../../src/output/preview/protocols.ts'
import {
  detectProtocol,
  type Protocol,
  readTmuxAnswer,
  throughTmux,
} from '../../../src/output/preview/detect-protocol.ts'

test.each<[Record<string, string>, Protocol]>([
  [{ TERM: 'xterm-kitty' }, 'kitty'],
  [{ TERM: 'xterm-256color', KITTY_WINDOW_ID: '3' }, 'kitty'],
  [{ TERM: 'xterm-ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'ghostty' }, 'kitty'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'WezTerm' }, 'iterm'],
  [{ TERM: 'xterm-256color', WEZTERM_PANE: '0' }, 'iterm'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'iTerm.app' }, 'iterm'],
  [{ TERM: 'xterm-256color', LC_TERMINAL: 'iTerm2' }, 'iterm'],
  [{ TERM: 'xterm', TERM_PROGRAM: 'mintty' }, 'iterm'],
  [{ TERM: 'xterm-256color', KONSOLE_VERSION: '220400' }, 'kitty'],
  [{ TERM: 'xterm-256color', KONSOLE_VERSION: '211203' }, 'blocks'],
  [{ TERM: 'foot' }, 'sixel'],
  [{ TERM: 'foot-extra' }, 'sixel'],
  [{ TERM: 'mlterm-256color' }, 'sixel'],
  [{ TERM: 'contour-latest' }, 'sixel'],
  [{ TERM: 'xterm-sixel' }, 'sixel'],
  [{ TERM: 'xterm-256color', VTE_VERSION: '7600' }, 'blocks'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'vscode' }, 'blocks'],
  [{ TERM: 'xterm-256color', WT_SESSION: 'x' }, 'blocks'],
  [{ TERM: 'xterm-256color', TERM_PROGRAM: 'Apple_Terminal' }, 'blocks'],
  [{ TERM: 'screen-256color' }, 'blocks'],
  [{ TERM: 'linux' }, 'blocks'],
  [{}, 'blocks'],
])('%j is drawn on with %s', (env, protocol) => {
  expect(detectProtocol(env)).toBe(protocol)
})

test.each<[string, boolean, Protocol]>([
  ['1\nxterm-kitty\nkitty(0.42.0)', true, 'kitty'],
  ['on\nxterm-256color\nWezTerm 20240203', true, 'iterm'],
  ['all\nxterm-256color\niTerm2 3.5.0', true, 'iterm'],
  ['2\nxterm-ghostty\nghostty 1.2', true, 'kitty'],
  // Older versions have no such option and always pass on.
  ['\nxterm-kitty\n', true, 'kitty'],
  ['0\nxterm-kitty\n', false, 'kitty'],
  ['off\nxterm-kitty\n', false, 'kitty'],
  ['1\nfoot\nfoot(1.20)', true, 'blocks'],
  ['1\n\n', true, 'blocks'],
])('tmux that answers %j', (answer, passesThrough, protocol) => {
  expect(readTmuxAnswer(answer)).toEqual({ passesThrough, protocol })
})

test('every escape is doubled on the way through tmux', () => {
  expect(throughTmux('\x1b_Gm=0;AA\x1b\\')).toBe('\x1bPtmux;\x1b\x1b_Gm=0;AA\x1b\x1b\\\x1b\\')
})

test.each<[number, number, number, number]>([
  [0, 0, 0, 16],
  [255, 255, 255, 231],
  [255, 0, 0, 196],
  [95, 135, 175, 67],
  [8, 8, 8, 232],
  [128, 128, 128, 244],
  [238, 238, 238, 255],
])('the nearest to %i, %i, %i is colour %i', (red, green, blue, number) => {
  expect(nearestColour(red, green, blue)).toBe(number)
})

test('a dark green stays green', () => {
  const cube = nearestColour(50, 110, 50) - 16
  expect(Math.floor(cube / 6) % 6).toBeGreaterThan(Math.floor(cube / 36))
  expect(cube).toBeLessThan(216)
})
