import { randomBytes, createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, unlink, type FileHandle, lstat, readdir, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FileContext } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { systemCode, writeError } from './file-error.ts'
import { cutBytes, damagedName, numberedName } from './file-name.ts'
import { placeFile, type FileTarget } from './write-target.ts'

/** A completely written file. */
export interface WrittenFile {
  /**
   * The path as given, not resolved; another name in the same folder if a spare one was needed. For rescued content,
   * the absolute path in the rescue folder.
   */
  readonly path: string
  readonly bytes: number
  /** Of the content, in hexadecimal. */
  readonly sha256: string
  /** Why the content was saved in the rescue folder; its message and facts contain the path. */
  readonly rescued?: ModelgateError
}

/** A file that appears under its name complete or not at all. */
export interface AtomicFile {
  /** Whether the target is a pipe or a device, whose reader gets the bytes immediately: nothing can be undone. */
  readonly isDirect: boolean
  /** @throws FileError when the system refuses (`no_space`, …); nothing is left behind then */
  write(chunk: Uint8Array | string): Promise<void>
  /**
   * Gives the file its final name. The last call; `discard` after it does nothing.
   * @throws FileError; leaves nothing behind
   */
  commit(): Promise<WrittenFile>
  /**
   * The same for incomplete content: the file is called `NAME.damaged.EXT`, or the next free name like that.
   * @throws FileError; leaves nothing behind
   */
  commitDamaged(): Promise<WrittenFile>
  /** Removes the temporary file. Never throws; may be called repeatedly and at any time. */
  discard(): Promise<void>
}

export interface TemporaryOptions {
  /** Alternative names if the file exists, counted from 2. */
  readonly spareName?: ((count: number) => string) | undefined
  /**
   * Called when writing fails: receives everything written so far and returns the file for the rest. Without it the
   * written part is discarded.
   */
  readonly takeOver?:
    | ((content: AsyncIterable<Uint8Array>, reason: ModelgateError) => Promise<AtomicFile>)
    | undefined
}

/** Creates the temporary file `.<name>.<16 hex digits>.mgpart` beside its target. */
export async function openTemporary(
  context: FileContext,
  path: string,
  target: FileTarget,
  { spareName, takeOver }: TemporaryOptions = {},
): Promise<AtomicFile> {
  await removeLeftovers(target.folder, context.clock.now())
  const temporary = join(target.folder, temporaryName(target.name))
  const { handle, mode } = await create(temporary, target).catch((error: unknown) => {
    throw writeError(error, path)
  })
  const writer = digestWriter(handle)
  const sync = createFileSync(handle)
  let isOpen = true
  let successor: AtomicFile | undefined

  async function discard() {
    if (!isOpen) return
    isOpen = false
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
  }
  /**
   * Writes the content to another temporary file if somebody has removed this one, such as a process whose clock is a day
   * ahead: the open handle still has it. @returns undefined if it is there, or cannot be written again
   */
  async function writeAgain(): Promise<AtomicFile | undefined> {
    if (!(await isRemoved(handle, temporary))) return undefined
    let again: AtomicFile | undefined
    try {
      again = await openTemporary(context, path, target, { spareName, takeOver })
      for await (const chunk of readBack(handle, writer.bytes)) await again.write(chunk)
      return again
    } catch {
      await again?.discard()
      return undefined
    }
  }
  async function switchToSuccessor(error: unknown): Promise<AtomicFile> {
    const reason = error instanceof ModelgateError ? error : writeError(error, path)
    try {
      successor = await writeAgain()
      if (successor !== undefined) return successor
      if (takeOver === undefined) throw reason
      return (successor = await takeOver(readBack(handle, writer.bytes), reason))
    } finally {
      await discard()
    }
  }

  async function commitAs(
    final: FileTarget,
    finalPath: string,
    spare: ((count: number) => string) | undefined,
    commitSuccessor: (file: AtomicFile) => Promise<WrittenFile>,
  ): Promise<WrittenFile> {
    if (successor !== undefined) return commitSuccessor(successor)
    try {
      await chmod(handle, mode)
      await sync.finish()
      const placed = await placeFile(context, temporary, final, finalPath, spare)
      isOpen = false
      // Last, because until then the content can be read back. It has been synced, so closing cannot lose anything.
      await handle.close().catch(() => {})
      return { path: placed, ...writer.finish() }
    } catch (error) {
      return commitSuccessor(await switchToSuccessor(error))
    }
  }

  return {
    isDirect: false,
    async write(chunk) {
      if (successor !== undefined) return successor.write(chunk)
      try {
        await writer.write(chunk)
      } catch (error) {
        return (await switchToSuccessor(error)).write(chunk)
      }
      sync.wrote(chunk.length)
    },
    commit: () => commitAs(target, path, spareName, (file) => file.commit()),
    commitDamaged() {
      const name = damagedName(target.name)
      const damaged = { ...target, name, force: false }
      const spare = (count: number) => numberedName(name, count)
      return commitAs(damaged, join(dirname(path), name), spare, (file) => file.commitDamaged())
    },
    async discard() {
      await successor?.discard()
      await discard()
    },
  }
}

