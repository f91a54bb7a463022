import { randomBytes, createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, unlink, type FileHandle, lstat, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { systemCode, writeError } from './file-error.ts'
import { cutBytes, damagedName, numberedName } from './file-name.ts'
import { placeFile, type FileTarget } from './write-target.ts'

/** A file that has been written whole. */
export interface WrittenFile {
  /**
   * As it was given, not resolved; with another name in the same folder when a spare one was needed. The absolute path
   * in the rescue folder of what was rescued.
   */
  readonly path: string
  readonly bytes: number
  /** Of the content, in hexadecimal. */
  readonly sha256: string
  /** Why the content is in the rescue folder instead of where it belongs; its message and facts contain the path. */
  readonly rescued?: ModelgateError
}

/** A file that appears whole under its name, or not at all. */
export interface AtomicFile {
  /** Bytes reach their reader as they are written: the target is a pipe or a device, and nothing can be taken back. */
  readonly isDirect: boolean
  /** @throws FileError when the system refuses (`no_space`, …); nothing is left behind then */
  write(chunk: Uint8Array | string): Promise<void>
  /**
   * Gives the file its name. The last call; `discard` after it does nothing.
   * @throws FileError; nothing is left behind then
   */
  commit(): Promise<WrittenFile>
  /**
   * The same for content that is not whole: the file is called `NAME.damaged.EXT`, or the next free name like that.
   * @throws FileError; nothing is left behind then
   */
  commitDamaged(): Promise<WrittenFile>
  /** Removes what was written. Never throws, may be called at any time and more than once. */
  discard(): Promise<void>
}

export interface TemporaryOptions {
  /** Other names for the file when its own is taken, counted from 2. */
  readonly spareName?: ((count: number) => string) | undefined
  /**
   * Takes over when the system refuses to go on: gets everything that has been written, and gives the file that the
   * rest is written to. Without it what was written is given up.
   */
  readonly takeOver?:
    | ((content: AsyncIterable<Uint8Array>, reason: ModelgateError) => Promise<AtomicFile>)
    | undefined
}

/** Creates the temporary file `.<name>.<16 hex digits>.mgpart` beside its target. */
export async function openTemporary(
  context: Context,
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
  async function handOver(error: unknown): Promise<AtomicFile> {
    const reason = error instanceof ModelgateError ? error : writeError(error, path)
    try {
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
      // Last, because until then what was written can be read back. It is on the disk by now: closing adds nothing.
      await handle.close().catch(() => {})
      return { path: placed, ...writer.finish() }
    } catch (error) {
      return commitSuccessor(await handOver(error))
    }
  }

  return {
    isDirect: false,
    async write(chunk) {
      if (successor !== undefined) return successor.write(chunk)
      try {
        await writer.write(chunk)
      } catch (error) {
        return (await handOver(error)).write(chunk)
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

/** The name is cut so that the longest legal target still has a legal temporary name (255 bytes). */
function temporaryName(name: string): string {
  return `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`
}

/** Nobody else may read the file before it is whole; what the umask allows is learned from the file itself. */
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

/** The first bytes of a file, also of one that has no name any more. The memory of a piece is used again for the next. */
async function* readBack(handle: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(bytes, 1_048_576))
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) throw new Error('what was written is gone')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

/** Some file systems keep no permissions. */
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
  /** Bytes that have been written whole so far. */
  readonly bytes: number
  /** Bytes so far and their SHA-256. The last call. */
  finish(): { readonly bytes: number; readonly sha256: string }
}

/** Writes to an open file from its current position on, whole chunks in the order of the calls. */
export function digestWriter(handle: FileHandle): DigestWriter {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    async write(chunk) {
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      const written = writeWhole(handle, data)
      // Meanwhile: the system writes in a thread of its own.
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

/** The system may take less than it is given. */
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
   * Waits until all that was written is on the disk.
   * @throws the error of the system, also one that an earlier part met
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
      if (failure !== undefined && !isUnable(failure)) throw failure
      await handle.sync().catch((error: unknown) => {
        if (!isUnable(error)) throw error
      })
    },
  }
}

/** Not every file system, and not every kind of file, supports it. */
function isUnable(error: unknown): boolean {
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
    // Every write renews the time, so a file of a living process is not that old.
    if (found?.isFile() && now - found.mtimeMs > leftoverAgeMs) await unlink(path).catch(() => {})
  }
}
