import { rmSync } from 'node:fs'
import { readdir, rename, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomHex, type Context, type FileHost } from '../../../context.ts'
import { ModelgateError } from '../../../errors.ts'
import { writeError } from '../../../files/file-error.ts'
import { makeFolder } from '../../../files/write-target.ts'
import { takeOwnership } from '../../journal/owner.ts'
import { manifestName, projectOf, type Project } from '../../project.ts'
import { namesIn } from '../../state-folder.ts'

/** The folder of one worker process, which owns it as a run owns a manifest. */
export interface WorkerFolder {
  readonly path: string
  /** @param isEmpty whether nothing in it is for the next process. Never throws. */
  release(isEmpty: boolean): Promise<void>
}

type FolderContext = FileHost & Pick<Context, 'processes'>

/** Makes a folder for this process. @param place for the workers of this machine. @throws FileError */
export async function openWorkerFolder(place: string, context: FolderContext): Promise<WorkerFolder> {
  const folder = await takeFolder(join(place, randomHex(context.clock, 16)), context)
  try {
    // Only now others look at it.
    await makeFolder(workIn(folder.path))
  } catch (error) {
    await folder.release(true)
    throw writeError(error, folder.path).amend({ billed: 'no' })
  }
  return folder
}

/** Takes over the folders of workers that have died. One that cannot be taken now is left. */
export async function deadFolders(place: string, context: FolderContext): Promise<WorkerFolder[]> {
  const taken: WorkerFolder[] = []
  for (const name of await namesIn(place)) {
    const path = join(place, name)
    if (!(await readdir(path).catch(() => [''])).includes('work')) continue
    const folder = await takeFolder(path, context).catch((error: unknown) => {
      if (!(error instanceof ModelgateError)) throw error
    })
    if (folder !== undefined) taken.push(folder)
  }
  return taken
}

/** @throws UsageError `run_owned` when its process lives; FileError */
async function takeFolder(path: string, context: FolderContext): Promise<WorkerFolder> {
  const ownership = await takeOwnership(projectIn(path, false), context)
  return {
    path,
    async release(isEmpty) {
      if (isEmpty) removeFolder(path)
      await ownership.release()
      // Of the queue, if nothing is in it.
      await rmdir(dirname(path)).catch(() => {})
    },
  }
}

/** A folder of a worker as that of a manifest. */
export function projectIn(folder: string, isSandbox: boolean): Project {
  return projectOf(join(folder, manifestName), isSandbox)
}

/** Where the folders of attempts are, each called after its lane, its job on the server and the attempt. */
export function workIn(own: string): string {
  return join(own, 'work')
}

/**
 * Keeps the files of a request that failed: they may have been paid for.
 * @returns where they are; undefined if there are none
 * @throws FileError
 */
export async function keepFiles(made: string, place: string, name: string): Promise<string | undefined> {
  if ((await readdir(made).catch(() => [])).length === 0) return undefined
  const kept = join(place, 'kept', name)
  try {
    await makeFolder(dirname(kept))
    await rename(made, kept)
    return kept
  } catch (error) {
    throw writeError(error, kept)
  }
}

/** Never throws. */
export function removeFolder(path: string): void {
  try {
    // At once, which takes a fourth of the processor's time.
    rmSync(path, { recursive: true, force: true })
  } catch {}
}
