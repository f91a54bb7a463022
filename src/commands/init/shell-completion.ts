import { accessSync, constants } from 'node:fs'
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { homeFolder } from '../../config/paths.ts'
import type { Context } from '../../context.ts'
import { readError, writeError } from '../../files/file-error.ts'
import { pathsOf } from '../../platform.ts'
import type { Shell } from '../completion.ts'

export interface ShellCompletion {
  readonly shell: Shell
  /** For the shell's own start file. It does nothing where the program is not installed. */
  readonly line: string
  /** The start file; undefined where only the shell itself knows it. */
  readonly path: string | undefined
}

const lines: Readonly<Record<Shell, string>> = {
  bash: 'command -v modelgate >/dev/null && eval "$(modelgate completion bash)"',
  zsh: '(( $+commands[modelgate] )) && { (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }; eval "$(modelgate completion zsh)" }',
  fish: 'type -q modelgate; and modelgate completion fish | source',
  powershell:
    'if (Get-Command modelgate -ErrorAction Ignore) { modelgate completion powershell | Out-String | Invoke-Expression }',
}

/** The completion of the user's shell; undefined for a shell without one. */
export function completionFor(context: Context): ShellCompletion | undefined {
  const shell = shellOf(context)
  if (shell === undefined) return undefined
  const home = homeFolder(context)
  return { shell, line: lines[shell], path: home === undefined ? undefined : startFile(context, shell, home) }
}

/** PowerShell leaves the login shell in SHELL and sets a variable of its own, which Windows has everywhere. */
function shellOf({ env, platform }: Context): Shell | undefined {
  const name = basename(env['SHELL'] ?? '').replace(/\.exe$/, '')
  if (platform === 'win32' ? name === '' : hasPowerShell(env)) return 'powershell'
  return name === 'bash' || name === 'zsh' || name === 'fish' ? name : undefined
}

/** PowerShell sets it for all that it starts. */
const hasPowerShell = (env: Context['env']) => Object.hasOwn(env, 'PSModulePath')

function startFile({ env, platform }: Context, shell: Shell, home: string): string | undefined {
  const config = env['XDG_CONFIG_HOME'] || join(home, '.config')
  switch (shell) {
    case 'bash':
      // On macOS a terminal starts login shells, which do not read .bashrc.
      return join(home, platform === 'darwin' ? '.bash_profile' : '.bashrc')
    case 'zsh':
      return join(env['ZDOTDIR'] || home, '.zshrc')
    case 'fish':
      return join(config, 'fish', 'config.fish')
    case 'powershell':
      // On Windows the folder of documents may be anywhere: $PROFILE knows.
      return platform === 'win32' ? undefined : join(config, 'powershell', 'Microsoft.PowerShell_profile.ps1')
  }
}

/** Whether the start file loads completion already, in whatever way. @throws FileError */
export async function hasCompletion({ path }: ShellCompletion): Promise<boolean> {
  return path !== undefined && /\bmodelgate completion\b/.test(await textOf(path))
}

/**
 * Appends the line to the start file, once.
 * @returns whether it was appended
 * @throws FileError
 */
export async function addCompletion(completion: ShellCompletion): Promise<boolean> {
  const { line, path } = completion
  if (path === undefined || (await hasCompletion(completion))) return false
  const before = await textOf(path)
  const gap = before === '' || before.endsWith('\n') ? '' : '\n'
  try {
    await mkdir(dirname(path), { recursive: true })
    // Appending keeps a start file that is a symbolic link, as those of dotfile managers are.
    await appendFile(path, `${gap}${line}\n`)
  } catch (error) {
    throw writeError(error, path)
  }
  return true
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw readError(error, path)
  }
}

/** Whether a shell finds the program by its name. */
export function isOnPath({ env, platform }: Context): boolean {
  const names = platform === 'win32' ? ['modelgate.cmd', 'modelgate.ps1', 'modelgate.exe'] : ['modelgate']
  const { delimiter } = pathsOf(platform)
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.some((folder) => names.some((name) => isExecutable(join(folder, name))))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
