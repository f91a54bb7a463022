import type { Context } from '../context.ts'
import { pathsOf } from '../platform.ts'

export type Environment = Pick<Context, 'env' | 'home' | 'cwd' | 'platform'>

/**
 * For configuration and credentials: `MODELGATE_CONFIG_DIR`, else `$XDG_CONFIG_HOME/modelgate`, on Windows
 * `%AppData%\modelgate`. Undefined without a home directory: then the program runs without configuration.
 */
export function configFolder(context: Environment): string | undefined {
  const { MODELGATE_CONFIG_DIR: explicit, APPDATA, XDG_CONFIG_HOME } = context.env
  if (explicit) return absolute(context, explicit)
  return context.platform === 'win32'
    ? below(context, APPDATA, ['AppData', 'Roaming'])
    : below(context, XDG_CONFIG_HOME, ['.config'])
}

/**
 * For data that outlives a command: `MODELGATE_STATE_DIR`, else `$XDG_STATE_HOME/modelgate`, on Windows
 * `%LocalAppData%\modelgate\State`. Undefined without a home directory.
 */
export function stateFolder(context: Environment): string | undefined {
  const { MODELGATE_STATE_DIR: explicit, LOCALAPPDATA, XDG_STATE_HOME } = context.env
  if (explicit) return absolute(context, explicit)
  return context.platform === 'win32'
    ? inside(context, below(context, LOCALAPPDATA, ['AppData', 'Local']), 'State')
    : below(context, XDG_STATE_HOME, ['.local', 'state'])
}

/** For results that were paid for but cannot be written to their target. */
export const rescueFolder = (context: Environment) => inside(context, stateFolder(context), 'rescued')

export const sandboxFolder = (context: Environment) => inside(context, stateFolder(context), 'sandbox')

function inside({ platform }: Environment, folder: string | undefined, name: string): string | undefined {
  return folder === undefined ? undefined : pathsOf(platform).join(folder, name)
}

export function homeFolder(context: Environment): string | undefined {
  const { env, home, platform } = context
  if (!pathsOf(platform).isAbsolute(home)) return undefined
  // Without a known home the context may return the working directory. A repository must never pass for the user's
  // own configuration, which may name commands to run.
  const isSet = Boolean(env['HOME'] ?? env['USERPROFILE'])
  return !isSet && home === context.cwd ? undefined : home
}

/** The working directory may no longer exist, so it is read only if it is needed. */
function absolute(context: Environment, path: string): string {
  const { isAbsolute, resolve } = pathsOf(context.platform)
  return isAbsolute(path) ? path : resolve(context.cwd, path)
}

function below(
  context: Environment,
  base: string | undefined,
  fallback: readonly string[],
): string | undefined {
  const { join, isAbsolute } = pathsOf(context.platform)
  // The XDG specification: a relative path is invalid and to be ignored.
  if (base && isAbsolute(base)) return join(base, 'modelgate')
  const home = homeFolder(context)
  return home === undefined ? undefined : join(home, ...fallback, 'modelgate')
}
