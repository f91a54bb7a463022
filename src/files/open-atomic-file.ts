import { constants } from 'node:fs'
import { open, type FileHandle, realpath } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { FileContext } from '../context.ts'
import { ModelgateError, FileError } from '../errors.ts'
import { digestWriter, openTemporary, type AtomicFile, type TemporaryOptions } from './atomic-file.ts'
import { shownPath, writeError } from './file-error.ts'
import { cutBytes, numberedName } from './file-name.ts'
import { makeFolder, findTarget } from './write-target.ts'

export interface WriteOptions {
  /** Replace an existing file. */
  readonly force: boolean
  /**
   * Alternative names in the same folder (counted from 2). The first free one is used if the file exists, even if
   * another process created it in the meantime: the result has been paid for.
   */
  readonly spareName?: (count: number) => string
  /** The permissions of the file; those of the one that is replaced, or what the umask allows, unless given. */
  readonly mode?: number
}

/** Where to save a result that was paid for but cannot be written to its target. */
export interface Rescue {
  /** Undefined if the machine has no state folder. */
  readonly rescueFolder: string | undefined
}

/**
 * Opens `path` (relative to the context's working directory) for writing under a temporary name in the same folder.
 * Everything that can be known before anything is sent is checked here: an existing target, a missing folder,
 * a folder that cannot be written. Pipes and devices (`/dev/null`, `>(gzip)`) are written directly.
 * @param options with a `rescueFolder`, what the system refuses later goes there, with all that has been written;
 *   not from a pipe or a device, which takes back nothing
 * @throws FileError `folder_missing`, where it cannot be made
 * @throws FileError `file_exists`, `is_folder`, `permission_denied`, `read_only`, `no_space`, `name_too_long`, …
 */
export async function openAtomicFile(
  context: FileContext,
  path: string,
  options: WriteOptions & Partial<Rescue>,
): Promise<AtomicFile> {
  const { force, spareName } = options
  const found = await findTarget(context, path, force, spareName !== undefined)
  if (found.kind === 'stream') return await openDirectly(path, found.location)
  const target = { ...found, mode: options.mode ?? found.mode }
  const takeOver: TemporaryOptions['takeOver'] = async (content, reason) => {
    const file = await openRescueFile(context, options.rescueFolder, path, reason)
    try {
      for await (const chunk of content) await file.write(chunk)
      return file
    } catch (error) {
      await file.discard()
      throw error
    }
  }
  const mayRescue = 'rescueFolder' in options
  return await openTemporary(context, path, target, { spareName, takeOver: mayRescue ? takeOver : undefined })
}

/**
 * The same for a result that has already arrived: it is rescued even if its target cannot be opened.
 * @throws FileError when the rescue fails as well
 */
export async function openResultFile(
  context: FileContext,
  path: string,
  options: WriteOptions & Partial<Rescue>,
): Promise<AtomicFile> {
  if (!('rescueFolder' in options)) return await openAtomicFile(context, path, options)
  try {
    return await openAtomicFile(context, path, options)
  } catch (error) {
    if (!(error instanceof ModelgateError)) throw error
    return await openRescueFile(context, options.rescueFolder, path, error)
  }
}

/** Opens a pipe or device. */
async function openDirectly(path: string, location: string): Promise<AtomicFile> {
  const handle = await openForReader(location).catch((error: unknown) => {
    throw writeError(error, path)
  })
  const writer = digestWriter(handle)
  let closed = false
  const close = async () => {
    if (!closed) await handle.close()
    closed = true
  }
  const refused = async (error: unknown) => {
    await close().catch(() => {})
    return writeError(error, path)
  }
  const commit = async () => {
    await close().catch(async (error: unknown) => {
      throw await refused(error)
    })
    return { path, ...writer.finish() }
  }
  return {
    isDirect: true,
    async write(chunk) {
      await writer.write(chunk).catch(async (error: unknown) => {
        throw await refused(error)
      })
    },
    commit,
    commitDamaged: commit,
    discard: () => close().catch(() => {}),
  }
}

async function openForReader(location: string): Promise<FileHandle> {
  // Without a reader this fails at once, where a blocking open would hold a thread for ever.
  const probe = await open(location, constants.O_WRONLY | (constants.O_NONBLOCK ?? 0))
  try {
    return await open(location, constants.O_WRONLY)
  } finally {
    await probe.close()
  }
}

/** Maximum length of the kept part of a name, so that time and number still fit into 255 bytes. */
const maxNameBytes = 200

/**
 * Opens a file in the rescue folder for a result that was paid for and cannot be written to `path`. Only the user may
 * read it; its name is the time and the name that the result was to have.
 * @param folder undefined when the machine has no place for one
 * @param reason why it cannot be written where it belongs
 * @throws FileError with the code of `reason`, which says that the rescue failed as well; so do the file's own methods
 */
export async function openRescueFile(
  context: FileContext,
  folder: string | undefined,
  path: string,
  reason: ModelgateError,
): Promise<AtomicFile> {
  const attempt = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      return await step()
    } catch (error) {
      throw notRescued(reason, error instanceof ModelgateError ? error : writeError(error, folder ?? ''))
    }
  }
  const file = await attempt(async () => {
    if (folder === undefined) throw noFolder()
    await makeFolder(folder)
    const time = new Date(context.clock.now()).toISOString().replaceAll(/[-:]|\.\d+Z$/g, '')
    const name = `${time}-${cutBytes(basename(path), maxNameBytes)}`
    const target = { kind: 'file', folder: await realpath(folder), name, mode: 0o600, force: false } as const
    const spareName = (count: number) => numberedName(name, count)
    return await openTemporary(context, join(folder, name), target, { spareName })
  })
  return {
    isDirect: false,
    write: (chunk) => attempt(() => file.write(chunk)),
    async commit() {
      const written = await attempt(() => file.commit())
      return { ...written, rescued: rescued(reason, written.path) }
    },
    commitDamaged: () => attempt(() => file.commitDamaged()),
    discard: () => file.discard(),
  }
}

function rescued(reason: ModelgateError, path: string): ModelgateError {
  const message = `${reason.message} It is kept in ${shownPath(path, Infinity)} instead.`
  return reason.amend({ exit: 'io', message, phase: 'output', billed: 'yes', rescued: [path] })
}

function notRescued(reason: ModelgateError, failure: ModelgateError): ModelgateError {
  const message = `${reason.message} It could not be rescued either: ${failure.message}`
  return reason.amend({ exit: 'io', message, phase: 'output', billed: 'yes' })
}

function noFolder(): FileError {
  return new FileError('no_state_folder', 'There is no folder for it, because no home directory is known.')
}
