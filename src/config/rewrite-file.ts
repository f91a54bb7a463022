import { readFileSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Context } from '../context.ts'
import { configFolder } from '../context/folders.ts'
import { ConfigError, FileError } from '../errors.ts'
import {
  cannotWrite,
  readingIfThere,
  shellWord,
  shownPath,
  writeError,
  writing,
} from '../files/file-error.ts'
import { takeLock } from '../files/lock-file.ts'
import { openAtomicFile } from '../files/atomic-file.ts'
import { makeFolder } from '../files/write-target.ts'
import { hasPermissions } from '../platform.ts'
import { realPath } from './config-file.ts'

export interface RewrittenFile {
  /** As it was given; a symbolic link is still one. */
  readonly path: string
  /** False if its content was to be what it is: then nothing has been written. */
  readonly changed: boolean
}

/**
 * Replaces the content of a file at once; programs that do so at the same time wait for each other. A new file is for
 * its owner alone, and so is its folder.
 * @param edit gets undefined if there is no file; returns undefined to leave it
 * @param mode for the file, also if it exists; left out, an existing one keeps its own
 */
export async function rewriteFile(
  context: Context,
  path: string,
  edit: (before: string | undefined) => Promise<string | undefined>,
  mode?: number,
): Promise<RewrittenFile> {
  const unchanged = { path, changed: false }
  // Without a folder there is nothing to change, and nothing is created for that.
  if (textIfThere(path) === undefined) {
    if ((await edit(undefined)) === undefined) return unchanged
    await makeFolder(dirname(path)).catch(cannotWrite(dirname(path)))
  }
  const release = await lock(context, path)
  try {
    const before = textIfThere(path)
    const after = await edit(before)
    if (after === undefined || (after === before && hasMode(context, path, mode))) return unchanged
    const isNew = before === undefined
    const options = { force: !isNew, ...((isNew || mode !== undefined) && { mode: mode ?? 0o600 }) }
    // Behind a symbolic link, so that the link stays.
    const file = await openAtomicFile(context, realPath(path), options)
    try {
      await file.write(after)
      await file.commit()
    } finally {
      await file.discard()
    }
    return { path, changed: true }
  } finally {
    await release()
  }
}

/** @throws ConfigError where there is no place for such a file */
export function checkPlace(context: Context, kind: 'configuration' | 'credentials'): void {
  if (configFolder(context) !== undefined) return
  throw new ConfigError(`There is no place for a ${kind} file, because no home directory is known.`, {
    hint: 'Name a folder with MODELGATE_CONFIG_DIR.',
  })
}

export const textIfThere = (path: string) => readingIfThere(path, () => readFileSync(path, 'utf8'))

const hasMode = ({ platform }: Context, path: string, mode: number | undefined) =>
  mode === undefined ||
  !hasPermissions(platform) ||
  (writing(path, () => statSync(path)).mode & 0o777) === mode

/** Longer than it takes until a lock is stale. */
const lockWaitMs = 15_000

async function lock({ platform, clock, signal }: Context, path: string): Promise<() => Promise<void>> {
  const name = `${path}.lock`
  const release = await takeLock(name, { platform, clock, signal, waitMs: lockWaitMs }).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw writeError(error, path)
    },
  )
  if (release !== undefined) return release
  throw new FileError('file_changed', `${shownPath(path)} is being changed by another program.`, {
    hint: `If there is none, remove its lock: rm ${shellWord(name)}`,
  })
}
