import { createHash } from 'node:crypto'
import { constants, fstatSync, openSync, read, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FileError, ModelgateError } from '../../errors.ts'
import { closeAfterReading, readError, systemCode } from '../../files/file-error.ts'
import { notRegular } from '../../files/input-file.ts'
import { sniffMediaType } from '../../files/media-type.ts'

export interface FileDigest {
  readonly sha256: string
  readonly bytes: number
}

/** Whether files of this type are text, whose line breaks a checkout may change. */
export function isTextType(mediaType: string): boolean {
  return /^(?:text\/|application\/(?:json|xml|yaml|javascript)\b|[^;]+\+(?:json|xml)\b)/i.test(mediaType)
}

/**
 * The digest of an output; of a text as it is with LF, so that a checkout with CR LF does not change it.
 * @param path absolute; links are followed
 * @returns undefined when nothing is there
 * @throws FileError `not_a_file`, `permission_denied`, …
 */
export function digestOfFile(path: string, isText: boolean): Promise<FileDigest | undefined> {
  return digest(path, 0, () => (isText ? linesOnly : verbatim))
}

/**
 * The digest of an input file for keys; of a text as it is without byte-order mark and with LF.
 * @param path absolute; links are followed
 * @returns undefined when nothing is there
 * @throws FileError as `digestOfFile` does
 */
export function digestOfInput(path: string): Promise<FileDigest | undefined> {
  const asText = { crlf: true, mark: true }
  return digest(path, 0, (head) => (sniffMediaType(head) === 'text/plain' ? asText : verbatim))
}

/**
 * The digests of the input files of a manifest, each taken once.
 * @param folder the manifest's; the paths are relative to it
 */
export function createInputDigests(folder: string): (path: string) => Promise<string> {
  const known = new Map<string, Promise<string>>()
  return (path) => {
    const digest = known.get(path) ?? digestOfInput(join(folder, path)).then((found) => found!.sha256)
    known.set(path, digest)
    return digest
  }
}

/**
 * The digest of the bytes of a file that may not be what it seems.
 * @param path absolute
 * @returns undefined for all but a regular file: for a link, a folder, a pipe, and for what cannot be read
 */
export async function digestOfBytes(path: string): Promise<FileDigest | undefined> {
  return await digestOfStateFile(path, false).catch(() => undefined)
}

/**
 * The digest of a file of `.modelgate`; of a text as it is with LF.
 * @param path absolute
 * @returns undefined for all but a regular file
 * @throws FileError for one that cannot be read now: it may be whole
 */
export async function digestOfStateFile(path: string, isText: boolean): Promise<FileDigest | undefined> {
  const normalisation = isText ? linesOnly : verbatim
  return await digest(path, constants.O_NOFOLLOW ?? 0, () => normalisation).catch(unlessUnreadable)
}

/** What is no file that can be used counts as absent; one that cannot be read now may be whole. */
export function unlessUnreadable(error: unknown): undefined {
  const isOther = error instanceof ModelgateError && (error.exit !== 'io' || otherCodes.has(error.code))
  if (!isOther) throw error
}

const otherCodes: ReadonlySet<string> = new Set(['file_too_large', 'not_found', 'not_a_file'])

interface Normalisation {
  /** The CR of each CR LF. */
  readonly crlf: boolean
  /** A byte-order mark at the beginning. */
  readonly mark: boolean
}

const verbatim: Normalisation = { crlf: false, mark: false }
const linesOnly: Normalisation = { crlf: true, mark: false }

/**
 * Files are read in pieces of this size, the first at once: for so few bytes the system's threads take longer than the
 * reading.
 */
const pieceBytes = 1_048_576

const readBytes = promisify(read)

let shared: Buffer | undefined

async function digest(
  path: string,
  flags: number,
  normalisationOf: (head: Uint8Array) => Normalisation,
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
    let piece = shared.subarray(0, readSync(descriptor, shared, 0, pieceBytes, 0))
    const normalise = createNormaliser(normalisationOf(piece))
    const hasher = createHash('sha256')
    let own: Buffer | undefined
    let bytes = 0
    for (let at = piece.length; ; at += piece.length) {
      const content = normalise(piece, piece.length === 0)
      hasher.update(content)
      bytes += content.length
      if (piece.length === 0) return { sha256: hasher.digest('hex'), bytes }
      const isSmall = at < pieceBytes
      const buffer = isSmall ? shared : (own ??= Buffer.allocUnsafe(pieceBytes))
      const count = isSmall
        ? readSync(descriptor, buffer, 0, pieceBytes, at)
        : (await readBytes(descriptor, buffer, 0, pieceBytes, at)).bytesRead
      piece = buffer.subarray(0, count)
    }
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw error instanceof FileError ? error : readError(error, path)
  } finally {
    if (descriptor !== undefined) closeAfterReading(descriptor)
  }
}

/** Takes the pieces of a file one after another; a CR at the end of one waits for the next. */
export function createNormaliser({ crlf, mark }: Normalisation): (piece: Buffer, isLast: boolean) => Buffer {
  const nothing = Buffer.alloc(0)
  let isFirst = true
  let held: Buffer = nothing
  return (piece, isLast) => {
    const start = isFirst && mark && piece.indexOf('\ufeff') === 0 ? 3 : 0
    isFirst = false
    if (!crlf) return piece.subarray(start)
    const all = held.length === 0 ? piece.subarray(start) : Buffer.concat([held, piece])
    const isHeld = !isLast && all.at(-1) === 0x0d
    held = isHeld ? Buffer.from('\r') : nothing
    return withoutCrLf(isHeld ? all.subarray(0, -1) : all)
  }
}

function withoutCrLf(bytes: Buffer): Buffer {
  const lines: Buffer[] = []
  let start = 0
  for (let at = bytes.indexOf('\r\n'); at !== -1; at = bytes.indexOf('\r\n', start)) {
    lines.push(bytes.subarray(start, at))
    start = at + 1
  }
  return lines.length === 0 ? bytes : Buffer.concat([...lines, bytes.subarray(start)])
}
