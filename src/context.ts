import { homedir } from 'node:os'
import { isOutputClosed, isRegularFile, writeToFile } from './context/standard-output.ts'
import { obeySignals } from './context/signals.ts'
import { createInput, type Input } from './context/standard-input.ts'
import { FileError, OutputClosed } from './errors.ts'

export type { Input, InputKind } from './context/standard-input.ts'

/** Standard output or standard error. Writes never throw; `drain` tells what became of them. */
export interface Sink {
  readonly isTerminal: boolean
  /** Width in characters; 80 when it is not known. */
  readonly columns: number
  /** True when it was closed (`>&-`) before the program began: then everything written is lost. */
  readonly isClosed: boolean
  write(chunk: string | Uint8Array): void
  /** True once more is buffered than the reader takes: then `drain` should be awaited. */
  readonly needsDrain: boolean
  /** Whether everything written has been handed to the system. */
  readonly isIdle: boolean
  /**
   * Waits until everything written has been handed to the system.
   * @throws OutputClosed when the reader has gone, FileError when the system refused (`ENOSPC`, …)
   */
  drain(): Promise<void>
  /** The stream itself, for a library that draws on the terminal. */
  readonly stream: NodeJS.WriteStream | undefined
}

export interface Timer {
  cancel(): void
}

/** Time and chance, so that tests can own both. All durations are milliseconds. */
export interface Clock {
  /** Wall clock, milliseconds since 1970. */
  now(): number
  /** Monotonic clock, milliseconds. */
  monotonic(): number
  /** Calls back once after `ms`; keeps the process alive until then. */
  timer(ms: number, callback: () => void): Timer
  /** A number in [0, 1). */
  random(): number
}

/** The program's only door to the process. */
export interface Context {
  readonly stdin: Input
  readonly stdout: Sink
  readonly stderr: Sink
  readonly env: Readonly<Record<string, string | undefined>>
  /** @throws FileError when it has been removed */
  readonly cwd: string
  readonly home: string
  readonly platform: NodeJS.Platform
  readonly clock: Clock
  /** Aborted with an `Interrupted` on a signal, with an `OutputClosed` when standard output is closed. */
  readonly signal: AbortSignal
  /** The words that start this program, for hints that can be pasted. */
  readonly program: string
}

/** Sleeps on the given clock; rejects with the signal's reason when aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const onAbort = () => {
      timer.cancel()
      reject(signal?.reason as Error)
    }
    const timer = clock.timer(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** Lets everything else that is due go first, between two pieces of long work. Takes no time that a clock would own. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

let isTuned = false

/**
 * A long stream makes only short-lived garbage: growing the space for it would double the memory and gain no time,
 * and marking what lives longer, beside the work, would cost more than it ever finds.
 * To be called when the stream proves to be long: Node's module for it takes as long to load as a short reply.
 */
export function tuneForLongWork(): void {
  if (isTuned) return
  isTuned = true
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--no-incremental-marking')
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // Asking `performance` would load the module behind it.
  monotonic: () => Number(process.hrtime.bigint()) / 1e6,
  timer(ms, callback) {
    // setTimeout overflows above 2^31 - 1 ms and would fire at once.
    const handle = setTimeout(callback, Math.min(ms, 2_147_483_647))
    return { cancel: () => clearTimeout(handle) }
  },
  random: () => Math.random(),
}

export interface SystemContext extends Context {
  /**
   * Ends the process with an exit code, or of the signal that it got, once everything written has been handed over.
   * Resolves where only the code was to be set: then the process ends by itself.
   */
  end(exitCode: number): Promise<void>
}

/** The context of the real process. Installs the signal handlers; a second signal ends the process at once. */
export function systemContext(): SystemContext {
  const controller = new AbortController()
  const abort = (reason: Error) => controller.abort(reason)
  const end = obeySignals(process, systemClock, abort)
  const stdout = systemSink(1, process.stdout, {
    onClosed: abort,
    // Only what is no terminal, file or pipe can have been put in its place.
    isClosed: () => !process.stdout.isTTY && isOutputClosed(process.ppid),
  })
  // Nobody reading the messages is no reason to stop.
  const stderr = systemSink(2, process.stderr, { onClosed: () => {}, isClosed: () => false })
  return {
    stdin: createInput(() => process.stdin),
    stdout,
    stderr,
    env: process.env,
    get cwd() {
      return workingDirectory()
    },
    home: safeHome(),
    platform: process.platform,
    clock: systemClock,
    signal: controller.signal,
    program: 'modelgate',
    end: (exitCode) => end(exitCode, () => Promise.allSettled([stdout.drain(), stderr.drain()])),
  }
}

/** Asked for only where it is needed: somebody may have removed it. */
function workingDirectory(): string {
  try {
    return process.cwd()
  } catch (cause) {
    throw new FileError('cwd_missing', 'The working directory does not exist any more.', {
      phase: 'input',
      billed: 'no',
      hint: 'Go to another folder with cd, and run it again.',
      cause,
    })
  }
}

/** Empty when there is none: the working directory must never pass for the user's own. */
function safeHome(): string {
  try {
    return homedir()
  } catch {
    return ''
  }
}

interface SinkEvents {
  onClosed(reason: OutputClosed): void
  isClosed(): boolean
}

function systemSink(
  descriptor: number,
  stream: NodeJS.WriteStream,
  { onClosed, isClosed }: SinkEvents,
): Sink {
  let failure: OutputClosed | FileError | undefined
  let pending = 0
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  const fail = (error: NodeJS.ErrnoException) => {
    failure ??= error.code === 'EPIPE' ? new OutputClosed() : outputError(error)
    if (failure instanceof OutputClosed) onClosed(failure)
    wake()
  }
  stream.on('error', fail)
  let isFile: boolean | undefined
  return {
    isTerminal: stream.isTTY === true,
    get columns() {
      return stream.columns || 80
    },
    get isClosed() {
      return isClosed()
    },
    get needsDrain() {
      return failure !== undefined || stream.writableNeedDrain
    },
    get isIdle() {
      return pending === 0 && failure === undefined
    },
    write(chunk) {
      if (failure !== undefined) return
      isFile ??= isRegularFile(descriptor)
      if (isFile) return writeToFile(descriptor, chunk, fail)
      pending++
      stream.write(chunk, () => {
        if (--pending === 0) wake()
      })
    },
    async drain() {
      while (pending > 0 && failure === undefined) await new Promise<void>((resolve) => waiting.add(resolve))
      if (failure !== undefined) throw failure
    },
    stream,
  }
}

function outputError(error: NodeJS.ErrnoException): FileError {
  const reason = error.code === 'ENOSPC' ? 'no space left' : (error.code ?? error.message)
  return new FileError('output_failed', `Standard output cannot be written: ${reason}.`, { cause: error })
}
