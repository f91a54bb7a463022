import type { Context } from '../context.ts'
import { pathsOf } from '../platform.ts'

export type Environment = Pick<Context, 'env' | 'home' | 'cwd' | 'platform'>

/** For each platform the variable that names a folder, where it is by default in the home directory, and ours within it. */
const places = {
  config: {
    own: 'MODELGATE_CONFIG_DIR',
    windows: ['APPDATA', 'AppData/Roaming', 'modelgate'],
    others: ['XDG_CONFIG_HOME', '.config', 'modelgate'],
  },
  state: {
    own: 'MODELGATE_STATE_DIR',
    windows: ['LOCALAPPDATA', 'AppData/Local', 'modelgate/State'],
    others: ['XDG_STATE_HOME', '.local/state', 'modelgate'],
  },
} as const

/** For configuration and credentials. Undefined without a home directory: then the program runs without configuration. */
export const configFolder = (context: Environment) => folderOf(context, 'config')

/** For data that outlives a command. Undefined without a home directory. */
export const stateFolder = (context: Environment) => folderOf(context, 'state')

/** For results that were paid for but cannot be written to their target. */
export const rescueFolder = (context: Environment) => inside(context, 'rescued')

export const sandboxFolder = (context: Environment) => inside(context, 'sandbox')

function inside(context: Environment, name: string): string | undefined {
  const folder = stateFolder(context)
  return folder === undefined ? undefined : pathsOf(context.platform).join(folder, name)
}

function folderOf(context: Environment, name: keyof typeof places): string | undefined {
  const { env, platform } = context
  const { join, isAbsolute, resolve } = pathsOf(platform)
  const { own, windows, others } = places[name]
  const explicit = env[own]
  // The working directory may no longer exist, so it is read only if it is needed.
  if (explicit) return isAbsolute(explicit) ? explicit : resolve(context.cwd, explicit)
  const [variable, fallback, ours] = platform === 'win32' ? windows : others
  const base = env[variable]
  // The XDG specification: a relative path is invalid and to be ignored.
  if (base && isAbsolute(base)) return join(base, ours)
  const home = homeFolder(context)
  return home === undefined ? undefined : join(home, fallback, ours)
}

export function homeFolder(context: Environment): string | undefined {
  const { env, home, platform } = context
  if (!pathsOf(platform).isAbsolute(home)) return undefined
  // Without a known home the context may return the working directory. A repository must never pass for the user's
  // own configuration, which may name commands to run.
  const isSet = Boolean(env['HOME'] ?? env['USERPROFILE'])
  return !isSet && home === context.cwd ? undefined : home
}
