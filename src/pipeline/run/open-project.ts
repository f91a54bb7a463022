import { join, relative } from 'node:path'
import type { FileContext } from '../../context.ts'
import { openAsserts } from '../execute/check-asserts.ts'
import { readHistory, type History } from '../journal/history.ts'
import { takeOwnership, type Ownership } from '../journal/owner.ts'
import type { Lock } from '../lock/lock-block.ts'
import { readLock } from '../lock/project-lock.ts'
import type { Manifest } from '../manifest/manifest.ts'
import { findManifest, readManifest } from '../manifest/read-manifest.ts'
import { createWorld, type World, type WorldParts } from '../plan/world.ts'
import { openReplaced, type BlobStore } from '../store/blob-store.ts'
import { createInputDigests, digestOfFile } from '../store/file-digest.ts'
import { Results } from '../store/results.ts'
import { takeOverState } from './take-over.ts'
import { checkStateVersion } from '../state-folder.ts'
import { projectOfShard } from '../shards/part.ts'
import type { Shard } from '../shards/partition.ts'
import type { ManifestCall } from './manifest-call.ts'
import { tidyUp } from './tidy-up.ts'

/** A manifest with all that is kept of it. */
export interface OpenProject {
  readonly manifest: Manifest
  /** The path of the manifest as it was given; else from the working directory. */
  readonly shownManifest: string
  /** As it is on the disk. */
  readonly lock: Lock
  readonly history: History
  /** For its own files: after a signal, too, what has come is stored, placed and locked. */
  readonly files: FileContext
  readonly results: Results
  /** Files that were put aside, or adopted, by their digests. */
  readonly replaced: BlobStore
  readonly checkAsserts: WorldParts['checkAsserts']
  /** Aborted when another process has taken the manifest over; undefined without ownership. */
  readonly lost: AbortSignal | undefined
  /** What the states of the instances depend on: by default the lock on the disk, and nothing that the user forces. */
  world(
    parts?: Partial<Pick<WorldParts, 'lock' | 'results' | 'forced' | 'isSentAgain' | 'inQueue' | 'queue'>>,
  ): World
  /** Gives back the ownership, and ends what checks asserts. */
  close(): Promise<void>
}

/**
 * Reads a manifest, its lock and its journals.
 * @param isOwned whether something is going to be changed: then no other process may do so at the same time
 * @param shard which part of the run it is, if it is one: it has a lock, results and journals of its own
 * @throws UsageError with every mistake of the manifest, for a lock that cannot be used, and for a manifest that another
 * process is running; FileError
 */
export async function openProject(
  call: ManifestCall,
  isOwned: boolean,
  shard: Shard | null = null,
): Promise<OpenProject> {
  const { context, env, families, file, isSandbox } = call
  const path = await findManifest(context, file)
  const read = await readManifest(context, path, { isSandbox, env, families })
  const { project: whole } = read
  const project = shard === null ? whole : projectOfShard(whole, shard)
  const manifest = { ...read, project }
  await checkStateVersion(whole)
  await takeOverState(context, whole, isOwned)
  // Before lock and journals are read: what another process writes into them is known then.
  const ownership: Ownership | undefined = isOwned ? await takeOwnership(project, context) : undefined
  try {
    // The committed one, also for a shard.
    const lock = await readLock(context, whole)
    const history = await readHistory(project, shard === null ? undefined : whole)
    const files = { ...context, signal: new AbortController().signal }
    const replaced = openReplaced(files, whole)
    const resultsOfWhole = new Results(files, whole, replaced)
    const results = shard === null ? resultsOfWhole : new Results(files, project, replaced, resultsOfWhole)
    const asserts = openAsserts(files)
    const inputDigest = createInputDigests(project.folder)
    return {
      manifest,
      shownManifest: file ?? relative(context.cwd, path),
      lock,
      history,
      files,
      results,
      replaced,
      checkAsserts: asserts.check,
      lost: ownership?.lost,
      world: (parts = {}) =>
        createWorld({
          manifest,
          lock,
          history,
          results,
          replaced,
          async outputDigest(output, isText) {
            return (await digestOfFile(join(project.outputFolder, output), isText))?.sha256
          },
          inputDigest,
          checkAsserts: asserts.check,
          forced: { regenerate: new Set(), force: false },
          isSentAgain: false,
          inQueue: new Set(),
          queue: null,
          now: context.clock.now(),
          ...parts,
        }),
      async close() {
        asserts.close()
        if (ownership?.lost.aborted === false) {
          await tidyUp(call, { project, history }, ownership.followsDeath)
        }
        await ownership?.release()
      },
    }
  } catch (error) {
    await ownership?.release()
    throw error
  }
}
