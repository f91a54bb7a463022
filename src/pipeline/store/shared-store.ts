import { constants, createReadStream, lstatSync } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { cannotWrite, readError, shellWord, shownPath, systemCode } from '../../files/file-error.ts'
import {
  blobPath,
  BlobStore,
  invalidStore,
  maxBlobBytes,
  sourceChanged,
  type SharedStore,
} from './blob-store.ts'
import { saveBytes } from './file-digest.ts'
import type { StoreContext, StoreNetwork } from './store-request.ts'

/**
 * Opens a folder, or `s3://bucket/prefix`, and asks whether it can be used.
 * @throws UsageError (exit 2); FileError; ModelgateError: `key` (exit 3), `notSent` (6), `later` (5)
 */
export async function openSharedStore(
  context: StoreContext,
  location: string,
  network: StoreNetwork,
  isWritten = true,
): Promise<SharedStore> {
  if (location.trim() === '' || location.includes('\0')) throw notAStore('The store has no name')
  if (/^s3:/i.test(location)) {
    const { openS3Store } = await import('./s3-store.ts')
    return await openS3Store(context, location, network)
  }
  // A drive of Windows is no scheme.
  const [scheme] = /^[a-z][a-z\d+.-]+:(?=\/\/)/i.exec(location) ?? []
  if (scheme !== undefined) throw notAStore(`A store cannot be at ${scheme}//`)
  return await openFolderStore(context, location, isWritten)
}

/** Opens a store that is only read: also `https://…`, and `http://…` on this machine. */
export async function openByteSource(context: StoreContext, location: string, network: StoreNetwork) {
  if (!/^https?:/i.test(location)) return await openSharedStore(context, location, network, false)
  const { openHttpsStore } = await import('./https-store.ts')
  return openHttpsStore(context, location, network)
}

/**
 * A folder that is made in place of a disk that is not mounted would be empty, and nobody else's: it has to be there.
 * Folders in it get its group and permissions, blobs the same without the right to execute.
 */
export async function openFolderStore(
  context: FileContext,
  location: string,
  isWritten = true,
): Promise<SharedStore> {
  const root = resolve(context.cwd, location)
  const found = await stat(root).catch((error: unknown) => {
    throw systemCode(error) === 'ENOENT' ? folderMissing(location) : readError(error, location)
  })
  if (!found.isDirectory()) throw notAStore(`The store ${shownPath(location)} is a file, not a folder`)
  const needed = constants.R_OK | constants.X_OK | (isWritten ? constants.W_OK : 0)
  await access(root, needed).catch(cannotWrite(location))
  const blobs = new BlobStore(context, root, found)
  return {
    shown: location,
    async put(source, sha256) {
      if ((await blobs.open(sha256)) !== undefined) return false
      if ((await blobs.add(source, false)).sha256 !== sha256) throw sourceChanged(source)
      return true
    },
    async fetch(sha256, path, maxBytes = maxBlobBytes) {
      const source = blobPath(root, sha256)
      try {
        const isThere = lstatSync(source, { throwIfNoEntry: false })?.isFile() === true
        return isThere && (await saveBytes(context, createReadStream(source), { sha256, maxBytes }, path))
      } catch (error) {
        if (systemCode(error) === 'ENOENT') return false
        throw readError(error, source)
      }
    },
  }
}

function notAStore(problem: string): UsageError {
  return invalidStore(`${problem}.`, 'Name a folder that all machines share, or s3://bucket/prefix.')
}

function folderMissing(location: string): UsageError {
  return new UsageError(`The store ${shownPath(location)} does not exist.`, {
    code: 'store_missing',
    phase: 'config',
    hint: `Mount it, or make the folder where all machines can reach it: mkdir -p ${shellWord(location)}`,
  })
}
