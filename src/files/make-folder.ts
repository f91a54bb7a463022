import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Only for the user whose folder it is. */
const mode = 0o700

/**
 * Makes a folder that only the user may read, and those above it. The recursive mkdir of Node never ends where the
 * system says "no such file" although the parent is there, as `/proc` and folders that are mounted on demand do.
 * @throws the error of the system
 */
export async function makeFolder(path: string): Promise<void> {
  try {
    await makeOne(path)
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error
    await makeFolder(above)
    await makeOne(path)
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    // Some file systems that cannot be written say so before they say that the folder is there.
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
  }
}
