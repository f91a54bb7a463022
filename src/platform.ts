import { posix, win32 } from 'node:path'

/**
 * What differs between the systems that the program runs on, as functions of the platform, so that tests run every side
 * on any of them.
 */
type Platform = NodeJS.Platform

export function pathsOf(platform: Platform): typeof posix {
  return platform === 'win32' ? win32 : posix
}

/** On Windows all permission bits are always set: it protects the user's folder instead. */
export function hasPermissions(platform: Platform): boolean {
  return platform !== 'win32'
}

/**
 * On Windows a file that another program has open at this moment can be neither renamed nor removed; a virus scanner opens
 * every new file.
 */
export function mayBeHeld(platform: Platform, code: string | undefined): boolean {
  return platform === 'win32' && (code === 'EPERM' || code === 'EACCES' || code === 'EBUSY')
}

/** The line that sets variables of the environment in the usual shell: of POSIX, or PowerShell. Values need no quotes. */
export function settingVariables(platform: Platform, variables: Readonly<Record<string, string>>): string {
  const entries = Object.entries(variables)
  return platform === 'win32'
    ? entries.map(([name, value]) => `$env:${name}='${value}'`).join('; ')
    : `export ${entries.map((entry) => entry.join('=')).join(' ')}`
}

/** A copy of the environment; on Windows names are found in any case, as in that of the process itself. */
export function copyEnvironment(
  platform: Platform,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const copy = { ...env }
  if (platform !== 'win32') return copy
  const names = new Map(Object.keys(copy).map((name) => [name.toUpperCase(), name]))
  return new Proxy(copy, {
    get: (target, name: string) => target[names.get(String(name).toUpperCase()) ?? name],
  })
}
