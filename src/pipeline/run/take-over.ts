import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Context, FileContext } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { extensionOf } from '../../files/media-type.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder } from '../../files/write-target.ts'
import { countOf, objectOf, stringOf } from '../../json.ts'
import { readHistory, type History } from '../journal/journal.ts'
import { takeOwnership } from '../journal/owner.ts'
import { digestPattern, readResult, type Result } from '../lock/lock-block.ts'
import { foldersOfFirstVersion, makeStateFolder, namesIn, readStateFile, type Project } from '../project.ts'
import { blobPath, BlobStore, Replaced } from '../store/blob-store.ts'
import { unlessUnreadable } from '../store/file-digest.ts'
import { asideName, readRecord, Results, writeRecord } from '../store/results.ts'

/**
 * Takes over what version 0.1.0 has left, also in the middle of a run: results go into the folders of their keys, work
 * continues there, the rest is among what was put aside. Killed anywhere, it does the rest the next time.
 * @param isOwned without it, while another process runs the project, results are copied, and all stays
 */
export async function takeOverState(
  context: FileContext & Pick<Context, 'processes'>,
  project: Project,
  isOwned: boolean,
): Promise<void> {
  const [store, candidates, work] = foldersOfFirstVersion(project)
  const ownership = await takeOwnership(project, context).catch((error: unknown) => {
    if (isOwned || !(error instanceof ModelgateError) || error.code !== 'run_owned') throw error
  })
  try {
    const history = await readHistory(project)
    const replaced = new Replaced(context, project)
    const results = new Results(project, replaced)
    await takeStored(new BlobStore(context, store), history, results)
    await takeCandidates(candidates, history, results, replaced)
    if (ownership === undefined) return
    await takeBlobs(store, project, replaced)
    await takeWork(work, history, project, results)
    for (const folder of [store, candidates, work]) await rm(folder, { recursive: true, force: true })
  } finally {
    await ownership?.release()
  }
}

async function takeStored(store: BlobStore, history: History, results: Results): Promise<void> {
  for (const { instance, key, variant, result } of history.results.values()) {
    if (result === undefined) continue
    const found = await Promise.all(result.outputs.map(({ sha256 }) => store.open(sha256)))
    const files = found.filter((path) => path !== undefined)
    if (files.length < found.length) continue
    await results.take({ instance, key, variant, result: named(result), cost: null, warnings: [], files })
  }
}

function named(result: Result): Result {
  const outputs = result.outputs.map((output, at) => ({
    ...output,
    path: `${at + 1}.${extensionOf(output.media_type)}`,
  }))
  return { ...result, outputs }
}

/** Candidates and rejected results; those of a key that was made again, or is being, are put aside. */
async function takeCandidates(root: string, history: History, results: Results, replaced: Replaced) {
  for (const name of await namesIn(root)) {
    const folder = join(root, name)
    const files = (await namesIn(folder)).filter((file) => /^\d+-/.test(file))
    files.sort((one, other) => Number.parseInt(one) - Number.parseInt(other))
    const paths = files.map((file) => join(folder, file))
    const bytes = await readStateFile(join(folder, 'record.json')).catch(unlessUnreadable)
    const record = objectOf(parseJson(bytes?.toString() ?? '').value)
    const result = readResult(record['result'])
    const isCurrent = !history.isOpen(name) && !history.discarded.has(name)
    const isWhole = record['key'] === name && result?.outputs.length === paths.length
    const instance = stringOf(record['instance']) ?? ''
    try {
      if (isCurrent && isWhole && digestPattern.test(name)) {
        const made = { result: named(result), cost: null, warnings: [], files: paths }
        await results.take({ instance, key: name, variant: countOf(record['variant']) || 1, ...made })
        continue
      }
    } catch (error) {
      // It was absent before, too. What a full disk refuses is tried the next time.
      if (!(error instanceof ModelgateError) || error.code !== 'result_lost') throw error
    }
    for (const path of paths) await replaced.putAside(path, false, instance || name)
  }
}

/** The lock may name them. Moved, so that they need no room. */
async function takeBlobs(root: string, project: Project, replaced: Replaced): Promise<void> {
  for (const shelf of await namesIn(root)) {
    for (const sha256 of await namesIn(join(root, shelf))) {
      if (!digestPattern.test(sha256) || (await replaced.open(sha256)) !== undefined) continue
      const target = blobPath(await makeStateFolder(project, 'replaced'), sha256)
      await move(join(root, shelf, sha256), target)
    }
  }
}

/** Whatever else is there belongs to an earlier attempt. */
async function takeWork(root: string, { intents }: History, project: Project, results: Results) {
  for (const key of await namesIn(root)) {
    await makeStateFolder(project, 'results')
    const folder = results.folder(key)
    const isTaken = existsSync(folder)
    await move(join(root, key), isTaken ? join(folder, `${asideName}0`) : folder)
    const [intent, record] = [intents.get(key), await readRecord(folder)]
    if (intent === undefined || record === undefined || isTaken) continue
    const { instance, variant } = intent
    writeRecord(folder, { ...record, instance, variant })
  }
}

async function move(path: string, target: string): Promise<void> {
  try {
    await makeFolder(dirname(target))
    await rename(path, target)
  } catch (error) {
    throw writeError(error, target)
  }
}
