import type { Context } from '../../context.ts'

/** Protocols for pictures on a terminal. */
export type Protocol = 'kitty' | 'iterm' | 'blocks'

/** `auto` selects the best protocol of the terminal. */
export type PreviewMode = 'auto' | Protocol | 'off'

type Environment = Context['env']

/** Recognises a terminal by its environment. */
interface Terminal {
  readonly protocol: Protocol
  readonly matches: (env: Environment) => unknown
}

/**
 * The first match wins; any other terminal gets half blocks, which all can show. Omitted on purpose: VS Code and Windows
 * Terminal (they do not report whether images are enabled).
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
  // Supported since version 22.04.
  { protocol: 'kitty', matches: (env) => Number(env.KONSOLE_VERSION) >= 220_400 },
]

/**
 * The best protocol of the terminal that the environment describes. Inside tmux and GNU screen that is the terminal in
 * which they were started, so only characters are sure to be shown.
 */
export function detectProtocol(env: Environment): Protocol {
  if (env.TMUX || env.STY) return 'blocks'
  return terminals.find(({ matches }) => matches(env))?.protocol ?? 'blocks'
}

/** According to `COLORTERM`, or if Node knows the terminal. */
export function hasTrueColour({ env, stderr }: Context): boolean {
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return true
  return (stderr.stream?.getColorDepth?.(env) ?? 8) >= 24
}
