import { constants, statSync } from 'node:fs'
import { lstat, open, readdir, writeFile, type FileHandle } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { FileError } from '../errors.ts'
import { readError, shownPath, systemCode } from '../files/file-error.ts'
import { notRegular } from '../files/input-file.ts'
import { makeFolder } from '../files/write-target.ts'

export const manifestName = 'modelgate.yaml'

/** Where the files of a manifest lie, as absolute paths. */
export interface Project {
  readonly manifestPath: string
  /** The manifest's folder: what it names as input is relative to it. */
  readonly folder: string
  /** Outputs are relative to it: the manifest's folder, except with the sandbox. */
  readonly outputFolder: string
  readonly lockPath: string
  /** `.modelgate`: results, journals and parts. */
  readonly stateFolder: string
  readonly isSandbox: boolean
}

/** @param isSandbox all that is written lies below `.modelgate/sandbox` then, and nothing of the project is touched */
export function projectOf(manifestPath: string, isSandbox: boolean): Project {
  const folder = dirname(manifestPath)
  const outputFolder = isSandbox ? join(folder, '.modelgate', 'sandbox') : folder
  return {
    manifestPath,
    folder,
    outputFolder,
    lockPath: join(outputFolder, `${basename(manifestPath, extname(manifestPath))}.lock`),
    stateFolder: join(outputFolder, '.modelgate'),
    isSandbox,
  }
}

/** A folder below `.modelgate`, which Git leaves out. @throws FileError `no_state_folder`; the error of the system */
export async function makeStateFolder(project: Project, name: string): Promise<string> {
  const path = join(project.stateFolder, name)
  const top = join(project.folder, '.modelgate')
  const folders = [project.stateFolder]
  while (folders[0] !== top) folders.unshift(dirname(folders[0]!))
  // Files with fixed names are in these.
  const [calls, replaced] = [join(project.stateFolder, 'calls'), join(project.stateFolder, 'replaced')]
  await refuseLinks([...folders, calls, replaced])
  await makeFolder(path)
  // At the top, because what the sandbox and shards make lies below it, too.
  for (const [file, text] of Object.entries({ '.gitignore': '*', version: `${stateVersion}` })) {
    await writeFile(join(top, file), `${text}\n`, { flag: 'wx' }).catch((error: unknown) => {
      if (systemCode(error) !== 'EEXIST') throw error
    })
  }
  return path
}

/** The form of `.modelgate`. Version 0.1.0 wrote no number. */
const stateVersion = 2

/** Where version 0.1.0 had results, candidates and requests under way. */
export function foldersOfFirstVersion({ stateFolder: at }: Project): [string, string, string] {
  return [join(at, 'store'), join(at, 'candidates'), join(at, 'work')]
}

/** @throws FileError `other_version` when a newer program has written it */
export async function checkStateVersion({ folder }: Pick<Project, 'folder'>): Promise<void> {
  const path = join(folder, '.modelgate', 'version')
  const found = Number.parseInt((await readStateFile(path))?.toString() ?? '')
  if (!(found > stateVersion)) return
  const message = `${shownPath(dirname(path))} was written by a newer version of modelgate.`
  const hint = 'Update this one: it could take what was paid for as missing.'
  throw new FileError('other_version', message, { phase: 'input', billed: 'no', hint })
}

/** A cloned repository can have links, and what is kept here is also replaced and removed; an archive can have pipes. */
async function refuseLinks(folders: readonly string[]): Promise<void> {
  const top = folders[0]!
  const refused = (await lstat(top).catch(() => undefined))?.isSymbolicLink() === true ? [top] : []
  for (const folder of folders) {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
    const others = entries.filter((entry) => !entry.isFile() && !entry.isDirectory())
    refused.push(...others.map(({ name }) => join(folder, name)))
  }
  const [first] = refused
  if (first === undefined) return
  const isLink = (await lstat(first).catch(() => undefined))?.isSymbolicLink() === true
  const what = isLink ? "a symbolic link, which could lead to anyone's files" : 'neither a file nor a folder'
  const hint = 'Remove it; what belongs there is created.'
  throw new FileError('no_state_folder', `${shownPath(first)} is ${what}.`, { phase: 'input', hint })
}

export const maxStateText = 256 * 1024 * 1024

/** Undefined when nothing is there. What is no regular file is refused: reading a pipe may never end. */
export async function readStateFile(path: string, shown = path, maxBytes = Infinity) {
  let handle: FileHandle | undefined
  try {
    // Most files that are asked for are not there, and to learn that from an error takes ten times as long.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) return undefined
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = await handle.stat()
    if (found.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' })
    if (!found.isFile()) throw notRegular(shown)
    if (found.size > maxBytes) {
      const message = `${shownPath(shown)} is too large: ${found.size} bytes; the limit is ${maxBytes} bytes.`
      throw new FileError('file_too_large', message, { phase: 'input' })
    }
    return await handle.readFile()
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined
    throw readError(error, shown)
  } finally {
    // Only read: what the system says of closing it changes nothing.
    await handle?.close().catch(() => {})
  }
}

export async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return []
    throw readError(error, folder)
  })
}
