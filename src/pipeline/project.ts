import { basename, dirname, extname, join } from 'node:path'

/** What a manifest is called, unless it is named. */
export const manifestName = 'modelgate.yaml'

/** Where the files of a manifest lie. All paths are absolute. */
export interface Project {
  readonly manifestPath: string
  /** The manifest's folder: what it names as input is relative to it. */
  readonly folder: string
  /** Outputs are relative to it: the manifest's folder, except with the sandbox. */
  readonly outputFolder: string
  readonly lockPath: string
  /** `.modelgate`: store, candidates, journals and parts. */
  readonly stateFolder: string
  readonly isSandbox: boolean
}

/** `canon.yaml` locks to `canon.lock`. */
function lockPathOf(manifestPath: string): string {
  return join(dirname(manifestPath), `${basename(manifestPath, extname(manifestPath))}.lock`)
}

/**
 * The places of a manifest's files.
 * @param manifestPath absolute
 * @param isSandbox whether everything that is written lies below `.modelgate/sandbox`, so that nothing of the project is
 * touched
 */
export function projectOf(manifestPath: string, isSandbox: boolean): Project {
  const folder = dirname(manifestPath)
  const outputFolder = isSandbox ? join(folder, '.modelgate', 'sandbox') : folder
  return {
    manifestPath,
    folder,
    outputFolder,
    lockPath: join(outputFolder, basename(lockPathOf(manifestPath))),
    stateFolder: join(outputFolder, '.modelgate'),
    isSandbox,
  }
}
