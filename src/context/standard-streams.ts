import { readFileSync, readdirSync, readlinkSync, readSync, fstatSync, writeSync } from 'node:fs'
import { basename } from 'node:path'
import { isatty } from 'node:tty'
import { FileError, OutputClosed } from '../errors.ts'

/** What standard input is connected to; only a pipe can be open and silent. */
export type InputKind = 'terminal' | 'file' | 'pipe' | 'empty'

/** How much of a file had been read before this program started; `none` where the system does not say. */
export type Consumed = 'none' | 'some' | 'all'

export interface Input {
  readonly kind: InputKind
  /** More than `none` only for a file that somebody else is reading: the `while read` loop around this program. */
  readonly consumed: Consumed
  /** What on the command line reads it (`-`, `--tools @-`): it can be read only once. Set by that reader. */
  reader?: string
  /** The bytes, as they come, to the end. */
  read(): AsyncIterable<Uint8Array>
  /** Stops reading, so that an open pipe does not keep the program alive. */
  release(): void
  /** The stream itself, for a library that asks questions on the terminal. */
  readonly stream: NodeJS.ReadStream | undefined
}

/** Standard output or standard error. Writes never throw; `drain` reports what became of them. */
export interface Sink {
  readonly isTerminal: boolean
  /** Width in characters; 80 when it is not known. */
  readonly columns: number
  /** True when it was closed (`>&-`) before the program started: everything written is lost. */
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

/** @param open opens the stream, which loads everything that it may need */
export function createInput(open: () => NodeJS.ReadStream): Input {
  let stream: NodeJS.ReadStream | undefined
  return {
    get kind() {
      return kindOf(0)
    },
    get consumed() {
      return consumedOf(0)
    },
    async *read() {
      // Regular files are read directly: a stream of one cannot be released early.
      if (kindOf(0) === 'file') yield* readDescriptor(0)
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
    // A closed descriptor has nothing to read.
    return 'empty'
  }
}

/** Only Linux gives the offset. A shell that reads ahead resets it to the end of the line before it starts a program. */
function consumedOf(descriptor: number): Consumed {
  try {
    const stat = fstatSync(descriptor)
    if (!stat.isFile()) return 'none'
    const [, offset] = /^pos:\s*(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? []
    if (offset === undefined || offset === '0') return 'none'
    return Number(offset) < stat.size ? 'some' : 'all'
  } catch {
    return 'none'
  }
}

function* readDescriptor(descriptor: number): Generator<Uint8Array> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(65_536)
    const length = readSync(descriptor, buffer)
    if (length === 0) return
    yield buffer.subarray(0, length)
  }
}

interface SinkOptions {
  readonly descriptor: number
  /** Called once, when the reader has gone. */
  readonly onClosed: (reason: OutputClosed) => void
  /** Whether the stream was closed before the program started. */
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
  return new FileError('output_failed', `Standard output cannot be written: ${reason}.`, { cause: error })
}

/**
 * Writes all of a chunk to an open file. When a disk fills up and takes only a part, Node's own stream for standard
 * output reports a success.
 */
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

/** These open /dev/null for writing only. Others, such as Node and Python, open it for reading as well. */
const shells =
  /^(?:sh|ash|bash|busybox|csh|dash|elvish|fish|ksh|ksh93|loksh|mksh|oksh|osh|pdksh|tcsh|yash|zsh)(?:-[\d.]+)?$/

/**
 * Whether standard output was closed (`>&-`) when the program was started.
 * Node replaces a closed descriptor with /dev/null, open for reading and writing. A caller that discards the output
 * on purpose may pass on just that, but no shell does: so the first ancestor with another standard output decides.
 * Only Linux can tell.
 * @param parent the id of the process that started this one
 */
export function isOutputClosed(parent: number): boolean {
  try {
    if (outputOf('self') !== 'null') return false
    // Process 1 adopts what others have started.
    for (let id = parent; id > 1; id = parentOf(id)) {
      const output = outputOf(id)
      if (output === 'closed') return true
      if (output === 'other') return shells.test(basename(readlinkSync(`/proc/${id}/exe`)))
    }
    return false
  } catch {
    // There is no /proc, or the process is somebody else's.
    return false
  }
}

/** `null` is also what Node makes of a closed one. */
function outputOf(id: number | 'self'): 'null' | 'closed' | 'other' {
  const folder = `/proc/${id}`
  if (!readdirSync(`${folder}/fd`).includes('1')) return 'closed'
  if (readlinkSync(`${folder}/fd/1`) !== '/dev/null') return 'other'
  const [, flags = '0'] = /^flags:\s*([0-7]+)/m.exec(readFileSync(`${folder}/fdinfo/1`, 'latin1')) ?? []
  // The last two bits: 0 for reading, 1 for writing, 2 for both.
  return (Number.parseInt(flags, 8) & 3) === 2 ? 'null' : 'other'
}

function parentOf(id: number): number {
  // The name, which comes before it in parentheses, may hold anything.
  const [, , parent] = readFileSync(`/proc/${id}/stat`, 'latin1').split(')').at(-1)!.split(' ')
  return Number(parent)
}
