import { close, constants, fstat, open, read, type Stats } from 'node:fs'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Context } from '../context.ts'
import { defaultSeconds, maxRequestBytes } from '../contract/limits.ts'
import { ModelgateError, UsageError } from '../errors.ts'
import { consumeInput, type ByteSource } from './consume-input.ts'
import { readError, shownPath } from './file-error.ts'

/** A file that will be sent, looked at before anything is. */
export interface InputFile {
  /** As it was given. */
  readonly path: string
  /** Its size. */
  readonly bytes: number
  /** Its first bytes (4 KiB unless more are asked for), which tell its type. */
  readonly head: Uint8Array
  /** All of a pipe, which can be read only once. */
  readonly content?: Buffer
}

export interface ReadLimits {
  /** In bytes; what a request can hold at all when left out, which is also the most that is read of a pipe. */
  readonly maxBytes?: number
  /** How many of the first bytes are wanted. */
  readonly headBytes?: number
  /** Whether a pipe will do, such as `<(command)`; true when left out. */
  readonly pipes?: boolean
  /** What else is wrong with the file, by its mode. */
  readonly refuse?: (found: Stats) => ModelgateError | undefined
}

type Surroundings = Pick<Context, 'cwd' | 'clock' | 'signal'>

const defaultHeadBytes = 4096

const openFile = promisify(open)
const statOf = promisify(fstat)
const readBytes = promisify(read)
const closeFile = promisify(close)

/**
 * Describes a file without reading it whole, or reads a pipe. A problem is returned, not thrown, so that several files'
 * problems can be told at once: missing, a folder, a device, empty, too large, a pipe that stays silent (exit 2),
 * unreadable (exit 10).
 * @throws the reason of the context's signal
 */
export function describeInputFile(
  context: Surroundings,
  path: string,
  limits: ReadLimits = {},
): Promise<InputFile | ModelgateError> {
  const { headBytes = defaultHeadBytes } = limits
  return withInputFile(context, path, limits, async (file) => {
    if (Buffer.isBuffer(file)) {
      return { path, bytes: file.length, head: file.subarray(0, headBytes), content: file }
    }
    const head = Buffer.alloc(Math.min(file.size, headBytes))
    const { bytesRead } = await readBytes(file.descriptor, head, 0, head.length, 0)
    return { path, bytes: file.size, head: head.subarray(0, bytesRead) }
  })
}

/** Reads a whole file or pipe; problems are returned as by `describeInputFile`. */
export function readInputFile(
  context: Surroundings,
  path: string,
  limits: ReadLimits = {},
): Promise<Buffer | ModelgateError> {
  const { maxBytes = maxRequestBytes } = limits
  return withInputFile(context, path, limits, (file) =>
    Buffer.isBuffer(file) ? file : readWhole(path, file, maxBytes),
  )
}

interface OpenFile {
  readonly descriptor: number
  readonly size: number
}

/** @param use gets an open file, or all of a pipe */
async function withInputFile<Value>(
  context: Surroundings,
  path: string,
  { maxBytes = maxRequestBytes, pipes = true, refuse }: ReadLimits,
  use: (file: OpenFile | Buffer) => Value | Promise<Value>,
): Promise<Value | ModelgateError> {
  if (path === '' || path.includes('\0')) {
    return new UsageError(`${JSON.stringify(path)} is not a file name.`, { code: 'bad_file_name' })
  }
  let descriptor: number | undefined
  try {
    // Opening a pipe that nobody writes to would block a thread for ever, and with it the end of the program.
    descriptor = await openFile(resolve(context.cwd, path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await statOf(descriptor)
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    const problem = refuse?.(found)
    if (problem !== undefined) return problem
    if (pipes && found.isFIFO()) {
      const content = await readPipe(context, path, descriptor, Math.min(maxBytes, maxRequestBytes), () => {
        descriptor = undefined
      })
      return content.length === 0 ? empty(path) : await use(content)
    }
    if (!found.isFile()) return notRegular(path, pipes)
    if (found.size === 0) return empty(path)
    if (found.size > maxBytes) return tooLarge(path, `${found.size} bytes`, maxBytes)
    return await use({ descriptor, size: found.size })
  } catch (error) {
    context.signal.throwIfAborted()
    return error instanceof ModelgateError ? error : readError(error, path)
  } finally {
    if (descriptor !== undefined) await closeFile(descriptor)
  }
}

/** Reads to the end, which is elsewhere than its size says when somebody writes to the file meanwhile. */
async function readWhole(path: string, { descriptor, size }: OpenFile, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for (;;) {
    const wanted = Math.min(chunks.length === 0 ? size + 1 : 65_536, maxBytes + 1 - bytes)
    const buffer = Buffer.allocUnsafe(wanted)
    const { bytesRead } = await readBytes(descriptor, buffer, 0, wanted, null)
    if (bytesRead === 0) return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, bytes)
    bytes += bytesRead
    if (bytes > maxBytes) throw tooLarge(path, `more than ${maxBytes} bytes`, maxBytes)
    chunks.push(buffer.subarray(0, bytesRead))
  }
}

/** @param taken called when the descriptor belongs to the stream, which closes it */
async function readPipe(
  context: Surroundings,
  path: string,
  descriptor: number,
  maxBytes: number,
  taken: () => void,
): Promise<Buffer> {
  const { Socket } = await import('node:net')
  const socket = new Socket({ fd: descriptor, readable: true, writable: false })
  taken()
  const source: ByteSource = { read: () => socket, release: () => socket.destroy() }
  const silence = {
    afterMs: defaultSeconds.standardInput * 1000,
    act() {
      const message = `${shownPath(path)} is a pipe that stayed silent for ${defaultSeconds.standardInput} s.`
      throw new UsageError(message, { code: 'pipe_silent' })
    },
  }
  const over = () => tooLarge(path, `more than ${maxBytes} bytes`, maxBytes)
  return await consumeInput(context, source, { maxBytes, tooLarge: over, steps: [silence] })
}

function notRegular(path: string, pipes: boolean): UsageError {
  return new UsageError(`${shownPath(path)} is not a regular file${pipes ? ' or a pipe' : ''}.`, {
    code: 'not_a_file',
  })
}

function empty(path: string): UsageError {
  return new UsageError(`${shownPath(path)} is empty.`, { code: 'empty_file' })
}

function tooLarge(path: string, size: string, maxBytes: number): UsageError {
  const message = `${shownPath(path)} is too large: ${size}, at most ${maxBytes} are taken.`
  return new UsageError(message, { code: 'file_too_large' })
}
