import { dirname, relative } from 'node:path'
import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { decodeText, invalidTextClause } from '../../files/input-file.ts'
import { openAtomicFile } from '../../files/open-atomic-file.ts'
import { makeFolder } from '../../files/write-target.ts'
import type { Project } from '../project.ts'
import { maxStateText, readStateFile } from '../state-folder.ts'
import type { Lock } from './lock-block.ts'
import { formatLock, parseLock } from './lock-text.ts'

/**
 * Reads the lock of a project; an empty one when there is no file.
 * @throws UsageError `lock_conflict`, `lock_invalid`, `lock_newer`
 * @throws FileError
 */
export async function readLock(context: FileContext, project: Project): Promise<Lock> {
  const text = await readLockText(context, project)
  return text === undefined ? new Map() : parseLock(text, shownLock(context, project))
}

/**
 * The text of a project's lock, without a byte-order mark; undefined when there is no file.
 * @throws UsageError `lock_invalid`
 * @throws FileError
 */
export async function readLockText(context: FileContext, project: Project): Promise<string | undefined> {
  const file = shownLock(context, project)
  const bytes = await readStateFile(project.lockPath, file, maxStateText)
  if (bytes === undefined) return undefined
  const { text, invalid } = decodeText(bytes)
  if (text !== undefined) return text
  throw new UsageError(`${file}: the lock ${invalidTextClause(invalid)}.`, {
    code: 'lock_invalid',
    hint: 'Restore it from version control; nothing is generated without it.',
  })
}

/**
 * Writes the lock of a project; it is replaced as a whole, and not touched when it says the same already. Without a block
 * there is no file, unless there is one already.
 * @throws FileError
 */
export async function writeLock(context: FileContext, project: Project, lock: Lock): Promise<void> {
  const text = formatLock(lock)
  const found = (
    await readStateFile(project.lockPath, undefined, maxStateText).catch(() => undefined)
  )?.toString()
  // A checkout on Windows may have other line breaks.
  if (found === undefined ? lock.size === 0 : found.replaceAll('\r\n', '\n') === text) return
  await makeFolder(dirname(project.lockPath)).catch((error: unknown) => {
    throw writeError(error, shownLock(context, project))
  })
  const file = await openAtomicFile(context, project.lockPath, { force: true })
  try {
    await file.write(text)
    await file.commit()
  } finally {
    await file.discard()
  }
}

/** The path of the lock as the user knows it. */
function shownLock({ cwd }: Pick<FileContext, 'cwd'>, { lockPath }: Project): string {
  return relative(cwd, lockPath) || lockPath
}
