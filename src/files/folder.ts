import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { systemCode } from './file-error.ts'

/**
 * Creates a folder that only the user may read, and its parents. Node's recursive mkdir never returns if the system
 * says "no such file" although the parent exists, as in `/proc` and automounted folders.
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
