import { createHash, randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, readdir, unlink, type FileHandle } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FileContext } from '../context.ts'
import { FileError, ModelgateError } from '../errors.ts'
import { cannotWrite, shownPath, systemCode, writeError } from './file-error.ts'
import { cutBytes, damagedName } from './file-name.ts'
import { findTarget, makeFolder, placeFile, type FileTarget, type TargetOptions } from './write-target.ts'

export interface WrittenFile {
  /** As given, or another name in the same folder; for rescued content absolute, in the rescue folder. */
  readonly path: string
  readonly bytes: number
  readonly sha256: string
  /** Why it is in the rescue folder; names the path. */
  readonly rescued?: ModelgateError
}

/** A file that appears under its name complete or not at all. */
export interface AtomicFile {
  /** A pipe or a device, whose reader gets the bytes immediately: nothing can be undone. */
  readonly isDirect: boolean
  /** @throws FileError; nothing is left behind then */
  write(chunk: Uint8Array | string): Promise<void>
  /** The last call. @param isDamaged for incomplete content: the name becomes `NAME.damaged.EXT` @throws FileError */
  commit(isDamaged?: boolean): Promise<WrittenFile>
  /** Never throws; at any time. */
  discard(): Promise<void>
}

/** Where to save a result that was paid for but cannot be written to its target. */
export interface Rescue {
  readonly rescueFolder: string | undefined
}

export interface WriteOptions extends TargetOptions, Partial<Rescue> {
  /** The content is there already: it is rescued even if its target cannot be opened. */
  readonly hasArrived?: boolean
}

/**
 * Writes under a temporary name in the same folder, but directly to pipes and devices. Whatever can be known before
 * anything is sent is checked here.
 * @param options with a `rescueFolder`, what the system refuses later goes there, with all that has been written; not
 * from a pipe or a device, which takes back nothing
 * @throws FileError
 */
export async function openAtomicFile(
  context: FileContext,
  path: string,
  options: WriteOptions,
): Promise<AtomicFile> {
  const rescue =
    'rescueFolder' in options
      ? (reason: ModelgateError) => openRescueFile(context, options.rescueFolder, path, reason)
      : undefined
  try {
    const target = await findTarget(context, path, options)
    if (target.kind === 'stream') return await openDirectly(path, target.location)
    return await openTemporary(context, target, rescue)
  } catch (error) {
    const isLost = options.hasArrived === true && rescue !== undefined && error instanceof ModelgateError
    if (isLost) return await rescue(error)
    throw error
  }
}

/** @param rescue opens the file that takes over when this one fails; without it the written part is discarded */
async function openTemporary(
  context: FileContext,
  target: FileTarget,
  rescue?: (reason: ModelgateError) => Promise<AtomicFile>,
): Promise<AtomicFile> {
  const { path, folder, name } = target
  // The name is cut so that even the longest legal target has a legal temporary name (255 bytes).
  const temporary = join(folder, `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`)
  const { handle, mode } = await create(temporary, target.mode).catch(cannotWrite(path))
  await removeLeftovers(folder)
  const writer = digestWriter(handle)
  let isOpen = true
  let successor: AtomicFile | undefined

  async function remove() {
    if (!isOpen) return
    isOpen = false
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
  }
  async function takeOver(error: unknown): Promise<AtomicFile> {
    const reason = writeError(error, path)
    try {
      if (rescue === undefined) throw reason
      const next = await rescue(reason)
      try {
        for await (const chunk of readBack(handle, writer.written())) await next.write(chunk)
      } catch (failure) {
        await next.discard()
        throw failure
      }
      return (successor = next)
    } finally {
      await remove()
    }
  }

  return {
    isDirect: false,
    async write(chunk) {
      if (successor !== undefined) return successor.write(chunk)
      await writer.write(chunk).catch(async (error: unknown) => (await takeOver(error)).write(chunk))
    },
    async commit(isDamaged = false) {
      if (successor !== undefined) return successor.commit(isDamaged)
      try {
        await handle.chmod(mode).catch(ignoreUnsupported)
        await syncHandle(handle)
        const damaged = damagedName(name)
        const place = { name: damaged, path: join(dirname(path), damaged), force: false, numbered: true }
        const placed = await placeFile(context, temporary, isDamaged ? { ...target, ...place } : target)
        isOpen = false
        // Last, because until then the content can be read back. It has been synced, so closing cannot lose anything.
        await handle.close().catch(() => {})
        return { path: placed, ...writer.digest() }
      } catch (error) {
        return (await takeOver(error)).commit(isDamaged)
      }
    },
    async discard() {
      await successor?.discard()
      await remove()
    },
  }
}

