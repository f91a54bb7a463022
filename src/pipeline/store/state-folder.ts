import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readError, systemCode } from '../../files/file-error.ts'
import { makeFolder } from '../../files/write-target.ts'
import type { Project } from '../project.ts'

/**
 * Makes a folder below `.modelgate`, which only the user may read, and tells Git to leave `.modelgate` out.
 * @param name `store`, `candidates`, `runs`
 * @returns its path
 * @throws the error of the system
 */
export async function makeStateFolder(project: Project, name: string): Promise<string> {
  const path = join(project.stateFolder, name)
  await makeFolder(path)
  // At the top, because what the sandbox makes lies below it, too.
  const ignore = join(project.folder, '.modelgate', '.gitignore')
  await writeFile(ignore, '*\n', { flag: 'wx' }).catch((error: unknown) => {
    if (systemCode(error) !== 'EEXIST') throw error
  })
  return path
}

/** The names in a folder; none when there is no such folder. @throws FileError */
export async function namesIn(folder: string): Promise<string[]> {
  return await readdir(folder).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return []
    throw readError(error, folder)
  })
}
