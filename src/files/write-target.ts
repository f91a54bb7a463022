import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Context } from '../context.ts'
import { FileError, UsageError } from '../errors.ts'
import { fileExists, folderMissing, shownPath, systemCode, writeError } from './file-error.ts'

/** Where a file is to be written. */
export interface FileTarget {
  readonly kind: 'file'
  /** The real folder, so that a link swapped in later cannot lead the writing elsewhere. */
  readonly folder: string
  readonly name: string
  /** The permissions that the file is to have, as of the one that is replaced; undefined for what the umask allows. */
  readonly mode: number | undefined
  readonly force: boolean
}

/** A pipe, socket or device, which has no content that could be replaced. */
export interface StreamTarget {
  readonly kind: 'stream'
  readonly location: string
}

/**
 * Looks at what stands at `path` and decides whether and how it may be written.
 * @param mayBeTaken an existing file is no problem, because another name will be found when it comes to that
 */
export async function findTarget(
  context: Context,
  path: string,
  force: boolean,
  mayBeTaken = false,
): Promise<FileTarget | StreamTarget> {
  if (path === '' || path.includes('\0')) {
    throw new UsageError(`${JSON.stringify(path)} is not a file name.`, { code: 'bad_file_name' })
  }
  const location = resolve(context.cwd, path)
  const existing = await look(location, path)
  if (existing?.isDirectory() || /[/\\]$/.test(path)) throw isFolder(path)
  if (existing?.isFIFO() || existing?.isCharacterDevice()) return { kind: 'stream', location }
  if (existing !== undefined && !existing.isFile()) {
    throw new FileError('not_a_file', `${shownPath(path)} cannot be written: it is no regular file.`, {
      hint: 'Name another file.',
    })
  }
  if (!force && !mayBeTaken && (existing !== undefined || (await isLink(location)))) throw fileExists(path)
  const folder = await realFolder(dirname(location), path)
  return { kind: 'file', folder, name: basename(location), mode: existing && existing.mode & 0o777, force }
}

/** What the path leads to, through links; undefined when nothing is there. */
async function look(location: string, path: string) {
  try {
    return await stat(location)
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    // A circle of links is a thing that exists and may be replaced like any link.
    if (systemCode(error) === 'ELOOP' && (await isLink(location))) return undefined
    throw writeError(error, path)
  }
}

/** A link that leads nowhere exists too. */
async function isLink(location: string): Promise<boolean> {
  return await lstat(location).then(
    (found) => found.isSymbolicLink(),
    () => false,
  )
}

async function realFolder(folder: string, path: string): Promise<string> {
  try {
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
