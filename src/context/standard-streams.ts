import { readFileSync, readdirSync, readlinkSync, readSync, fstatSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { FileError, OutputClosed } from '../errors.ts'

/** Only a pipe can stay open without data. */
export type InputKind = 'terminal' | 'file' | 'pipe' | 'empty'

/** How much of it was read before this program started; `none` if unknown. */
export type Consumed = 'none' | 'some' | 'all'

export interface Input {
  readonly kind: InputKind
  /** Not `none` only for a file that another process reads, such as the list of a `while read` loop. */
  readonly consumed: Consumed
  /** The argument that reads it (`-`, `--tools @-`): it can be read only once. */
  reader?: string
  read(): AsyncIterable<Uint8Array>
  /** Stops reading, so that an open pipe does not keep the program alive. */
  release(): void
  /** For a library that asks questions on the terminal. */
  readonly stream: NodeJS.ReadStream | undefined
}

/** Writes never throw; `drain` reports errors. */
export interface Sink {
  readonly isTerminal: boolean
  /** 80 when it is not known. */
  readonly columns: number
  /** It was closed (`>&-`) before the program started: all output is lost. */
  readonly isClosed: boolean
  write(chunk: string | Uint8Array): void
  /** Then `drain` should be awaited. */
  readonly needsDrain: boolean
  readonly isIdle: boolean
  /** @throws OutputClosed if the reader has closed it, FileError for an error of the system (`ENOSPC`, …) */
  drain(): Promise<void>
  /** For a library that draws on the terminal. */
  readonly stream: NodeJS.WriteStream | undefined
}

/** @param open opens the stream lazily: it loads many modules */
export function createInput(open: () => NodeJS.ReadStream): Input {
  let stream: NodeJS.ReadStream | undefined
  return {
    get kind() {
      return kindOf(0)
    },
    get consumed() {
      return consumedInput()
    },
    async *read() {
      // Regular files are read directly: a stream of one cannot be released early.
      if (kindOf(0) === 'file') yield* readInput()
      else for await (const chunk of (stream ??= open())) yield chunk as Uint8Array
    },
    release() {
      stream?.destroy()
    },
    get stream() {
      return (stream ??= open())
    },
  }
}

function kindOf(descriptor: number): InputKind {
  try {
    const stat = fstatSync(descriptor)
    if (stat.isFile()) return 'file'
    if (stat.isCharacterDevice()) return isatty(descriptor) ? 'terminal' : 'empty'
    return 'pipe'
  } catch {
    return 'empty'
  }
}

/** Only Linux gives the offset. A shell that reads ahead resets it to the end of the line before it starts a program. */
function consumedInput(): Consumed {
  try {
    const stat = fstatSync(0)
    if (!stat.isFile()) return 'none'
    const [, offset] = /^pos:\s*(\d+)/m.exec(readFileSync('/proc/self/fdinfo/0', 'latin1')) ?? []
    if (offset === undefined || offset === '0') return 'none'
    return Number(offset) < stat.size ? 'some' : 'all'
  } catch {
    return 'none'
  }
}

function* readInput(): Generator<Uint8Array> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(65_536)
    const length = readSync(0, buffer)
    if (length === 0) return
    yield buffer.subarray(0, length)
  }
}

interface SinkOptions {
  readonly descriptor: number
  readonly onClosed: (reason: OutputClosed) => void
  readonly wasClosed: () => boolean
}

export function createSink(
  stream: NodeJS.WriteStream,
  { descriptor, onClosed, wasClosed }: SinkOptions,
): Sink {
  let failure: OutputClosed | FileError | undefined
  let pending = 0
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const resolve of waiting) resolve()
    waiting.clear()
  }
  const fail = (error: NodeJS.ErrnoException) => {
    // Windows has two codes for a pipe that its reader has closed.
    failure ??= error.code === 'EPIPE' || error.code === 'EOF' ? new OutputClosed() : outputError(error)
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
      return wasClosed()
    },
    get needsDrain() {
      return failure !== undefined || stream.writableNeedDrain
    },
    get isIdle() {
      return pending === 0 && failure === undefined
    },
    write(chunk) {
      if (failure !== undefined) return
      isFile ??= kindOf(descriptor) === 'file'
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
  return new FileError('write_failed', `Standard output cannot be written: ${reason}.`, { cause: error })
}

/** When a disk fills up and takes only a part, Node's own stream for standard output reports a success. */
function writeToFile(
  descriptor: number,
  chunk: string | Uint8Array,
  fail: (error: NodeJS.ErrnoException) => void,
): void {
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(descriptor, bytes, at)
  } catch (error) {
    fail(error as NodeJS.ErrnoException)
  }
}

/**
 * Whether it was closed (`>&-`) at the start: Node replaces it with /dev/null, open for reading and writing. A program that
 * discards the output on purpose may pass on just that, but no shell does. Only Linux knows.
 */
export function isOutputClosed(parent: number): boolean {
  try {
    if (!isNullDevice('self')) return false
    if (!readdirSync(`/proc/${parent}/fd`).includes('1')) return true
    return /(?:sh[\d.]*|busybox)$/.test(readlinkSync(`/proc/${parent}/exe`)) && !isNullDevice(parent)
  } catch {
    // No /proc, or a process of another user.
    return false
  }
}

/** Open for reading and writing: the last two bits of the flags are 2. */
function isNullDevice(id: number | 'self'): boolean {
  if (readlinkSync(`/proc/${id}/fd/1`) !== '/dev/null') return false
  return /^flags:\s*[0-7]*[26]$/m.test(readFileSync(`/proc/${id}/fdinfo/1`, 'latin1'))
}
