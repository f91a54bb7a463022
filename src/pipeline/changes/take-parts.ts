import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { readError } from '../../files/file-error.ts'
import { allInputs } from '../../problems.ts'
import type { JournalEvent } from '../journal/journal-event.ts'
import { readLines } from '../journal/journal-line.ts'
import type { Lock } from '../lock/lock-block.ts'
import { writeLock } from '../lock/project-lock.ts'
import type { Project } from '../project.ts'
import { exitOfRun, type RunExit } from '../run-exit.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { CandidateStore } from '../store/candidate-store.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput, removeOutput } from '../store/place-output.ts'
import { combineParts, type CombinedParts, type Whole } from '../shards/combine-parts.ts'
import { journalName, readPart, type Part } from '../shards/part-folder.ts'
import type { PartInstance } from '../shards/part-report.ts'

/** Where parts are merged into. Nobody else may be running the manifest. */
export interface TakeCall extends Whole {
  readonly context: FileContext
  readonly project: Project
  readonly store: Pick<BlobStore, 'add' | 'putAside'>
  readonly candidates: Pick<CandidateStore, 'add'>
  /** Writes an event to the journal of this machine; it is on the disk when this resolves. */
  record(event: JournalEvent): Promise<void>
}

export interface TakenParts {
  readonly lock: Lock
  readonly instances: readonly PartInstance[]
  /** The ids of those whose blocks a part has changed or added. */
  readonly changed: ReadonlySet<string>
  /** The jobs that the run of the parts named; empty for all. */
  readonly jobs: readonly string[]
  /** Those that were not, because a file is there that differs from the lock. */
  readonly kept: readonly { readonly instance: string; readonly path: string }[]
  /** As the whole run would have ended. */
  readonly exit: RunExit
}

/**
 * Merges the parts that shards have left: their outputs and candidates go to where a run of the whole would have put them,
 * what became of each request goes into the journal, and at last the lock is written. A merge that was killed before that
 * can be begun again.
 * @param folders of parts, or with parts in them; relative to the working directory
 * @throws UsageError with everything that is wrong with the parts; then nothing has been written. FileError
 */
export async function takeParts(call: TakeCall, folders: readonly string[]): Promise<TakenParts> {
  const { context, project } = call
  const found = await Promise.all(folders.map((folder) => partsIn(context, folder)))
  const parts = await allInputs(found.flat().map((folder) => readPart(context, folder)))
  const combined = combineParts(parts, call)
  for (const part of parts) await takeOver(call, part)
  const { kept } = await placeAll(call, combined)
  await writeLock(context, project, combined.lock)
  const exit = exitOfRun([combined.exit, ...(kept.length > 0 ? (['outdated'] as const) : [])])
  const { lock, instances, changed } = combined
  return {
    lock,
    instances,
    changed: new Set(changed.keys()),
    jobs: parts[0]!.report.jobs,
    kept,
    exit,
  }
}

/** The parts in a folder such as `.modelgate/parts`; else the folder itself. */
async function partsIn({ cwd }: Pick<FileContext, 'cwd'>, folder: string): Promise<string[]> {
  const names = await readdir(resolve(cwd, folder)).catch((error: unknown) => {
    throw readError(error, folder)
  })
  const parts = names.filter((name) => /^\d+-of-\d+$/.test(name))
  return names.includes('report.json') || parts.length === 0
    ? [folder]
    : parts.map((name) => join(folder, name))
}

/** Takes in what a part has besides its lock: blobs, candidates, and what became of its requests. */
async function takeOver({ store, candidates, lock, record }: TakeCall, part: Part): Promise<void> {
  const names = Object.keys(part.report.files)
  for (const name of names) if (dirname(name) === 'blobs') await store.add(join(part.path, name), false)
  for (const { files, ...candidate } of part.candidates) await candidates.add(candidate, files)
  if (names.includes(journalName)) {
    const journal = join(part.path, journalName)
    const bytes = await readFile(journal).catch((error: unknown) => {
      throw readError(error, journal)
    })
    const events = [...readLines(bytes)].flatMap(({ event }) => event ?? [])
    const own = new Set(part.report.instances.map(({ id }) => id))
    const keysOfOthers = new Set([...lock].flatMap(([id, { key }]) => (own.has(id) ? [] : [key])))
    // What another part has approved is not taken back by this one.
    const isOwn = (event: JournalEvent) =>
      'instance' in event ? own.has(event.instance) : !('key' in event && keysOfOthers.has(event.key))
    const told = events.filter((event) => event.type !== 'begin' && event.type !== 'end' && isOwn(event))
    // In their order; those that are written at the same time share a sync.
    await Promise.all(told.map(record))
  }
}

/** Puts the outputs in place that a part has made, and takes away those that are now elsewhere. */
async function placeAll(
  call: TakeCall,
  { lock, changed, removed }: CombinedParts,
): Promise<Pick<TakenParts, 'kept'>> {
  const { context, project, store } = call
  const before = [...call.lock.values()].flatMap(({ outputs }) => outputs)
  const lockedDigests = Map.groupBy(before, ({ path }) => path)
  const kept: { instance: string; path: string }[] = []
  for (const [instance, { block, part }] of changed) {
    for (const { path, sha256, media_type } of block.outputs) {
      const isText = isTextType(media_type)
      const mayReplace = (lockedDigests.get(path) ?? []).map((facts) => facts.sha256)
      const target = join(project.outputFolder, path)
      const there = (await digestOfFile(target, isText))?.sha256
      if (there !== undefined && mayReplace.includes(there)) await store.putAside(target)
      const source = join(part.path, 'blobs', sha256)
      try {
        await placeOutput(context, project, { source, sha256, isText, path, mayReplace })
      } catch (error) {
        if (!(error instanceof ModelgateError && error.code === 'output_changed')) throw error
        kept.push({ instance, path })
      }
    }
  }
  const paths = new Set([...lock.values()].flatMap(({ outputs }) => outputs.map(({ path }) => path)))
  for (const id of [...changed.keys(), ...removed]) {
    for (const facts of call.lock.get(id)?.outputs ?? []) {
      if (!paths.has(facts.path)) await removeOutput(project, store, facts)
    }
  }
  return { kept }
}
