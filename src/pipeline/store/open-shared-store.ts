import { UsageError } from '../../errors.ts'
import type { SharedStore, StoreContext, StoreNetwork } from './shared-store.ts'

/**
 * Opens a store that others share, and asks it whether it can be used.
 * @param location a folder, or `s3://bucket/prefix`
 * @throws UsageError (exit 2) for a location that is none; FileError; ModelgateError: `key` (exit 3) without credentials, or
 * when they are refused, `notSent` (6) and `later` (5) when the store cannot be reached
 */
export async function openSharedStore(
  context: StoreContext,
  location: string,
  network: StoreNetwork,
): Promise<SharedStore> {
  if (location.trim() === '' || location.includes('\0')) throw notAStore('The store has no name')
  if (/^s3:/i.test(location)) {
    const { openS3Store } = await import('./s3-store.ts')
    return await openS3Store(context, location, network)
  }
  const [scheme] = /^[a-z][a-z\d+.-]+:(?=\/\/)/i.exec(location) ?? []
  if (scheme !== undefined) throw notAStore(`A store cannot be at ${scheme}//`)
  const { openFolderStore } = await import('./folder-store.ts')
  return await openFolderStore(context, location)
}

/** @param problem without a full stop; the location may hold a secret, so it is not shown */
function notAStore(problem: string): UsageError {
  return new UsageError(`${problem}.`, {
    code: 'bad_store',
    phase: 'config',
    hint: 'Name a folder that all machines share, or s3://bucket/prefix.',
  })
}
