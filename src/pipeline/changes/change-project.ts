import type { FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import { outputVersion } from '../../events/version.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { writeLock, type LockBlock } from '../lock/lock-block.ts'
import { assess } from '../plan/assess.ts'
import { matchInstances, withNeeds } from '../plan/plan-run.ts'
import type { Assessment, ProjectState } from '../plan/project-state.ts'
import { runFile } from '../run/describe.ts'
import { openProject, type ManifestCall, type OpenProject } from '../run/project.ts'

/** What a change of lock and files works on. The caller owns the manifest as long as it lasts. */
export interface ChangeScope extends Pick<ManifestCall, 'next'> {
  readonly context: FileContext
  readonly project: ProjectState
}

export interface ChangedInstance {
  readonly id: string
  readonly block: LockBlock
  readonly lockedAs: string | null
}

/** Opens the project of a call, and closes it after its use. @throws as `openProject` does, and as `use` does */
export async function withProject<Value>(
  call: ManifestCall,
  isOwned: boolean,
  use: (scope: ChangeScope & { readonly project: OpenProject }) => Promise<Value>,
): Promise<Value> {
  const { context, next } = call
  const project = await openProject(call, isOwned)
  try {
    return await use({ context, next, project })
  } finally {
    await project.close()
  }
}

/** The document of a command on a project: what it has found or done, and what all such documents have. */
export async function projectDocument<Command extends string, Facts extends object>(
  call: ManifestCall,
  command: Command,
  isOwned: boolean,
  use: (scope: ChangeScope) => Promise<Facts & { readonly warnings?: readonly string[] }>,
) {
  return await withProject(call, isOwned, async (scope) => {
    const facts = await use(scope)
    const { manifest, shownManifest, history } = scope.project
    return {
      version: outputVersion,
      command,
      manifest: shownManifest,
      folder: manifest.project.outputFolder,
      ...facts,
      warnings: [...manifest.warnings, ...history.problems, ...(facts.warnings ?? [])],
    }
  })
}

export async function changeProject(
  call: ManifestCall,
  command: RunChangeDocument['command'],
  change: (scope: ChangeScope) => Promise<readonly ChangedInstance[]>,
): Promise<RunChangeDocument> {
  return await projectDocument(call, command, true, async (scope) => ({
    instances: (await change(scope)).map(({ id, block }) => ({
      instance: id,
      variant: block.picked,
      files: block.outputs.map((facts) => runFile(call.context.cwd, scope.project.manifest.project, facts)),
    })),
  }))
}

/**
 * Assesses instances and what they refer to, one after another, so that a change of one counts for those after it.
 * @param change returns what is to be locked for an instance
 * @throws FileError; what `change` throws
 */
export async function changeInstances(
  { context, project }: ChangeScope,
  ids: ReadonlySet<string>,
  change: (assessment: Assessment) => Promise<LockBlock | undefined>,
): Promise<readonly ChangedInstance[]> {
  const { manifest } = project
  const assessments = new Map<string, Assessment>()
  const changed: ChangedInstance[] = []
  for (const id of withNeeds(manifest, ids)) {
    context.signal.throwIfAborted()
    const instance = manifest.instances.get(id)!
    const found = await assess(instance, project, assessments)
    assessments.set(id, found)
    const block = ids.has(id) ? await change(found) : undefined
    if (block === undefined) continue
    changed.push({ id, block, lockedAs: found.lockedAs })
    assessments.set(id, { ...found, state: 'fresh', key: block.key, block, lockedAs: id, restore: null })
  }
  return changed
}

/** Writes the lock with the changed blocks. A block under the former name of an instance goes. @throws FileError */
export async function saveChanges({ context, project }: ChangeScope, changed: readonly ChangedInstance[]) {
  const { lock, manifest } = project
  const current = new Map(lock)
  for (const { lockedAs } of changed) {
    if (lockedAs !== null && !manifest.instances.has(lockedAs)) current.delete(lockedAs)
  }
  for (const { id, block } of changed) current.set(id, block)
  await writeLock(context, manifest.project, current)
}

/** What the lock says of the request for a candidate. @throws UsageError while that is not known */
export function requestOf({ instance, keys, fields }: Assessment, variant: number) {
  const key = keys[variant - 1]
  if (key !== undefined && fields !== null) return { key, fields }
  const names = [...new Set(instance.references.map(({ text }) => text))].join(', ')
  const message = `Nothing of ${instance.id} can be locked yet: it needs ${names}, not all of which is settled.`
  throw new UsageError(message, { code: 'unknown_id' })
}

/** The id of the one instance that a name means. @throws UsageError where it means none, or several */
export function chooseOne({ manifest }: ProjectState, name: string): string {
  const [id, ...others] = matchInstances(manifest, [name])
  if (others.length === 0) return id!
  const some = [id, ...others.slice(0, 2)].join(', ')
  const message = `${JSON.stringify(name)} means ${others.length + 1} instances: name one of ${some}, …`
  throw new UsageError(message, { code: 'unknown_id' })
}
