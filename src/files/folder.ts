import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from './file-error.ts'

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
    if (systemCode(error) !== 'ENOENT' || above === path) throw error
    await makeFolder(above)
    await makeOne(path)
  }
}

async function makeOne(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    // Some file systems that cannot be written say so before they say that the folder is there.
    const found = await stat(path).catch(() => undefined)
    if (!found?.isDirectory()) throw error
  }
}

/** Makes a new name in a folder survive a power cut. Best effort: Windows, for one, opens no folders. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close().catch(() => {})
}
