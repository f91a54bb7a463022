import type { Context } from '../context.ts'

export type Tone = 'plain' | 'dim' | 'accent' | 'warning' | 'error'
export type Styles = Readonly<Record<Tone, (text: string) => string>>

const unstyled = (text: string) => text
const noStyles: Styles = {
  plain: unstyled,
  dim: unstyled,
  accent: unstyled,
  warning: unstyled,
  error: unstyled,
}

/** Colours for standard error; `undefined` until the colour library has been loaded. */
export interface StyleLoader {
  readonly current: Styles | undefined
  readonly ready: Promise<unknown>
}

/** Loads the colour library only where there will be colours. */
export function loadStyles(context: Context): StyleLoader {
  if (!wantsColour(context)) return { current: noStyles, ready: Promise.resolve() }
  let current: Styles | undefined
  const ready = import('chalk').then(({ Chalk }) => {
    // The library would judge by the environment of the process; the context has judged already.
    const chalk = new Chalk({ level: 1 })
    current = {
      plain: unstyled,
      dim: chalk.dim,
      accent: chalk.cyan,
      warning: chalk.yellow,
      error: chalk.red,
    }
  })
  return {
    get current() {
      return current
    },
    ready,
  }
}

/** `FORCE_COLOR` decides, then `NO_COLOR` (no-color.org: set and not empty), then the terminal itself. */
function wantsColour({ env, stderr }: Context): boolean {
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0' && env.FORCE_COLOR !== 'false'
  if (env.NO_COLOR) return false
  return Boolean(stderr.isTerminal) && env.TERM !== 'dumb'
}
