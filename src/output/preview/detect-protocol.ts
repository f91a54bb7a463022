import type { Context } from '../../context.ts'
import { execFile } from 'node:child_process'

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

/** What tmux tells about itself and about the terminal around it. */
interface TmuxFacts {
  /** Whether sequences wrapped for the outer terminal get there. */
  readonly passesThrough: boolean
  /** The protocol of the outer terminal, as far as it can be used through tmux. */
  readonly protocol: Protocol
}

const question = '#{allow-passthrough}\n#{client_termname}\n#{client_termtype}'

/**
 * Asks the tmux that this runs in, since the environment knows the terminal in which tmux was started rather than the
 * one it is attached to now. Passing through is allowed unless the option `allow-passthrough` is off, its default;
 * versions before 3.3 have no such option and always pass through. No answer means no.
 */
export async function askTmux(context: Context): Promise<TmuxFacts> {
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
    // What sixel draws, tmux would draw over.
    protocol: protocol === 'sixel' ? 'blocks' : protocol,
  }
}

/** Wraps a control sequence so that tmux hands it to the terminal around it. */
export function throughTmux(sequence: string): string {
  return `\x1bPtmux;${sequence.replaceAll('\x1b', '\x1b\x1b')}\x1b\\`
}
