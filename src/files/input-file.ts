import { isUtf8 } from 'node:buffer'
import { close, constants, fstat, open, read, type Stats } from 'node:fs'
import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Context } from '../context.ts'
import { defaultSeconds, maxRequestBytes } from '../limits.ts'
import { FileError, type ModelgateError, UsageError } from '../errors.ts'
import { fileNameProblem, readError, shownPath } from './file-error.ts'

interface InputFile {
  readonly path: string
  readonly bytes: number
  readonly head: Uint8Array
  /** Of a pipe, which can be read only once. */
  readonly content?: Buffer
}

interface ReadLimits {
  /** By default the limit of a request, which is also the most that is read from a pipe. */
  readonly maxBytes?: number
  readonly headBytes?: number
  /** Such as `<(command)`; accepted unless false. */
  readonly pipes?: boolean
  readonly refuse?: (found: Stats) => ModelgateError | undefined
}

type InputContext = Pick<Context, 'cwd' | 'clock' | 'signal'>

const defaultHeadBytes = 4096

const openFile = promisify(open)
const statOf = promisify(fstat)
const readBytes = promisify(read)
const closeFile = promisify(close)

/** A problem is returned, so that several can be reported at once. @throws the signal's reason */
export function describeInputFile(
  context: InputContext,
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

export function readInputFile(
  context: InputContext,
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

async function withInputFile<Value>(
  context: InputContext,
  path: string,
  { maxBytes = maxRequestBytes, pipes = true, refuse }: ReadLimits,
  use: (file: OpenFile | Buffer) => Value | Promise<Value>,
): Promise<Value | ModelgateError> {
  const badName = fileNameProblem(path)
  if (badName !== undefined) return badName
  let descriptor: number | undefined
  try {
    // Opening a pipe without a writer would block a thread, and so prevent the program from exiting.
    descriptor = await openFile(resolve(context.cwd, path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await statOf(descriptor)
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    const problem = refuse?.(found)
    if (problem !== undefined) return problem
    if (pipes && found.isFIFO()) {
      const { Socket } = await import('node:net')
      const socket = new Socket({ fd: descriptor, readable: true, writable: false })
      // The socket owns the descriptor from here on.
      descriptor = undefined
      const content = await readPipe(context, path, socket, Math.min(maxBytes, maxRequestBytes))
      return content.length === 0 ? empty(path) : await use(content)
    }
    if (!found.isFile()) return notRegular(path, pipes)
    if (found.size === 0) return empty(path)
    if (found.size > maxBytes) return tooLarge(path, `${found.size} bytes`, maxBytes)
    return await use({ descriptor, size: found.size })
  } catch (error) {
    context.signal.throwIfAborted()
    return readError(error, path)
  } finally {
    // Only read: what the system says of closing it changes nothing.
    if (descriptor !== undefined) await closeFile(descriptor).catch(() => {})
  }
}

/** Reads to the actual end: the size may be outdated if the file is still being written. */
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

async function readPipe(
  context: InputContext,
  path: string,
  socket: Socket,
  maxBytes: number,
): Promise<Buffer> {
  const source: ByteSource = { read: () => socket, release: () => socket.destroy() }
  const silence = {
    afterMs: defaultSeconds.standardInput * 1000,
    act() {
      const message = `No data arrived from the pipe ${shownPath(path)} within ${defaultSeconds.standardInput} s.`
      throw new UsageError(message, { code: 'input_silent' })
    },
  }
  const over = () => tooLarge(path, `more than ${maxBytes} bytes`, maxBytes)
  return await consumeInput(context, source, { maxBytes, tooLarge: over, steps: [silence] })
}

export function notRegular(path: string, pipes = false): FileError {
  const message = `${shownPath(path)} is not a regular file${pipes ? ' or a pipe' : ''}.`
  return new FileError('not_a_file', message, { phase: 'input' })
}

function empty(path: string): UsageError {
  return new UsageError(`${shownPath(path)} is empty.`, { code: 'empty_file' })
}

function tooLarge(path: string, size: string, maxBytes: number): UsageError {
  const message = `${shownPath(path)} is too large: ${size}; the limit is ${maxBytes} bytes.`
  return new UsageError(message, { code: 'file_too_large' })
}

/** Standard input, or a pipe. */
interface ByteSource {
  read(): AsyncIterable<Uint8Array>
  /** Stops reading, so that an open pipe does not keep the program alive. */
  release(): void
}

export interface SilenceStep {
  readonly afterMs: number
  act(): void
}

interface ConsumeOptions {
  readonly maxBytes: number
  readonly tooLarge: () => Error
  /** Cancelled by the first byte; after that there is no time limit. */
  readonly steps?: readonly SilenceStep[]
}

/** Releases the source at its end. @throws `tooLarge`, what the source or a step throws, and the signal's reason */
export async function consumeInput(
  context: Pick<Context, 'clock' | 'signal'>,
  source: ByteSource,
  { maxBytes, tooLarge, steps = [] }: ConsumeOptions,
): Promise<Buffer> {
  context.signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const onAbort = () => reject(context.signal.reason)
  context.signal.addEventListener('abort', onAbort, { once: true })
  const timers = steps.map(({ afterMs, act }) => {
    const attempt = async () => act()
    return context.clock.timer(afterMs, () => void attempt().catch(reject))
  })
  const endSilence = () => {
    for (const timer of timers) timer.cancel()
  }
  const collect = async () => {
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of source.read()) {
      if (chunk.length === 0) continue
      if (bytes === 0) endSilence()
      bytes += chunk.length
      if (bytes > maxBytes) throw tooLarge()
      chunks.push(chunk)
    }
    return Buffer.concat(chunks, bytes)
  }
  // Not awaited: a read that hangs must not block the exit.
  collect().then(resolve, reject)
  try {
    return await promise
  } finally {
    endSilence()
    context.signal.removeEventListener('abort', onAbort)
    source.release()
  }
}

type DecodedText =
  | { readonly text: string; readonly problem?: never; readonly offset?: never }
  | {
      readonly problem: string
      /** Undefined for UTF-16, which is only validated as a whole. */
      readonly offset: number | undefined
      readonly text?: never
    }

/** UTF-8, or UTF-16 that says so by its byte order mark (as Windows shells write it). Linear in time. */
export function decodeText(bytes: Uint8Array): DecodedText {
  const isBigEndian = bytes[0] === 0xfe && bytes[1] === 0xff
  if (isBigEndian || (bytes[0] === 0xff && bytes[1] === 0xfe)) {
    try {
      return { text: new TextDecoder(isBigEndian ? 'utf-16be' : 'utf-16le', { fatal: true }).decode(bytes) }
    } catch {
      return { problem: 'is not UTF-16 text', offset: undefined }
    }
  }
  if (isUtf8(bytes)) return { text: new TextDecoder('utf-8').decode(bytes) }
  const offset = firstInvalidByte(bytes)
  const byte = bytes[offset]!.toString(16).padStart(2, '0')
  return { problem: `is not UTF-8 text (byte 0x${byte} at offset ${offset})`, offset }
}

/** There the decoder writes U+FFFD. */
function firstInvalidByte(bytes: Uint8Array): number {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
  let offset = 0
  for (let start = 0; ;) {
    const at = text.indexOf('\ufffd', start)
    offset += Buffer.byteLength(text.slice(start, at))
    // The text may contain a genuine U+FFFD.
    const isGenuine = bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd
    if (!isGenuine) return offset
    offset += 3
    start = at + 1
  }
}

export function withLineFeeds(bytes: Buffer): Buffer {
  if (!bytes.includes('\r\n')) return bytes
  return Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1')
}
