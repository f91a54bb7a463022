import { mkdir, open, stat, lstat, realpath, link, rename, unlink } from 'node:fs/promises'
import { dirname, basename, join, resolve } from 'node:path'
import {
  systemCode,
  fileExists,
  fileNameProblem,
  folderMissing,
  shownPath,
  writeError,
} from './file-error.ts'
import { type FileContext, type FileHost, sleep } from '../context.ts'
import { FileError } from '../errors.ts'
import { mayBeHeld } from '../platform.ts'

/**
 * Creates a folder, which only the user may read unless told, and its parents. Node's recursive mkdir never returns if the system
 * says "no such file" although the parent exists, as in `/proc` and automounted folders.
 * @throws the error of the system
 */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
  try {
    await makeOne(path, mode)
  } catch (error) {
    const above = dirname(path)
    if (systemCode(error) !== 'ENOENT' || above === path) throw error
    await makeFolder(above, mode)
    await makeOne(path, mode)
  }
}

async function makeOne(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    // Some read-only file systems report that before they report that the folder exists.
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
  }
}

/** Syncs a folder, so that a new name survives a power failure. Best effort: Windows, for one, cannot open folders. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close().catch(() => {})
}

/** The target of a write. */
export interface FileTarget {
  readonly kind: 'file'
  /** The resolved folder, so that a symbolic link created later cannot redirect the write. */
  readonly folder: string
  readonly name: string
  /** The permissions for the file, those of the file it replaces; undefined for the default of the umask. */
  readonly mode: number | undefined
  readonly force: boolean
}

/** A device, or an open pipe that the system names (`/dev/stdout`, `>(gzip)`), which cannot be replaced. */
interface StreamTarget {
  readonly kind: 'stream'
  readonly location: string
}

/**
 * Inspects `path` and decides whether and how it may be written. Its folder is made where there is none.
 * @param mayBeTaken whether an existing file is allowed, because another name will be used
 */
export async function findTarget(
  context: FileContext,
  path: string,
  force: boolean,
  mayBeTaken: boolean,
): Promise<FileTarget | StreamTarget> {
  const badName = fileNameProblem(path)
  if (badName !== undefined) throw badName
  const location = resolve(context.cwd, path)
  const existing = await look(location, path)
  if (existing?.isDirectory() || /[/\\]$/.test(path)) throw isFolder(path)
  // A named pipe loses what is written when its reader goes, and cannot be asked before.
  const isOpenPipe = existing?.isFIFO() && /^\/(dev\/(fd\/|std)|proc\/)/.test(location)
  if (isOpenPipe || existing?.isCharacterDevice()) return { kind: 'stream', location }
  if (existing !== undefined && !existing.isFile()) {
    throw new FileError('not_a_file', `${shownPath(path)} cannot be written: it is not a regular file.`, {
      hint: 'Name another file.',
    })
  }
  if (!force && !mayBeTaken && (existing !== undefined || (await isLink(location)))) throw fileExists(path)
  const folder = await realFolder(dirname(location), path)
  return { kind: 'file', folder, name: basename(location), mode: existing && existing.mode & 0o777, force }
}

/** Follows links; undefined if there is no file. */
async function look(location: string, path: string) {
  try {
    return await stat(location)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    // A loop of links exists and may be replaced like any link.
    if (systemCode(error) === 'ELOOP' && (await isLink(location))) return undefined
    throw writeError(error, path)
  }
}

/** A dangling link exists, too. */
async function isLink(location: string): Promise<boolean> {
  return await lstat(location).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}

/** The folder without links; made where there is none, for all that the umask allows. */
async function realFolder(folder: string, path: string): Promise<string> {
  try {
    await realpath(folder).catch(async (error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error
      await makeFolder(folder, 0o777)
    })
    return await realpath(folder)
  } catch (error) {
    throw systemCode(error) === 'ENOENT' ? folderMissing(path, error) : writeError(error, path)
  }
}

function isFolder(path: string): FileError {
  return new FileError('is_folder', `${shownPath(path)} cannot be written: it is a folder.`, {
    hint: `Name a file in it: ${join(path, 'NAME')}`,
  })
}

const maxNames = 10_000

/**
 * Gives a finished temporary file its final name: by `rename` if an existing file may be replaced, otherwise by
 * `link`, which fails if another process has created the file in the meantime; then the next alternative name is
 * tried, if any.
 * @param path the name to use in messages
 * @returns the path that it got
 * @throws FileError `file_exists`, …; then the temporary file still exists
 */
export async function placeFile(
  context: FileContext,
  temporary: string,
  target: FileTarget,
  path: string,
  spareName?: (count: number) => string,
): Promise<string> {
  let name = target.name
  for (let count = 2; ; count++) {
    const final = join(target.folder, name)
    try {
      if (target.force) await renameFile(context, temporary, final)
      else await linkOrReserve(context, temporary, final)
      await syncFolder(target.folder)
      return name === target.name ? path : join(dirname(path), name)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw writeError(error, path)
      if (spareName === undefined || count > maxNames) throw fileExists(path, error)
      name = spareName(count)
    }
  }
}

/**
 * Gives a finished temporary file a name that no file has.
 * @throws the error of the system, `EEXIST` when there is one
 */
export async function linkOrReserve(context: FileContext, temporary: string, final: string): Promise<void> {
  try {
    await link(temporary, final)
  } catch (error) {
    if (!linksMissing.has(systemCode(error) ?? '')) throw error
    return await reserveAndReplace(context, temporary, final)
  }
  // The result is saved; failing to remove the temporary name is not an error.
  await unlink(temporary).catch(() => {})
}

/** Error codes of file systems without hard links; the last is what Windows says of FAT and exFAT, by way of libuv. */
const linksMissing = new Set([
  'EPERM',
  'EACCES',
  'ENOTSUP',
  'EOPNOTSUPP',
  'ENOSYS',
  'EMLINK',
  'EXDEV',
  'EISDIR',
])

/**
 * Without hard links, reserves the name with an empty file first, so that no file of another process is overwritten. A
 * kill between the two steps leaves that empty file.
 */
async function reserveAndReplace(context: FileContext, temporary: string, final: string): Promise<void> {
  const reservation = await open(final, 'wx')
  await reservation.close()
  try {
    await renameFile(context, temporary, final)
  } catch (error) {
    await unlink(final).catch(() => {})
    throw error
  }
}

const renameTries = 6

/**
 * Gives a file or a folder another name, in place of the file that has it. Where another program may have one of them open
 * for a moment, it is tried again, for 0.3 seconds.
 * @throws the error of the system
 */
export async function renameFile(host: FileHost | undefined, from: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(from, to)
    } catch (error) {
      const isHeld = host !== undefined && mayBeHeld(host.platform, systemCode(error))
      if (!isHeld || attempt === renameTries) throw error
      await sleep(host.clock, 10 * 2 ** (attempt - 1))
    }
  }
}
