import { readdir, rename, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { randomHex, type Context, type FileHost, type Timer } from '../../../context.ts'
import { ModelgateError } from '../../../errors.ts'
import { writeError } from '../../../files/file-error.ts'
import { makeFolder } from '../../../files/write-target.ts'
import {
  heartbeatMs,
  isLiving,
  ownRecord,
  readRecord,
  touch,
  writeRecord,
} from '../../journal/owner-record.ts'
import { namesIn } from '../../state-folder.ts'
import { removeFolder } from './unfinished.ts'

/** The folder of one worker, and what others have left. */
export interface OwnFolder {
  readonly path: string
  /** Folders of workers that have died, or left something; they are this one's now. */
  readonly adopted: readonly string[]
  /** @param isLeft whether the folder holds what the next worker is to take up */
  release(isLeft: boolean): Promise<void>
}

const id = '[0-9a-f]{16}'
const folderPattern = new RegExp(`^(${id})(?:\\.\\d+)?$`)

/**
 * Makes a folder of its own for this process, and adopts those whose owners are dead. `ID.owner` tells who has the folders `ID`
 * and `ID.1`, `ID.2`, …, which were adopted; a folder without that file belongs to whoever renames it.
 * @param folder for the workers of this machine
 * @throws FileError
 */
export async function openOwnFolder(
  folder: string,
  context: FileHost & Pick<Context, 'processes'>,
): Promise<OwnFolder> {
  const { clock, processes } = context
  try {
    await makeFolder(folder)
    const own = await ownRecord(processes)
    const name = randomHex(clock, 16)
    const ownerPath = join(folder, `${name}.owner`)
    await writeRecord(context, ownerPath, own)
    const living = new Set([name])
    for (const other of await namesIn(folder)) {
      if (!other.endsWith('.owner')) continue
      const owner = await readRecord(join(folder, other))
      if (owner === undefined) continue
      if (await isLiving(owner, own, context)) living.add(other.slice(0, -'.owner'.length))
      else await unlink(owner.path).catch(() => {})
    }
    const path = join(folder, name)
    await makeFolder(path)
    const adopted: string[] = []
    for (const other of await namesIn(folder)) {
      const [, owner] = folderPattern.exec(other) ?? []
      if (owner === undefined || living.has(owner)) continue
      const adoptedPath = `${path}.${adopted.length + 1}`
      // Of two that try, one does it.
      const isMine = await rename(join(folder, other), adoptedPath).then(
        () => true,
        () => false,
      )
      if (isMine) adopted.push(adoptedPath)
    }
    let timer: Timer | undefined
    const beat = async () => {
      await touch(ownerPath, clock.now()).catch(() => {})
      if (timer !== undefined) schedule()
    }
    const schedule = () => {
      timer = clock.timer(heartbeatMs, () => void beat(), 'background')
    }
    schedule()
    return {
      path,
      adopted,
      async release(isLeft) {
        timer?.cancel()
        timer = undefined
        if (!isLeft) removeFolder(path)
        await unlink(ownerPath).catch(() => {})
        // The folders of the queue, if nothing is in them.
        if ((await readdir(folder).catch(() => ['?'])).length === 0) await rmdir(folder).catch(() => {})
      },
    }
  } catch (error) {
    throw error instanceof ModelgateError ? error : writeError(error, folder).amend({ billed: 'no' })
  }
}
