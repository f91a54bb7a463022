import { mkdir, open, stat, lstat, realpath, link, rename, unlink } from 'node:fs/promises'
import { dirname, basename, join, resolve } from 'node:path'
import { fileNameProblem, shellWord, shownPath, systemCode, writeError } from './file-error.ts'
import { type FileContext, type FileHost, sleep } from '../context.ts'
import { FileError } from '../errors.ts'
import { mayBeHeld } from '../platform.ts'
import { numberedName } from './file-name.ts'

/** Node's recursive mkdir never returns where the system denies an existing parent, as in `/proc`. */
export async function makeFolder(path: string, mode = 0o700): Promise<void> {
  const make = () =>
    mkdir(path, { mode }).catch(async (error: unknown) => {
      // Some read-only file systems report that before they report that the folder exists.
      const found = await stat(path).catch(() => undefined)
      if (!found?.isDirectory()) throw error
    })
  await make().catch(async (error: unknown) => {
    const above = dirname(path)
    if (systemCode(error) !== 'ENOENT' || above === path) throw error
    await makeFolder(above, mode)
    await make()
  })
}

/** So that a new name survives a power failure. Best effort: Windows, for one, cannot open folders. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close().catch(() => {})
}

export interface TargetOptions {
  readonly force: boolean
  /** Use the next free of `NAME-2`, `NAME-3`, … if the file exists, or another process creates it meanwhile. */
  readonly numbered?: boolean
  /** Those of the file that is replaced, or what the umask allows, unless given. */
  readonly mode?: number
}

export type FileTarget = Extract<Awaited<ReturnType<typeof findTarget>>, { readonly kind: 'file' }>

/** A stream is a device, or an open pipe that the system names (`/dev/stdout`, `>(gzip)`), which cannot be replaced. */
export async function findTarget(
  context: FileContext,
  path: string,
  { force, numbered = false, mode }: TargetOptions,
) {
  const badName = fileNameProblem(path)
  if (badName !== undefined) throw badName
  const location = resolve(context.cwd, path)
  const existing = await look(location, path)
  if (existing?.isDirectory() || /[/\\]$/.test(path)) {
    const hint = `Name a file in it: ${join(path, 'NAME')}`
    throw new FileError('not_a_file', `${shownPath(path)} cannot be written: it is a folder.`, { hint })
  }
  // A named pipe loses what is written when its reader goes, and cannot be asked before.
  const isOpenPipe = existing?.isFIFO() && /^\/(dev\/(fd\/|std)|proc\/)/.test(location)
  if (isOpenPipe || existing?.isCharacterDevice()) return { kind: 'stream', path, location } as const
  if (existing !== undefined && !existing.isFile()) {
    const message = `${shownPath(path)} cannot be written: it is not a regular file.`
    throw new FileError('not_a_file', message, { hint: 'Name another file.' })
  }
  if (!force && !numbered && (existing !== undefined || (await isLink(location)))) throw fileExists(path)
  return {
    kind: 'file',
    path,
    // Resolved, so that a symbolic link created later cannot redirect the write.
    folder: await realFolder(dirname(location), path),
    name: basename(location),
    force,
    numbered,
    mode: mode ?? (existing && existing.mode & 0o777),
  } as const
}

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
  return (await lstat(location).catch(() => undefined))?.isSymbolicLink() ?? false
}

async function realFolder(folder: string, path: string): Promise<string> {
  try {
    return await realpath(folder).catch(async (error: unknown) => {
      if (systemCode(error) !== 'ENOENT') throw error
      await makeFolder(folder, 0o777)
      return await realpath(folder)
    })
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw writeError(error, path)
    const above = dirname(path)
    const message = `${shownPath(path)} cannot be written: the folder ${shownPath(above)} does not exist.`
    const hint = `Create the folder first: mkdir -p ${shellWord(above)}`
    throw new FileError('not_found', message, { hint, cause: error })
  }
}

function fileExists(path: string, cause?: unknown): FileError {
  return new FileError('file_exists', `${shownPath(path)} already exists.`, {
    hint: 'Choose another name, or add --force to replace it.',
    cause,
  })
}

/**
 * `link` fails if another process has created the file in the meantime; then the next number is tried, if allowed.
 * @returns the path that it got @throws FileError; then the temporary file still exists
 */
export async function placeFile(
  context: FileContext,
  temporary: string,
  { path, folder, name, force, numbered }: FileTarget,
): Promise<string> {
  for (let number = 1; ; number++) {
    const free = number === 1 ? name : numberedName(name, number)
    try {
      if (force) await renameFile(context, temporary, join(folder, free))
      else await linkOrReserve(context, temporary, join(folder, free))
      await syncFolder(folder)
      return number === 1 ? path : join(dirname(path), free)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw writeError(error, path)
      if (!numbered) throw fileExists(path, error)
    }
  }
}

/** @throws the error of the system, `EEXIST` when a file has the name */
export async function linkOrReserve(context: FileContext, temporary: string, final: string): Promise<void> {
  try {
    await link(temporary, final)
  } catch (error) {
    if (!linksMissing.test(systemCode(error) ?? '')) throw error
    // Reserves the name with an empty file first, so that no file of another process is overwritten.
    await (await open(final, 'wx')).close()
    return await renameFile(context, temporary, final).catch(async (reason: unknown) => {
      await unlink(final).catch(() => {})
      throw reason
    })
  }
  // The result is saved; failing to remove the temporary name is not an error.
  await unlink(temporary).catch(() => {})
}

/** Of file systems without hard links; the last is what Windows says of FAT and exFAT, by way of libuv. */
const linksMissing = /^(?:EPERM|EACCES|ENOTSUP|EOPNOTSUPP|ENOSYS|EMLINK|EXDEV|EISDIR)$/

const renameTries = 6

/** Tried again for 0.3 seconds where another program may have a file open. @throws the error of the system */
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
