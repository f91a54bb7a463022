import { execFile, spawn } from 'node:child_process'
import { constants } from 'node:os'

/** A program and its arguments. */
export type Words = readonly [program: string, ...args: string[]]

export interface Ended {
  readonly code: number
  /** Whether the runner wanted it to end: somebody has cancelled the job, or its time is up. */
  readonly isCancelled: boolean
}

/**
 * Runs a program that prints to the log. The runner signals only this process, 7.5 seconds before it becomes rude: the
 * signal is passed on, and the program's end is awaited, so that what is under way can still be kept.
 * @throws Error when it cannot be started
 */
export async function run(
  [program, ...args]: Words,
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Ended> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'inherit', 'inherit'] })
  let isCancelled = false
  const pass = (signal: NodeJS.Signals) => {
    isCancelled = true
    // On Windows Ctrl-C reaches the whole console, and `kill` ends a program at once.
    if (process.platform !== 'win32') child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const signal of signals) process.on(signal, pass)
  try {
    return await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) =>
        resolve({ code: code ?? 128 + constants.signals[signal!], isCancelled }),
      )
    })
  } finally {
    for (const signal of signals) process.off(signal, pass)
  }
}

export interface Captured {
  readonly isDone: boolean
  /** Whether there is no such program. */
  readonly isMissing: boolean
  /** What it printed, on both streams. */
  readonly text: string
}

/** Runs a program whose output is read. */
export async function capture(
  [program, ...args]: Words,
  options: { readonly cwd?: string; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Captured> {
  return await new Promise((resolve) => {
    execFile(program, args, { ...options, timeout: 300_000 }, (error, stdout, stderr) =>
      resolve({
        isDone: error === null,
        isMissing: error?.code === 'ENOENT',
        text: `${stdout}${stderr}`.trim() || (error?.message ?? ''),
      }),
    )
  })
}
