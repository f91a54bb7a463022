import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { sep } from 'node:path'
import type { Context } from '../context.ts'
import { maxKeyBytes } from '../contract/limits.ts'
import { UsageError } from '../errors.ts'
import { trimKey } from './key-file.ts'
import { homeFolder } from './paths.ts'

const limitMs = 10_000

/**
 * Runs the user's own command through the platform's shell and takes what it prints as the key.
 * It starts in the home directory, so that nothing in the working directory can stand in for a program it names.
 * Neither the command nor what it prints is ever part of a message.
 *
 * @throws UsageError `key_command_failed` when it fails, prints too much or takes longer than 10 seconds;
 *   the signal's reason when aborted
 */
export async function runKeyCommand(context: Context, command: string, source: string): Promise<string> {
  const { spawn } = await import('node:child_process')
  const home = homeFolder(context)
  const child = spawn(command, {
    shell: true,
    cwd: home !== undefined && existsSync(home) ? home : sep,
    env: { ...context.env },
    stdio: ['ignore', 'pipe', 'ignore'],
    windowsHide: true,
  })
  const failure = (problem: string, cause?: unknown) =>
    new UsageError(`The command that should print the API key (${source}) ${problem}.`, {
      phase: 'config',
      code: 'key_command_failed',
      hint: 'Run it by hand in your home directory to see why.',
      cause,
    })
  return finished(context, child, failure)
}

function finished(
  { clock, signal }: Context,
  child: ChildProcess,
  failure: (problem: string, cause?: unknown) => UsageError,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (settle: () => void) => {
      timer.cancel()
      signal.removeEventListener('abort', onAbort)
      // The shell's own children may live on; nothing of ours waits for them.
      child.kill()
      child.stdout?.destroy()
      child.unref()
      settle()
    }
    const fail = (problem: string, cause?: unknown) => end(() => reject(failure(problem, cause)))
    const onAbort = () => end(() => reject(signal.reason as Error))
    const timer = clock.timer(limitMs, () => fail(`took longer than ${limitMs / 1000} seconds`))
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) return onAbort()
    child.stdout?.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxKeyBytes) fail('printed far more than a key')
    })
    child.on('error', (error) => fail('could not be started', error))
    child.on('close', (code, killedBy) => {
      if (code !== 0) fail(killedBy === null ? `ended with exit code ${code}` : `was ended by ${killedBy}`)
      else end(() => resolve(trimKey(Buffer.concat(chunks))))
    })
  })
}
