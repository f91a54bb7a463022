import { lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'

const leftoverAgeMs = 24 * 60 * 60 * 1000

/**
 * Removes temporary files that a killed process left in a folder more than 24 hours ago. Best effort: never throws.
 * @param now milliseconds since 1970
 */
export async function removeLeftovers(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    if (!/^\..+\.[0-9a-f]{16}\.mgpart$/.test(name)) continue
    const path = join(folder, name)
    const found = await lstat(path).catch(() => undefined)
    // Every write renews the time, so a file of a living process is not that old.
    if (found?.isFile() && now - found.mtimeMs > leftoverAgeMs) await unlink(path).catch(() => {})
  }
}