/** The name is cut so that even the longest legal target has a legal temporary name (255 bytes). */
function temporaryName(name: string): string {
  return `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`
}

/** Only the user may read the file until it is complete; the umask is derived from the mode that the file got. */
async function create(temporary: string, target: FileTarget): Promise<{ handle: FileHandle; mode: number }> {
  const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW = 0 } = constants
  const handle = await open(temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, target.mode ?? 0o666)
  try {
    const mode = target.mode ?? (await handle.stat()).mode & 0o777
    await chmod(handle, 0o600)
    return { handle, mode }
  } catch (error) {
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/**
 * Whether an open file has been removed from its folder, rather than moved away with it, or hidden by a link in the folder's
 * place.
 */
async function isRemoved(handle: FileHandle, path: string): Promise<boolean> {
  try {
    const folder = dirname(path)
    if ((await handle.stat()).nlink > 0 || (await realpath(folder)) !== folder) return false
    await lstat(path)
    return false
  } catch (error) {
    return systemCode(error) === 'ENOENT'
  }
}

/** The first bytes of an open file, even if it has been unlinked. The buffer is reused for each piece. */
async function* readBack(handle: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(bytes, 1_048_576))
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) throw new Error('what was written is gone')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Some file systems do not support permissions. */
function chmod(handle: FileHandle, mode: number): Promise<void> {
  return handle.chmod(mode).catch(ignore('EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'))
}

function ignore(...codes: readonly string[]) {
  return (error: unknown) => {
    if (!codes.includes(systemCode(error) ?? '')) throw error
  }
}

/** Counts and hashes what it writes. */
interface DigestWriter {
  write(chunk: Uint8Array | string): Promise<void>
  /** Number of bytes written so far. */
  readonly bytes: number
  /** The number of bytes and their SHA-256. The last call. */
  finish(): { readonly bytes: number; readonly sha256: string }
}

/** Writes complete chunks to an open file at its current position, in the order of the calls. */
export function digestWriter(handle: FileHandle): DigestWriter {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    async write(chunk) {
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      const written = writeWhole(handle, data)
      // Hashed in parallel: the write runs in another thread.
      hash.update(data)
      await written
      bytes += data.length
    },
    get bytes() {
      return bytes
    },
    finish: () => ({ bytes, sha256: hash.digest('hex') }),
  }
}

/** A write may be partial. */
async function writeWhole(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) {
    const { bytesWritten } = await handle.write(data, at, data.length - at)
    at += bytesWritten
  }
}

/** This many bytes may be unsynced before the system is asked to flush them to the disk. */
const unsyncedBytes = 4 * 1024 * 1024

/** Flushes a file to the disk while it is being written, so that its end waits only for the last part. */
interface FileSync {
  /** Reports how much has been written. Waits for nothing. */
  wrote(bytes: number): void
  /**
   * Waits until everything written is on the disk.
   * @throws the error of the system, including that of an earlier flush
   */
  finish(): Promise<void>
}

export function createFileSync(handle: FileHandle): FileSync {
  let unsynced = 0
  let running: Promise<void> | undefined
  let failure: unknown

  return {
    wrote(bytes) {
      unsynced += bytes
      if (unsynced < unsyncedBytes || running !== undefined) return
      unsynced = 0
      running = handle
        .datasync()
        // The system reports a failure only once.
        .catch((error: unknown) => void (failure ??= error))
        .finally(() => (running = undefined))
    },
    async finish() {
      await running
      if (failure !== undefined && !isUnsupported(failure)) throw failure
      await handle.sync().catch((error: unknown) => {
        if (!isUnsupported(error)) throw error
      })
    },
  }
}

/** Not all file systems and file types support it. */
function isUnsupported(error: unknown): boolean {
  return ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(systemCode(error) ?? '')
}

const leftoverAgeMs = 24 * 60 * 60 * 1000

/**
 * Removes temporary files that a killed process left in a folder more than 24 hours ago. Best effort: never throws.
 * @param now milliseconds since 1970
 */
export async function removeLeftovers(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    if (!/^\..+\.[0-9a-f]{16}\.mgpart$/.test(name)) continue
    const path = join(folder, name)
    const found = await lstat(path).catch(() => undefined)
    // Every write updates the time, so the file of a running process is never that old.
    if (found?.isFile() && now - found.mtimeMs > leftoverAgeMs) await unlink(path).catch(() => {})
  }
}
