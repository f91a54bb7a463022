import { inCi, type Context } from '../context.ts'

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

/**
 * OSC 8: terminals that are not known might print addresses into the text. `FORCE_HYPERLINK` decides (0 is no). In
 * tmux and screen the outer terminal is not known.
 */
export function hasHyperlinks({ env, stdout }: Pick<Context, 'env' | 'stdout'>): boolean {
  if (env.FORCE_HYPERLINK) return env.FORCE_HYPERLINK !== '0'
  const { TERM = '', TERM_PROGRAM = '' } = env
  if (!stdout.isTerminal || inCi(env) || env.TMUX || env.STY || /^(?:dumb|screen|tmux)/.test(TERM))
    return false
  return (
    ['KITTY_WINDOW_ID', 'GHOSTTY_RESOURCES_DIR', 'WEZTERM_PANE', 'WT_SESSION', 'DOMTERM'].some(
      (name) => env[name],
    ) ||
    /^(?:xterm-kitty$|xterm-ghostty$|alacritty|foot|contour|wezterm)/.test(TERM) ||
    /^(?:iTerm\.app|WezTerm|ghostty|vscode|Hyper|Tabby|rio|mintty)$/.test(TERM_PROGRAM) ||
    // Older versions crash.
    Number(env.VTE_VERSION) >= 5000 ||
    Number(env.KONSOLE_VERSION) >= 201_200
  )
}
