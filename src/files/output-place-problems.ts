import { dirname } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { openAtomicFile } from './open-atomic-file.ts'
import { findTarget } from './write-target.ts'

export interface PlannedFile {
  readonly path: string
  /** A name that is taken is no problem: another will be found. */
  readonly mayBeTaken: boolean
}

/** What would keep files from being written: each that exists, and for each folder the first other trouble. */
export async function placeProblems(
  context: Context,
  files: readonly PlannedFile[],
  force: boolean,
): Promise<ModelgateError[]> {
  const problems: ModelgateError[] = []
  /** Folders that were written to, or could not be, by whether their trouble has been told. */
  const folders = new Map<string, boolean>()
  for (const { path, mayBeTaken } of files) {
    const folder = dirname(path)
    const problem = folders.has(folder)
      ? await problemOf(() => findTarget(context, path, force, mayBeTaken))
      : await problemOf(() => tryToWrite(context, path, force, mayBeTaken))
    const isOnlyTaken = problem?.code === 'file_exists'
    const isTold = folders.get(folder) === true
    if (problem !== undefined && (isOnlyTaken || !isTold)) problems.push(problem)
    if (!isOnlyTaken) folders.set(folder, isTold || problem !== undefined)
  }
  return problems
}

/** Creates a temporary file and removes it: only that shows whether a folder can be written. */
async function tryToWrite(
  context: Context,
  path: string,
  force: boolean,
  mayBeTaken: boolean,
): Promise<void> {
  const target = await findTarget(context, path, force, mayBeTaken)
  // Opening a named pipe would wait for its reader.
  if (target.kind === 'stream') return
  const file = await openAtomicFile(context, path, { force, spareName: String })
  await file.discard()
}

async function problemOf(step: () => Promise<unknown>): Promise<ModelgateError | undefined> {
  try {
    await step()
    return undefined
  } catch (error) {
    if (error instanceof ModelgateError) return error
    throw error
  }
}
