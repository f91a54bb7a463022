import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { outputVersion } from '../../events/output-schema.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import type { History } from '../journal/history.ts'
import type { LockBlock } from '../lock/lock-block.ts'
import { writeLock } from '../lock/project-lock.ts'
import type { Instance } from '../manifest/manifest.ts'
import { assess } from '../plan/assess.ts'
import { withNeeds } from '../plan/plan-run.ts'
import { upstreamOf } from '../plan/result-files.ts'
import type { Assessment, World } from '../plan/world.ts'
import { runFile } from '../run/describe.ts'
import { openProject, type ManifestCall, type OpenProject } from '../run/project.ts'
import { lockWithUnfinished } from '../run/resume-run.ts'
import type { BlobStore } from '../store/blob-store.ts'
import type { Results } from '../store/results.ts'

/**
 * Opens the project of a call, and closes it after its use.
 * @param isOwned whether something may be changed
 * @throws as `openProject` does, and as `use` does
 */
export async function withProject<Value>(
  call: ManifestCall,
  isOwned: boolean,
  use: (scope: ChangeScope, project: OpenProject) => Promise<Value>,
): Promise<Value> {
  const { context } = call
  const project = await openProject(call, isOwned)
  try {
    const { history, replaced, results } = project
    // What a killed run has put in place is not taken for somebody's own file.
    const lock = await lockWithUnfinished(project, context.clock.now())
    return await use({ context, world: project.world({ lock }), history, replaced, results }, project)
  } finally {
    await project.close()
  }
}

/** Changes instances of the project of a call, and tells of it. @throws as `withProject` does */
export async function changeProject(
  call: ManifestCall,
  command: RunChangeDocument['command'],
  change: (scope: ChangeScope) => Promise<readonly ChangedInstance[]>,
): Promise<RunChangeDocument> {
  return await withProject(
    call,
    true,
    async (scope, { manifest: { project, warnings }, shownManifest, history }) => {
      const changed = await change(scope)
      return {
        version: outputVersion,
        command,
        manifest: shownManifest,
        folder: project.outputFolder,
        instances: changed.map(({ id, block }) => ({
          instance: id,
          variant: block.picked,
          files: block.outputs.map((facts) => runFile(call.context.cwd, project, facts)),
        })),
        warnings: [...warnings, ...history.problems],
      }
    },
  )
}

/** What a change of lock, files and store works on. The caller owns the manifest as long as it lasts. */
export interface ChangeScope {
  readonly context: FileContext
  readonly world: World
  readonly history: History
  readonly replaced: BlobStore
  readonly results: Results
}

/** An instance whose block was changed. */
export interface ChangedInstance {
  readonly id: string
  readonly block: LockBlock
}

/**
 * Assesses instances and what they refer to, one after another, so that a change of one counts for those behind it.
 * @param change called for each of the instances; what it returns is what is locked now
 * @throws FileError; what `change` throws
 */
export async function changeInstances(
  { context, world }: Pick<ChangeScope, 'context' | 'world'>,
  ids: ReadonlySet<string>,
  change: (assessment: Assessment) => Promise<LockBlock | undefined>,
): Promise<readonly ChangedInstance[]> {
  const { manifest } = world
  const assessments = new Map<string, Assessment>()
  const changed: ChangedInstance[] = []
  for (const id of withNeeds(manifest, ids)) {
    context.signal.throwIfAborted()
    const instance = manifest.instances.get(id)!
    const found = await assess(instance, world, (one) => upstreamOf(one, assessments, world))
    assessments.set(id, found)
    const block = ids.has(id) ? await change(found) : undefined
    if (block === undefined) continue
    changed.push({ id, block })
    assessments.set(id, { ...found, state: 'fresh', key: block.key, block, lockedAs: id, restore: null })
  }
  return changed
}

/**
 * Writes the lock with other blocks in it. The block under a former name of an instance goes.
 * @param formerNames of the instances that are changed
 * @throws FileError
 */
export async function saveChanges(
  { context, world }: Pick<ChangeScope, 'context' | 'world'>,
  changed: readonly ChangedInstance[],
  formerNames: readonly string[],
): Promise<void> {
  const { lock, manifest } = world
  const current = new Map(lock)
  for (const name of formerNames) if (!manifest.instances.has(name)) current.delete(name)
  for (const { id, block } of changed) current.set(id, block)
  await writeLock(context, manifest.project, current)
}

/** An instance whose key is not known: what it refers to is still to be made, or to be picked. */
export function keyUnknown({ id, references }: Instance): UsageError {
  const names = [...new Set(references.map(({ text }) => text))].join(', ')
  return new UsageError(
    `Nothing of ${id} can be locked yet: it needs ${names}, not all of which is settled.`,
    {
      code: 'key_unknown',
    },
  )
}
