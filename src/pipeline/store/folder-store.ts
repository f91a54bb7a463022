import { constants } from 'node:fs'
import { access, lstat, stat, unlink } from 'node:fs/promises'
import { basename, dirname, resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { readError, shellWord, shownPath, systemCode, writeError } from '../../files/file-error.ts'
import { renameFile } from '../../files/write-target.ts'
import { digestPattern } from '../lock/lock-block.ts'
import { blobPath, openBlobs } from './blob-store.ts'
import { digestOfBytes } from './file-digest.ts'
import { copyWhole, temporaryPath } from './safe-copy.ts'
import { maxBlobBytes, sourceChanged, type SharedStore } from './shared-store.ts'

/**
 * Opens a store in a folder, which may be on a disk of the network: `DIR/ab/abcd…`. The folder has to be there, because one
 * that is made in place of a disk that is not mounted would be empty, and nobody else's. Whoever may use it may use what is
 * made in it: folders get its group and permissions, and blobs the same without the right to execute.
 * @throws UsageError `store_missing`, `bad_store`; FileError when it may not be written
 */
export async function openFolderStore(context: FileContext, path: string): Promise<SharedStore> {
  const root = resolve(context.cwd, path)
  const found = await stat(root).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') throw folderMissing(path)
    throw readError(error, path)
  })
  if (!found.isDirectory()) throw notAFolder(path)
  await access(root, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw writeError(error, path)
  })
  const sharing = { folder: found.mode & 0o7777, file: found.mode & 0o666, group: found.gid }
  const blobs = openBlobs(context, { root, makeRoot: async () => {}, sharing })
  return {
    shown: path,
    async put(source, sha256) {
      if (await blobs.has(sha256)) return
      const added = await blobs.add(source, false)
      if (added.sha256 !== sha256) throw sourceChanged(source)
    },
    fetch: (sha256, target) => fetchBlob(context, root, sha256, target),
  }
}

async function fetchBlob(
  context: FileContext,
  root: string,
  sha256: string,
  target: string,
): Promise<boolean> {
  if (!digestPattern.test(sha256)) return false
  const source = blobPath(root, sha256)
  const found = await lstat(source).catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(systemCode(error) ?? '')) return undefined
    throw readError(error, source)
  })
  if (found === undefined || !found.isFile() || found.size > maxBlobBytes) return false
  await access(source, constants.R_OK).catch((error: unknown) => {
    throw readError(error, source)
  })
  const temporary = temporaryPath(dirname(target), basename(target))
  try {
    await copyWhole(source, temporary)
    // Of the copy, because others may write to the store meanwhile.
    if ((await digestOfBytes(temporary))?.sha256 !== sha256) return false
    await renameFile(context, temporary, target)
    return true
  } catch (error) {
    throw writeError(error, target)
  } finally {
    await unlink(temporary).catch(() => {})
  }
}

function folderMissing(path: string): UsageError {
  return new UsageError(`The store ${shownPath(path)} does not exist.`, {
    code: 'store_missing',
    phase: 'config',
    hint: `Mount it, or make the folder where all machines can reach it: mkdir -p ${shellWord(path)}`,
  })
}

function notAFolder(path: string): UsageError {
  return new UsageError(`The store ${shownPath(path)} is a file, not a folder.`, {
    code: 'bad_store',
    phase: 'config',
  })
}
