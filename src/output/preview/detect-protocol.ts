import type { Context } from '../../context.ts'

export type Protocol = 'kitty' | 'iterm' | 'blocks'

export type PreviewMode = 'auto' | Protocol | 'off'

/**
 * All terminals can show half blocks. Inside tmux and GNU screen the environment is that of the terminal in which
 * they were started, so only characters are sure to be shown. Omitted on purpose: VS Code and Windows Terminal (they
 * do not report whether images are enabled).
 */
export function detectProtocol(env: Context['env']): Protocol {
  if (env.TMUX || env.STY) return 'blocks'
  const { TERM = '', TERM_PROGRAM = '' } = env
  const isKitty = env.KITTY_WINDOW_ID || TERM.startsWith('xterm-kitty')
  const isGhostty = TERM_PROGRAM === 'ghostty' || TERM === 'xterm-ghostty' || env.GHOSTTY_RESOURCES_DIR
  if (isKitty || isGhostty) return 'kitty'
  const isWezTerm = TERM === 'wezterm' || env.WEZTERM_PANE
  if (isWezTerm || /^(?:WezTerm|iTerm\.app|mintty)$/.test(TERM_PROGRAM) || env.LC_TERMINAL === 'iTerm2')
    return 'iterm'
  // Konsole, since version 22.04.
  return Number(env.KONSOLE_VERSION) >= 220_400 ? 'kitty' : 'blocks'
}

/** According to `COLORTERM`, or if Node knows the terminal. */
export function hasTrueColour({ env, stderr }: Context): boolean {
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return true
  return (stderr.stream?.getColorDepth?.(env) ?? 8) >= 24
}
