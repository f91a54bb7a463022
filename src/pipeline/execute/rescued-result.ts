import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { makeFolder } from '../../files/write-target.ts'
import { isObject } from '../../json.ts'
import { digestOfFile } from '../store/file-digest.ts'
import { recoverResult } from './task-record.ts'
import type { Task, TaskResult } from './task.ts'

/** What a task could not write to its folder is rescued under its key, so that the next run finds it. */
export function rescueFolderOf(rescueFolder: string, { key }: Pick<Task, 'key'>): string {
  return join(rescueFolder, 'run', key)
}

const recordName = 'digests.json'

/** Puts the digests of rescued files on record beside them. Best effort: never throws. @param paths absolute */
export async function recordRescue(
  task: Pick<Task, 'key'>,
  rescueFolder: string | undefined,
  paths: readonly string[],
): Promise<void> {
  if (rescueFolder === undefined) return
  const folder = rescueFolderOf(rescueFolder, task)
  try {
    const digests: Record<string, string> = {}
    for (const path of paths) {
      const found = basename(dirname(path)) === task.key ? await digestOfFile(path, false) : undefined
      if (found !== undefined) digests[basename(path)] = found.sha256
    }
    if (Object.keys(digests).length === 0) return
    await writeFile(join(folder, recordName), JSON.stringify(digests), { mode: 0o600 })
  } catch {
    // The files are there, and the error says where.
  }
}

/** The time that a rescued file has in front of its own name. */
const timePrefix = /^\d{8}T\d{6}-/

/**
 * Moves a result that an earlier run has rescued into the folder of its task, if all of it is there as it was rescued.
 * @returns undefined where it is not
 */
export async function takeRescued(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescueFolder: string | undefined,
): Promise<TaskResult | undefined> {
  if (rescueFolder === undefined) return undefined
  const folder = rescueFolderOf(rescueFolder, task)
  try {
    const digests: unknown = JSON.parse(await readFile(join(folder, recordName), 'utf8'))
    if (!isObject(digests)) return undefined
    await makeFolder(task.folder)
    const names: string[] = []
    for (const [rescued, sha256] of Object.entries(digests)) {
      const path = join(folder, basename(rescued))
      if ((await digestOfFile(path, false))?.sha256 !== sha256) return undefined
      const name = basename(rescued).replace(timePrefix, '')
      await copyFile(path, join(task.folder, name))
      names.push(name)
    }
    const result = await recoverResult(context, task, names.toSorted())
    if (result !== undefined) await rm(folder, { recursive: true, force: true })
    return result
  } catch {
    context.signal.throwIfAborted()
    // Nothing was rescued, or there is still no room.
    return undefined
  }
}
