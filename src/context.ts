import { homedir } from 'node:os'
import { obeySignals } from './context/signals.ts'
import { createInput, createSink, isOutputClosed, type Input, type Sink } from './context/standard-streams.ts'
import { findTerminalId, systemTerminal } from './context/terminal.ts'
import { FileError } from './errors.ts'
import { copyEnvironment } from './platform.ts'

export type { Input, InputKind, Sink } from './context/standard-streams.ts'

export interface Timer {
  cancel(): void
}

/** Time and randomness, replaceable in tests. All durations are milliseconds. */
export interface Clock {
  now(): number
  monotonic(): number
  /** Calls back once; keeps the process alive until then, unless it is a `background` timer. */
  timer(ms: number, callback: () => void, label?: 'sleep' | 'background'): Timer
  /** A number in [0, 1). */
  random(): number
}

export interface Processes {
  readonly own: number
  /** Whether there is a process with this id; it may have ended already, if its parent does not know yet. */
  isRunning(id: number): boolean
}

/** The program's only access to the process. */
export interface Context {
  readonly stdin: Input
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /** @throws FileError when it has been removed */
  readonly cwd: string
  readonly home: string
  readonly platform: NodeJS.Platform
  readonly nodeVersion: string
  readonly clock: Clock
  readonly processes: Processes
  /** Aborted with an `Interrupted` on a signal, with an `OutputClosed` when standard output is closed. */
  readonly signal: AbortSignal
  /** The command that starts this program, for hints to paste. */
  readonly program: string
  /** The words after it, as typed. */
  commandLine?: readonly string[]
  /** Identifies the terminal that the command was typed in; undefined without one (`findTerminalId`). */
  readonly terminalId: string | undefined
}

export type FileContext = Pick<Context, 'cwd' | 'platform' | 'clock' | 'signal'>

export type FileHost = Pick<Context, 'platform' | 'clock'>

export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason as Error)
    }
    const onTime = () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }
    const timer = clock.timer(ms, onTime, 'sleep')
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Random hexadecimal digits, for ids that have to be unique, not secret: loading node:crypto takes longer than a start. */
export function randomHex(clock: Clock, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(clock.random() * 16).toString(16)).join('')
}

/** Lets others have their turn, without using the clock: work without a pause keeps even a signal waiting. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Whether the output goes to a CI runner; most set `CI`, GitHub's sets both, Azure's and TeamCity's only their own. */
export function inCi(env: Context['env']): boolean {
  return Boolean(env['CI'] || env['GITHUB_ACTIONS'] || env['TF_BUILD'] || env['TEAMCITY_VERSION'])
}

/** `FORCE_COLOR` decides, then `NO_COLOR` (no-color.org: set and not empty), then the terminal. */
export function wantsColour(
  { env }: Pick<Context, 'env'>,
  { isTerminal }: Pick<Sink, 'isTerminal'>,
): boolean {
  if (env['FORCE_COLOR']) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false'
  if (env['NO_COLOR']) return false
  return Boolean(isTerminal) && env['TERM'] !== 'dumb'
}

let isTuned = false

/**
 * A long stream, or a run of many instances, creates mostly short-lived garbage: a growing young generation would double
 * the memory without saving time, and incremental marking would cost more than it frees. The old generation is collected
 * when it has grown by half: by default it may grow to four times what is in use. Called only once the work proves to be
 * long, because loading `node:v8` takes as long as a short reply.
 */
export function tuneForLongWork(): void {
  if (isTuned) return
  isTuned = true
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-incremental-marking')
  setFlagsFromString('--heap-growing-percent=50')
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // `performance` would load another module.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  timer(ms, callback, label) {
    // setTimeout overflows above 2^31 - 1 ms and would fire at once.
    const handle = setTimeout(callback, Math.min(ms, 2_147_483_647))
    if (label === 'background') handle.unref()
    return { cancel: () => clearTimeout(handle) }
  },
  random: () => Math.random(),
}

export const systemProcesses: Processes = {
  own: process.pid,
  isRunning(id) {
    try {
      // Signal 0 reaches nobody: the system only says whether it could.
      return process.kill(id, 0)
    } catch (error) {
      // Another user's process may not be signalled.
      return (error as NodeJS.ErrnoException).code === 'EPERM'
    }
  },
}

export interface SystemContext extends Context {
  /**
   * Ends the process with an exit code, or by the signal that it received, after all output has been flushed. Resolves
   * if only the exit code was to be set: then the process ends by itself.
   */
  end(exitCode: number): Promise<void>
}

/** The context of the real process. Installs the signal handlers; a second signal ends the process at once. */
export function systemContext(): SystemContext {
  const controller = new AbortController()
  const abort = (reason: Error) => controller.abort(reason)
  const end = obeySignals(process, systemClock, abort)
  const stdout = createSink(process.stdout, {
    descriptor: 1,
    onClosed: abort,
    wasClosed: () => !process.stdout.isTTY && isOutputClosed(process.ppid),
  })
  // A closed standard error does not stop the program.
  const stderr = createSink(process.stderr, { descriptor: 2, onClosed: () => {}, wasClosed: () => false })
  return {
    stdin: createInput(() => process.stdin),
    stdout,
    stderr,
    env: environment(),
    get cwd() {
      return workingDirectory()
    },
    home: safeHome(),
    platform: process.platform,
    nodeVersion: process.versions.node,
    clock: systemClock,
    processes: systemProcesses,
    signal: controller.signal,
    program: 'modelgate',
    get terminalId() {
      return findTerminalId(systemTerminal(process.env, process.platform))
    },
    end: (exitCode) => end(exitCode, () => Promise.allSettled([stdout.drain(), stderr.drain()])),
  }
}

/**
 * Certificates are always checked (gateway/exchange.ts). Without the variable, Node does not warn that they are not;
 * key commands still get it.
 */
function environment(): Context['env'] {
  const name = 'NODE_TLS_REJECT_UNAUTHORIZED'
  if (process.env[name] === undefined) return process.env
  const env = copyEnvironment(process.platform, process.env)
  delete process.env[name]
  return env
}

function workingDirectory(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new FileError('not_found', 'The working directory no longer exists.', {
      phase: 'input',
      billed: 'no',
      hint: 'Go to another folder with cd, and run the command again.',
      cause,
    })
  }
}

/** Empty if there is none: the working directory must never pass for the user's home. */
function safeHome(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}
