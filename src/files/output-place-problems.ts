import { dirname } from 'node:path'
import type { Context } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { openAtomicFile } from './atomic-file.ts'
import { findTarget } from './write-target.ts'

export interface PlannedFiles {
  readonly paths: readonly string[]
  readonly force: boolean
  /** A name that is taken is no problem: another will be found. */
  readonly mayBeTaken: boolean
}

/** What would keep files from being written: each that exists, and for each folder the first other trouble. */
export async function placeProblems(
  context: Context,
  { paths, force, mayBeTaken }: PlannedFiles,
): Promise<ModelgateError[]> {
  const problems: ModelgateError[] = []
  const foldersSeen = new Set<string>()
  for (const path of paths) {
    const folder = dirname(path)
    const problem = foldersSeen.has(folder)
      ? await problemOf(() => findTarget(context, path, force, mayBeTaken))
      : await problemOf(() => tryToWrite(context, path, force, mayBeTaken))
    const isOnlyTaken = problem?.code === 'file_exists'
    if (problem !== undefined && (isOnlyTaken || !foldersSeen.has(folder))) problems.push(problem)
    if (!isOnlyTaken) foldersSeen.add(folder)
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
