import { execFile } from 'node:child_process'
import type { Context } from '../../context.ts'

/** Protocols for pictures on a terminal. */
export type Protocol = 'kitty' | 'iterm' | 'sixel' | 'blocks'

/** `auto` selects the best protocol of the terminal. */
export type PreviewMode = 'auto' | Protocol | 'off'

type Environment = Context['env']

/** Recognises a terminal by its environment or, through tmux, by its names. */
interface Terminal {
  readonly protocol: Protocol
  readonly matches: (env: Environment) => unknown
}

/**
 * The first match wins; any other terminal gets half blocks, which all can show. Omitted on purpose: VTE (sixel is
 * rarely compiled in), VS Code and Windows Terminal (they do not report whether images are enabled).
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
  { protocol: 'sixel', matches: (env) => /^(foot|mlterm|contour|yaft|vt340)|sixel/.test(env.TERM ?? '') },
]

/** The best protocol of the terminal that the environment describes. */
export function detectProtocol(env: Environment): Protocol {
  return terminals.find(({ matches }) => matches(env))?.protocol ?? 'blocks'
}

/** Properties of tmux and of the terminal around it. */
interface TmuxFacts {
  /** Whether wrapped sequences reach the outer terminal. */
  readonly passesThrough: boolean
  /** The protocol of the outer terminal, as far as it can be used through tmux. */
  readonly protocol: Protocol
}

const question = '#{allow-passthrough}\n#{client_termname}\n#{client_termtype}'

/**
 * Asks tmux, because the environment describes the terminal in which tmux was started rather than the one it is
 * attached to now. Passthrough is allowed unless the option `allow-passthrough` is off, its default; versions before
 * 3.3 have no such option and always allow it. No answer means no.
 */
async function askTmux(context: Context): Promise<TmuxFacts> {
  const answer = await new Promise<string>((resolve) => {
    const options = { env: context.env, timeout: 1000, signal: context.signal }
    execFile('tmux', ['display-message', '-p', question], options, (error, stdout) => {
      resolve(error === null ? stdout : '0')
    })
  })
  return readTmuxAnswer(answer)
}

/** @param answer the lines that `question` yields: an option, the `TERM` of the outer terminal, and its name */
export function readTmuxAnswer(answer: string): TmuxFacts {
  const [option = '', TERM = '', type = ''] = answer.split('\n')
  const [name = ''] = type.split(/[ (]/)
  const program = { iTerm2: 'iTerm.app', tmux: undefined }[name] ?? name
  const protocol = detectProtocol({ TERM, TERM_PROGRAM: program === 'kitty' ? undefined : program })
  return {
    passesThrough: option !== '0' && option !== 'off',
    // tmux would draw over sixel graphics.
    protocol: protocol === 'sixel' ? 'blocks' : protocol,
  }
}

/** Inside tmux, use only what it passes through; inside GNU screen, which cuts long sequences, only characters. */
export async function chooseProtocol(
  context: Context,
  mode: Exclude<PreviewMode, 'off'>,
  skip: (message: string) => void,
): Promise<{ protocol: Protocol; isInTmux: boolean }> {
  const { env } = context
  const blocks = { protocol: 'blocks', isInTmux: false } as const
  if (mode === 'blocks') return blocks
  if (env.TMUX) {
    const tmux = await askTmux(context)
    const protocol = mode === 'auto' ? tmux.protocol : mode
    if (protocol === 'blocks' || protocol === 'sixel') return blocks
    if (tmux.passesThrough) return { protocol, isInTmux: true }
    if (mode !== 'auto')
      skip('tmux does not pass pictures through; allow it with: tmux set -g allow-passthrough on')
    return blocks
  }
  if (mode !== 'auto') return { protocol: mode, isInTmux: false }
  return env.STY ? blocks : { protocol: detectProtocol(env), isInTmux: false }
}

/** According to `COLORTERM`, or if Node knows the terminal. */
export function hasTrueColour({ env, stderr }: Context): boolean {
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? '')) return true
  return (stderr.stream?.getColorDepth?.(env) ?? 8) >= 24
}

/** Wraps a control sequence so that tmux passes it through to the terminal around it. */
export function throughTmux(sequence: string): string {
  return `\x1bPtmux;${sequence.replaceAll('\x1b', '\x1b\x1b')}\x1b\\`
}