/** Only the user may read the file until it is complete; the umask is derived from the mode that the file got. */
async function create(temporary: string, wanted: number | undefined) {
  const { O_CREAT, O_EXCL, O_RDWR, O_NOFOLLOW = 0 } = constants
  const handle = await open(temporary, O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW, wanted ?? 0o666)
  try {
    const mode = wanted ?? (await handle.stat()).mode & 0o777
    await handle.chmod(0o600).catch(ignoreUnsupported)
    return { handle, mode }
  } catch (error) {
    await handle.close().catch(() => {})
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/** Works on a file that has been unlinked, too. The buffer is reused for each piece. */
async function* readBack(handle: FileHandle, bytes: number): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafe(Math.min(bytes, 1_048_576))
  for (let at = 0; at < bytes;) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
    if (bytesRead === 0) throw new Error('what was written is gone')
    yield buffer.subarray(0, bytesRead)
    at += bytesRead
  }
}

const unsupported = ['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

function ignore(...codes: readonly string[]) {
  return (error: unknown) => {
    if (!codes.includes(systemCode(error) ?? '')) throw error
  }
}

/** Some file systems have no permissions, and say so of a file of one's own. */
export const ignoreUnsupported = ignore('EPERM', ...unsupported)

function digestWriter(handle: FileHandle) {
  const hash = createHash('sha256')
  let bytes = 0
  return {
    written: () => bytes,
    async write(chunk: Uint8Array | string): Promise<void> {
      const data = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      const writing = writeWhole(handle, data)
      // Hashed in parallel: the write runs in another thread.
      hash.update(data)
      await writing
      bytes += data.length
    },
    digest: () => ({ bytes, sha256: hash.digest('hex') }),
  }
}

async function writeWhole(handle: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) at += (await handle.write(data, at, data.length - at)).bytesWritten
}

/** Not all file systems and file types support it. @throws the error of the system */
export function syncHandle(handle: FileHandle): Promise<void> {
  return handle.sync().catch(ignore('EINVAL', ...unsupported))
}

const leftoverAgeMs = 24 * 60 * 60 * 1000

/** Of processes killed more than 24 hours before the folder last changed. Never throws. */
export async function removeLeftovers(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    if (!/^\..+\.[0-9a-f]{16}\.mgpart$/.test(name)) continue
    const path = join(folder, name)
    // Both times are the file system's: the clock of this process may be a day ahead.
    const [found, changed] = await Promise.all([lstat(path), lstat(folder)]).catch(() => [])
    const isOld = found && changed && changed.mtimeMs - found.mtimeMs > leftoverAgeMs
    if (isOld && found.isFile()) await unlink(path).catch(() => {})
  }
}

async function openDirectly(path: string, location: string): Promise<AtomicFile> {
  const fail = cannotWrite(path)
  // Without a reader this fails at once, where a blocking open would hold a thread for ever.
  const probe = await open(location, constants.O_WRONLY | (constants.O_NONBLOCK ?? 0)).catch(fail)
  const handle = await open(location, constants.O_WRONLY)
    .finally(() => probe.close())
    .catch(fail)
  const writer = digestWriter(handle)
  const discard = () => handle.close().catch(() => {})
  return {
    isDirect: true,
    write: (chunk) =>
      writer.write(chunk).catch(async (error: unknown) => {
        await discard()
        fail(error)
      }),
    async commit() {
      await handle.close().catch(fail)
      return { path, ...writer.digest() }
    },
    discard,
  }
}

/** With time and number a name still fits into 255 bytes. */
const maxNameBytes = 200

/**
 * Only the user may read it; its name is the time and the name that the result was to have.
 * @throws FileError with the code of `reason`, which says that the rescue failed as well; so do the file's own
 * methods
 */
export async function openRescueFile(
  context: FileContext,
  folder: string | undefined,
  path: string,
  reason: ModelgateError,
): Promise<AtomicFile> {
  const facts = { exit: 'io', phase: 'output', billed: 'yes' } as const
  const attempt = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      return await step()
    } catch (error) {
      const failure = writeError(error, folder ?? '')
      const message = `${reason.message} It could not be rescued either: ${failure.message}`
      throw reason.amend({ ...facts, message })
    }
  }
  const file = await attempt(async () => {
    if (folder === undefined) {
      throw new FileError('no_state_folder', 'There is no folder for it, because no home directory is known.')
    }
    await makeFolder(folder)
    const time = new Date(context.clock.now()).toISOString().replaceAll(/[-:]|\.\d+Z$/g, '')
    const name = `${time}-${cutBytes(basename(path), maxNameBytes)}`
    return await openAtomicFile(context, join(folder, name), { mode: 0o600, force: false, numbered: true })
  })
  return {
    ...file,
    write: (chunk) => attempt(() => file.write(chunk)),
    async commit(isDamaged) {
      const written = await attempt(() => file.commit(isDamaged))
      const message = `${reason.message} It is kept in ${shownPath(written.path, Infinity)} instead.`
      return { ...written, rescued: reason.amend({ ...facts, message, rescued: [written.path] }) }
    },
  }
}

export type TextFile = Awaited<ReturnType<typeof openTextFile>>

export async function openTextFile(context: FileContext, path: string, options: WriteOptions) {
  const file = await openAtomicFile(context, path, options)
  return {
    path,
    /** The last call. @throws FileError; leaves nothing behind */
    async commit(text: string) {
      await file.write(text)
      return { ...(await file.commit()), mime_type: 'text/plain' }
    },
    discard: () => file.discard(),
  }
}
