import { inCi, type Context } from '../../context.ts'

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

const maxLength = 2000

/**
 * In a sequence for the terminal: printable ASCII, of schemes that open pages or mail. Any other is shown as text.
 */
export function linkAddress(url: string): string | undefined {
  if (!/^(?:https?|ftp|mailto):/i.test(url) || url.length > maxLength) return undefined
  return url.toWellFormed().replaceAll(/[^!-~]/gu, (character) => encodeURIComponent(character))
}

/** Whether a text passes for another address than the one that it leads to: then that is shown. */
export function isDisguise(text: string, url: string): boolean {
  const shown = /^(?:https?:\/\/)?((?:[\w-]+\.)+[a-z]{2,})(?:[/:?#]|$)/i.exec(text.trim())?.[1]
  return shown !== undefined && URL.parse(url)?.hostname.toLowerCase() !== shown.toLowerCase()
}
