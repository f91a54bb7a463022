import type { Context } from '../../context.ts'

/** How a picture gets onto a terminal. */
export type Protocol = 'kitty' | 'iterm' | 'sixel' | 'blocks'

type Environment = Context['env']

/** What a terminal says about itself, in its environment or, through tmux, in its names. */
interface Terminal {
  readonly protocol: Protocol
  readonly matches: (env: Environment) => unknown
}

/**
 * The first that fits wins; a terminal that is not listed gets half blocks, which all can show. Left out on purpose:
 * VTE (sixel is compiled into few of them), VS Code and Windows Terminal (they do not say whether images are on).
 */
const terminals: readonly Terminal[] = [
  { protocol: 'kitty', matches: (env) => env.KITTY_WINDOW_ID || env.TERM?.startsWith('xterm-kitty') },
  {
    protocol: 'kitty',
    matches: (env) =>
      env.TERM_PROGRAM === 'ghostty' || env.TERM === 'xterm-ghostty' || env.GHOSTTY_RESOURCES_DIR,
  },
  {
    protocol: 'iterm',
    matches: (env) => env.TERM_PROGRAM === 'WezTerm' || env.TERM === 'wezterm' || env.WEZTERM_PANE,
  },
  {
    protocol: 'iterm',
    matches: (env) => env.TERM_PROGRAM === 'iTerm.app' || env.LC_TERMINAL === 'iTerm2',
  },
  { protocol: 'iterm', matches: (env) => env.TERM_PROGRAM === 'mintty' },
  // The first version with the protocol is 22.04.
  { protocol: 'kitty', matches: (env) => Number(env.KONSOLE_VERSION) >= 220_400 },
  { protocol: 'sixel', matches: (env) => /^(foot|mlterm|contour|yaft|vt340)|sixel/.test(env.TERM ?? '') },
]

/** The best protocol of the terminal that the environment describes. */
export function detectProtocol(env: Environment): Protocol {
  return terminals.find(({ matches }) => matches(env))?.protocol ?? 'blocks'
}
