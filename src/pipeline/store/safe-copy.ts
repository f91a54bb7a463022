import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, unlinkSync } from 'node:fs'
import { chmod, copyFile, lstat, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { syncHandle } from '../../files/atomic-file.ts'
import { FileError } from '../../errors.ts'
import { shownPath, systemCode } from '../../files/file-error.ts'
import { cutBytes } from '../../files/file-name.ts'
import { digestOfFile } from './file-digest.ts'

/** A name in a folder for a file that is not whole yet; `removeLeftovers` removes it after a day. */
export function temporaryPath(folder: string, name: string): string {
  return join(folder, `.${cutBytes(name, 200)}.${randomBytes(8).toString('hex')}.mgpart`)
}

/**
 * Copies a file so that a change of one never changes the other: as a clone where the file system can do that.
 * @param to must not exist; its bytes are on the disk when this returns
 * @param mode the permissions of the copy; those of a new file unless given
 * @throws the error of the system, `EINVAL` when it is not a file; then there is no copy
 */
export async function copyWhole(from: string, to: string, mode?: number): Promise<void> {
  const found = await lstat(from)
  // A pipe would never end, and a link is not what was checked.
  if (!found.isFile()) throw Object.assign(new Error('it is not a file'), { code: 'EINVAL' })
  const usual = mode ?? modeOfNewFile(to)
  try {
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
    // The copy has the permissions of its original.
    if ((found.mode & 0o777) !== usual) await chmod(to, usual).catch(ignoreUnsupported)
    await syncFile(to)
  } catch (error) {
    if (systemCode(error) !== 'EEXIST') await unlink(to).catch(() => {})
    throw error
  }
}

/** The permissions that the umask leaves to a new file; found by making one. */
function modeOfNewFile(path: string): number {
  const descriptor = openSync(path, 'wx')
  try {
    return fstatSync(descriptor).mode & 0o777
  } finally {
    closeSync(descriptor)
    unlinkSync(path)
  }
}

/**
 * Copies a file that is to have a digest.
 * @param isText whether the digest is of the text with LF
 * @param mode as for `copyWhole`
 * @throws FileError `result_lost` when it is no file, or has other bytes; the error of the system
 */
export async function copyVerified(
  from: string,
  to: string,
  { sha256, isText }: { readonly sha256: string; readonly isText: boolean },
  mode?: number,
): Promise<void> {
  await copyWhole(from, to, mode).catch((error: unknown) => {
    throw systemCode(error) === 'EINVAL' ? damagedCopy(from) : error
  })
  // Of the copy, because the original may change meanwhile.
  if ((await digestOfFile(to, isText))?.sha256 !== sha256) throw damagedCopy(from)
}

function damagedCopy(source: string): FileError {
  return new FileError('result_lost', `${shownPath(source)} is not what was stored; it is not used.`, {
    hint: 'Another program has changed it, or the disk is failing. The next run treats it as missing.',
  })
}

/** Some file systems have no permissions, and say so of a file of one's own. */
function ignoreUnsupported(error: unknown): void {
  if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes(systemCode(error) ?? '')) throw error
}

/** Waits until the bytes of a file are on the disk. */
export async function syncFile(path: string): Promise<void> {
  // Windows syncs only what may be written.
  const handle = await open(path, 'r+').catch(() => open(path, 'r'))
  try {
    await syncHandle(handle)
  } finally {
    await handle.close()
  }
}
