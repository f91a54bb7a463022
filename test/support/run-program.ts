import { spawnSync } from 'node:child_process'

/** How a program ended, and what it wrote. */
export interface Ending {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program to its end, with nothing on standard input. */
export function runProgram(
  program: string,
  args: readonly string[],
  { cwd, env = process.env }: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Ending {
  const { status, stdout, stderr, error } = spawnSync(program, [...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 64 * 1024 * 1024,
    timeout: 120_000,
    // npm is a script on Windows.
    shell: process.platform === 'win32',
  })
  if (error !== undefined) throw error
  return { code: status, stdout, stderr }
}
