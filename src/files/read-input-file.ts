import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Context } from '../context.ts'
import { maxRequestBytes } from '../contract/limits.ts'
import { UsageError } from '../errors.ts'
import type { ModelgateError } from '../errors.ts'
import { readError, shownPath } from './file-error.ts'

/** A file that will be sent, looked at before anything is. */
export interface InputFile {
  /** As it was given. */
  readonly path: string
  /** Its size. */
  readonly bytes: number
  /** Its first bytes (4 KiB unless more are asked for), which tell its type. */
  readonly head: Uint8Array
}

export interface ReadLimits {
  /** In bytes; what a request can hold at all when left out. */
  readonly maxBytes?: number
  /** How many of the first bytes are wanted. */
  readonly headBytes?: number
}

const defaultHeadBytes = 4096

/**
 * Describes a file without reading it whole. A problem is returned, not thrown, so that several files' problems can be
 * told at once: missing, a folder, a pipe, empty, too large (exit 2), unreadable (exit 10).
 */
export function describeInputFile(
  context: Context,
  path: string,
  limits: ReadLimits = {},
): Promise<InputFile | ModelgateError> {
  return withInputFile(context, path, limits, async (handle, bytes) => {
    const head = Buffer.alloc(Math.min(bytes, limits.headBytes ?? defaultHeadBytes))
    const { bytesRead } = await handle.read(head, 0, head.length, 0)
    return { path, bytes, head: head.subarray(0, bytesRead) }
  })
}

/** Reads a whole file; problems are returned as by `describeInputFile`. */
export function readInputFile(
  context: Context,
  path: string,
  limits: ReadLimits = {},
): Promise<Buffer | ModelgateError> {
  return withInputFile(context, path, limits, (handle) => handle.readFile())
}

async function withInputFile<Value>(
  context: Context,
  path: string,
  { maxBytes = maxRequestBytes }: ReadLimits,
  use: (handle: FileHandle, bytes: number) => Promise<Value>,
): Promise<Value | ModelgateError> {
  if (path === '' || path.includes('\0')) {
    return new UsageError(`${JSON.stringify(path)} is not a file name.`, { code: 'bad_file_name' })
  }
  let handle: FileHandle | undefined
  try {
    // Opening a pipe that nobody writes to would wait for ever.
    handle = await open(resolve(context.cwd, path), constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await handle.stat()
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    return problemOf(path, found, maxBytes) ?? (await use(handle, found.size))
  } catch (error) {
    return readError(error, path)
  } finally {
    await handle?.close()
  }
}

function problemOf(path: string, found: { isFile(): boolean; size: number }, maxBytes: number) {
  if (!found.isFile()) {
    return new UsageError(`${shownPath(path)} is not a regular file.`, {
      code: 'not_a_file',
      hint: 'Use - or @- to read a pipe on standard input, or write it to a file first.',
    })
  }
  if (found.size === 0) return new UsageError(`${shownPath(path)} is empty.`, { code: 'empty_file' })
  if (found.size > maxBytes) {
    const message = `${shownPath(path)} is too large: ${found.size} bytes, at most ${maxBytes} can be sent.`
    return new UsageError(message, { code: 'file_too_large' })
  }
  return undefined
}
