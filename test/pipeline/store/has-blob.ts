import { join } from 'node:path'
import type { SharedStore } from '../../../src/pipeline/store/shared-store.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Whether a store gives these bytes. */
export function hasBlob(store: Pick<SharedStore, 'fetch'>, sha256: string): Promise<boolean> {
  return store.fetch(sha256, join(temporaryFolder(), 'blob'))
}
