import { rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context, FileContext } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { extensionOf } from '../../files/media-type.ts'
import { parseJson } from '../../files/parse-json.ts'
import { countOf, objectOf, stringOf } from '../../json.ts'
import { readHistory } from '../journal/history.ts'
import { takeOwnership } from '../journal/owner.ts'
import { digestPattern, readResult, type Result } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { makeStateFolder, namesIn, readStateFile } from '../state-folder.ts'
import { openBlobs, openReplaced, type BlobStore } from '../store/blob-store.ts'
import { unlessUnreadable } from '../store/file-digest.ts'
import { asideName, readRecord, Results, writeRecord } from '../store/results.ts'

/**
 * Takes over what version 0.1.0 has left of a project, also in the middle of a run: what its store and its candidates hold of
 * results goes into the folders of their keys, what lay in work goes on there, and the rest is among what was put aside. It
 * may be killed anywhere between, and does the rest the next time.
 * @param isOwned whether another process that is running the project is an error; otherwise all stays where it is for that
 * @throws UsageError `run_owned`; FileError
 */
export async function takeOverState(
  context: FileContext & Pick<Context, 'processes'>,
  project: Project,
  isOwned: boolean,
): Promise<void> {
  const old = ['store', 'candidates', 'work'].map((name) => join(project.stateFolder, name))
  if (!(await Promise.all(old.map(isFolder))).includes(true)) return
  const ownership = await takeOwnership(project, context).catch((error: unknown) => {
    if (isOwned || !(error instanceof ModelgateError) || error.code !== 'run_owned') throw error
  })
  try {
    const replaced = openReplaced(context, project)
    const results = new Results(context, project, replaced)
    await takeStored(context, project, results)
    await takeCandidates(project, results, replaced)
    await takeBlobs(project, replaced)
    if (ownership === undefined) return
    await takeWork(context, project, results)
    for (const folder of old) await rm(folder, { recursive: true, force: true })
  } finally {
    await ownership?.release()
  }
}

/** Results that a journal has, and the store. */
async function takeStored(context: FileContext, project: Project, results: Results): Promise<void> {
  const root = join(project.stateFolder, 'store')
  const store = openBlobs(context, { root, makeRoot: async () => {} })
  for (const { instance, key, variant, result } of (await readHistory(project)).results.values()) {
    if (result === undefined) continue
    const found = await Promise.all(result.outputs.map(({ sha256 }) => store.open(sha256)))
    const files = found.filter((path) => path !== undefined)
    if (files.length < found.length) continue
    await results.take({ instance, key, variant, result: named(result), cost: null, warnings: [], files })
  }
}

/** As the folder of a key has them. */
function named(result: Result): Result {
  const outputs = result.outputs.map((output, at) => ({
    ...output,
    path: `${at + 1}.${extensionOf(output.media_type)}`,
  }))
  return { ...result, outputs }
}

/** Candidates and rejected results; those of a key that was made again, or is being, are put aside. */
async function takeCandidates(project: Project, results: Results, replaced: BlobStore): Promise<void> {
  const root = join(project.stateFolder, 'candidates')
  const history = await readHistory(project)
  for (const name of await namesIn(root)) {
    const folder = join(root, name)
    const files = (await namesIn(folder)).filter((file) => /^\d+-/.test(file))
    files.sort((one, other) => Number.parseInt(one) - Number.parseInt(other))
    const paths = files.map((file) => join(folder, file))
    const bytes = await readStateFile(join(folder, 'record.json')).catch(unlessUnreadable)
    const { instance, key, variant, result } = objectOf(parseJson(bytes?.toString() ?? '').value)
    const known = readResult(result)
    const past = history.of(name)
    const isCurrent = past === undefined || (past.open === null && !past.isDiscarded)
    const isOne = key === name && digestPattern.test(name) && known?.outputs.length === paths.length
    const of = { instance: stringOf(instance) ?? '', key: name, variant: countOf(variant) || 1 }
    const isTaken =
      isCurrent &&
      isOne &&
      (await results.take({ ...of, result: named(known), cost: null, warnings: [], files: paths }).then(
        () => true,
        (error: unknown) => {
          // It was absent before, too. What a full disk refuses is tried the next time.
          if (!(error instanceof ModelgateError) || error.code !== 'damaged_copy') throw error
          return false
        },
      ))
    if (!isTaken) for (const path of paths) await replaced.share(path, false)
  }
}

/** Requests under way, and files of those that failed. What is there besides a result is an earlier attempt. */
async function takeWork(context: FileContext, project: Project, results: Results): Promise<void> {
  const root = join(project.stateFolder, 'work')
  const { intents } = await readHistory(project)
  for (const key of await namesIn(root)) {
    await makeStateFolder(project, 'results')
    const folder = results.folder(key)
    const place = (await isFolder(folder)) ? join(folder, `${asideName}0`) : folder
    await rename(join(root, key), place).catch((error: unknown) => {
      throw writeError(error, place)
    })
    const [intent, record] = [intents.get(key), await readRecord(context, folder)]
    if (intent === undefined || record === undefined || place !== folder) continue
    const { instance, variant } = intent
    writeRecord(folder, { ...record, instance, variant })
  }
}

/** The bytes of the store, which the lock may name. */
async function takeBlobs(project: Project, replaced: BlobStore): Promise<void> {
  const root = join(project.stateFolder, 'store')
  for (const shelf of await namesIn(root)) {
    for (const name of await namesIn(join(root, shelf))) await replaced.share(join(root, shelf, name), false)
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}
