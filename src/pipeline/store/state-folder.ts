import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemCode, writeError } from '../../files/file-error.ts'
import { makeFolder } from '../../files/write-target.ts'
import type { Project } from '../project.ts'

/**
 * Makes a folder below `.modelgate`, which only the user may read, and tells Git to leave `.modelgate` out.
 * @param name `store`, `candidates`
 * @returns its path
 * @throws FileError
 */
export async function makeStateFolder(project: Project, name: string): Promise<string> {
  const path = join(project.stateFolder, name)
  try {
    await makeFolder(path)
    // What the sandbox makes lies in it, too.
    await writeFile(join(project.folder, '.modelgate', '.gitignore'), '*\n', { flag: 'wx' }).catch(
      (error: unknown) => {
        if (systemCode(error) !== 'EEXIST') throw error
      },
    )
    return path
  } catch (error) {
    throw writeError(error, path)
  }
}
