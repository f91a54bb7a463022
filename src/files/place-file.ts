import { link, open, rename, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sleep } from '../context.ts'
import type { Context } from '../context.ts'
import { fileExists, systemCode, writeError } from './file-error.ts'
import type { FileTarget } from './write-target.ts'

const mostNames = 10_000

/**
 * Gives a finished temporary file its final name: by `rename` when an existing file may be replaced, otherwise by
 * `link`, which fails if another process has taken the name meanwhile; then the next spare name is tried, if any.
 * @param path the name to use in messages
 * @returns the path that it got
 * @throws FileError `file_exists`, …; the temporary file is then still there
 */
export async function placeFile(
  context: Context,
  temporary: string,
  target: FileTarget,
  path: string,
  spareName?: (count: number) => string,
): Promise<string> {
  let name = target.name
  for (let count = 2; ; count++) {
    const final = join(target.folder, name)
    try {
      if (target.force) await replace(context, temporary, final)
      else await linkOrReserve(context, temporary, final)
      await syncFolder(context, target.folder)
      return name === target.name ? path : join(dirname(path), name)
    } catch (error) {
      if (systemCode(error) !== 'EEXIST') throw writeError(error, path)
      if (spareName === undefined || count > mostNames) throw fileExists(path, error)
      name = spareName(count)
    }
  }
}

async function linkOrReserve(context: Context, temporary: string, final: string): Promise<void> {
  try {
    await link(temporary, final)
  } catch (error) {
    if (!linksMissing.has(systemCode(error) ?? '')) throw error
    return await reserveAndReplace(context, temporary, final)
  }
  // The result stands; a second name that cannot be removed is no failure.
  await unlink(temporary).catch(() => {})
}

/** What file systems without hard links answer. */
const linksMissing = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV'])

/**
 * Without hard links the name is taken by an empty file first, so that still nothing of somebody else's is
 * overwritten. Being killed between the two steps leaves that empty file.
 */
async function reserveAndReplace(context: Context, temporary: string, final: string): Promise<void> {
  const reservation = await open(final, 'wx')
  await reservation.close()
  try {
    await replace(context, temporary, final)
  } catch (error) {
    await unlink(final).catch(() => {})
    throw error
  }
}

const renameTries = 6

/** On Windows a virus scanner may hold the file for a moment. */
async function replace(context: Context, temporary: string, final: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await rename(temporary, final)
    } catch (error) {
      const isHeld = ['EPERM', 'EACCES', 'EBUSY'].includes(systemCode(error) ?? '')
      if (context.platform !== 'win32' || !isHeld || attempt === renameTries) throw error
      await sleep(context.clock, 10 * 2 ** (attempt - 1))
    }
  }
}

/** Makes the new name survive a power cut. Best effort: not every system can. */
async function syncFolder(context: Context, folder: string): Promise<void> {
  if (context.platform === 'win32') return
  const handle = await open(folder, 'r').catch(() => undefined)
  await handle?.sync().catch(() => {})
  await handle?.close().catch(() => {})
}
