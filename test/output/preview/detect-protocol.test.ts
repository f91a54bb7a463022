import { expect, test } from 'vitest'
import { detectProtocol, type Protocol } from '../../../src/output/preview/detect-protocol.ts'

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
  // Inside these it is the terminal in which they were started.
  [{ TERM: 'screen-256color', TMUX: '/tmp/tmux-0/default,1,0', KITTY_WINDOW_ID: '1' }, 'blocks'],
  [{ TERM: 'screen', STY: '1.pts-0', KITTY_WINDOW_ID: '1' }, 'blocks'],
  [{ TERM: 'foot' }, 'blocks'],
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
