import { createHash, hash, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  unlinkSync,
} from 'node:fs'
import { chmod, copyFile, lstat, open, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { ignoreUnsupported, openAtomicFile, syncHandle } from '../../files/atomic-file.ts'
import { closeQuietly, readError, shownPath, systemCode } from '../../files/file-error.ts'
import { cutBytes } from '../../files/file-name.ts'
import { notRegular, withLineFeeds } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'

export interface FileDigest {
  readonly sha256: string
  readonly bytes: number
}

/** Whether files of this type are text, whose line breaks a checkout may change. */
export function isTextType(mediaType: string): boolean {
  return /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b|[^;]+\+(?:json|xml)\b)/i.test(mediaType)
}

/** Of a text as it is with LF, so that a checkout with CR LF does not change it. Undefined when nothing is there. */
export function digestOfFile(path: string, isText: boolean): Promise<FileDigest | undefined> {
  return digest(path, () => (isText ? withLineFeeds : undefined))
}

/** For keys; of a text as it is without byte-order mark and with LF. */
export function digestOfInput(path: string): Promise<FileDigest | undefined> {
  return digest(path, (head) => (sniffMediaType(head) === 'text/plain' ? inputText : undefined))
}

export function createInputDigests(folder: string): (path: string) => Promise<string> {
  const known = new Map<string, Promise<string>>()
  return (path) => {
    const digest = known.get(path) ?? digestOfInput(join(folder, path)).then((found) => found!.sha256)
    known.set(path, digest)
    return digest
  }
}

/** Undefined for all but a regular file. @throws FileError for one that cannot be read now: it may be whole */
export async function digestOfStateFile(path: string, isText: boolean): Promise<FileDigest | undefined> {
  const flags = constants.O_NOFOLLOW ?? 0
  return await digest(path, () => (isText ? withLineFeeds : undefined), flags).catch(unlessUnreadable)
}

/** What is no file that can be used counts as absent; one that cannot be read now may be whole. */
export function unlessUnreadable(error: unknown): undefined {
  const isOther = error instanceof ModelgateError && (error.exit !== 'io' || otherCodes.has(error.code))
  if (!isOther) throw error
}

const otherCodes: ReadonlySet<string> = new Set(['file_too_large', 'not_found', 'not_a_file'])

/** Without byte-order mark, with LF. */
export function inputText(bytes: Buffer): Buffer {
  return withLineFeeds(bytes.indexOf('\ufeff') === 0 ? bytes.subarray(3) : bytes)
}

/** How much of a file is read at once: for less, handing it to a thread takes longer than reading it. */
const pieceBytes = 1_048_576

let shared: Buffer | undefined

/** @param textOf what a file that begins so is hashed as; undefined for one that is hashed as it is */
async function digest(
  path: string,
  textOf: (head: Uint8Array) => ((bytes: Buffer) => Buffer) | undefined,
  flags = 0,
): Promise<FileDigest | undefined> {
  let descriptor: number | undefined
  try {
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
    // Opening a pipe without a writer would block the program.
    descriptor = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | flags)
    const found = fstatSync(descriptor)
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    if (!found.isFile()) throw notRegular(path)
    shared ??= Buffer.allocUnsafeSlow(pieceBytes)
    const head = shared.subarray(0, readSync(descriptor, shared, 0, pieceBytes, 0))
    const isWhole = head.length < pieceBytes
    const text = textOf(head)
    if (isWhole || text !== undefined) {
      const all = isWhole ? head : readFileSync(descriptor)
      const bytes = text?.(all) ?? all
      return { sha256: hash('sha256', bytes), bytes: bytes.length }
    }
    const hasher = createHash('sha256').update(head)
    let bytes = head.length
    const rest = { fd: descriptor, autoClose: false, start: bytes, highWaterMark: pieceBytes }
    for await (const piece of createReadStream(path, rest) as AsyncIterable<Buffer>) {
      hasher.update(piece)
      bytes += piece.length
    }
    return { sha256: hasher.digest('hex'), bytes }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw readError(error, path)
  } finally {
    if (descriptor !== undefined) closeQuietly(descriptor)
  }
}

/** @returns false for more bytes, or other ones; then nothing is left of them. A file that is there is replaced. */
export async function saveBytes(
  context: FileContext,
  bytes: AsyncIterable<Uint8Array>,
  { sha256, maxBytes }: { readonly sha256: string; readonly maxBytes: number },
  path: string,
): Promise<boolean> {
  const file = await openAtomicFile(context, path, { force: true })
  try {
    const hash = createHash('sha256')
    let length = 0
    for await (const chunk of bytes) {
      length += chunk.length
      if (length > maxBytes) return false
      hash.update(chunk)
      await file.write(chunk)
    }
    if (hash.digest('hex') !== sha256) return false
    await file.commit()
    return true
  } finally {
    await file.discard()
  }
}

export function temporaryPath(path: string): string {
  return join(dirname(path), `.${cutBytes(basename(path), 200)}.${randomBytes(8).toString('hex')}.mgpart`)
}

/**
 * Copies a file, as a clone where the file system can do that. The bytes are on the disk when this returns.
 * @param to must not exist @throws the error of the system, `EINVAL` when it is not a file; then there is no copy
 */
export async function copyWhole(from: string, to: string, mode?: number): Promise<void> {
  const found = await lstat(from)
  // A pipe would never end, and a link is not what was checked.
  if (!found.isFile()) throw Object.assign(new Error('it is not a file'), { code: 'EINVAL' })
  const usual = mode ?? modeOfNewFile(to)
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    // The copy has the permissions of its original.
    if ((found.mode & 0o777) !== usual) await chmod(to, usual).catch(ignoreUnsupported)
    await syncFile(to)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') await unlink(to).catch(() => {})
    throw error
  }
}

/** What the umask leaves to a new file; found by making one. */
function modeOfNewFile(path: string): number {
  const descriptor = openSync(path, 'wx')
  try {
    return fstatSync(descriptor).mode & 0o777
  } finally {
    closeSync(descriptor)
    unlinkSync(path)
  }
}

/** @throws FileError `result_lost` when it is no file, or has other bytes; the error of the system */
export async function copyVerified(
  from: string,
  to: string,
  { sha256, isText }: { readonly sha256: string; readonly isText: boolean },
  mode?: number,
): Promise<void> {
  await copyWhole(from, to, mode).catch((error: unknown) => {
    throw systemCode(error) === 'EINVAL' ? damagedCopy(from) : error
  })
  // Of the copy, because the original may change meanwhile.
  if ((await digestOfFile(to, isText))?.sha256 !== sha256) throw damagedCopy(from)
}

function damagedCopy(source: string): FileError {
  return new FileError('result_lost', `${shownPath(source)} is not what was stored; it is not used.`, {
    hint: 'Another program has changed it, or the disk is failing. The next run treats it as missing.',
  })
}

export async function syncFile(path: string): Promise<void> {
  // Windows syncs only what may be written.
  const handle = await open(path, 'r+').catch(() => open(path, 'r'))
  try {
    await syncHandle(handle)
  } finally {
    await handle.close()
  }
}
