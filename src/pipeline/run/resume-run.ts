import { join } from 'node:path'
import { startedJobs } from '../execute/started-jobs.ts'
import { recoverResult, takeRescued } from '../execute/task-record.ts'
import { provenanceOf, type Lock, type LockBlock } from '../lock/lock-block.ts'
import { placeOutputs } from '../plan/output-places.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { keepResult, type Keeping } from './make.ts'
import type { OpenProject } from './project.ts'
import type { RunCall } from './run-call.ts'

/**
 * The lock with what an unfinished run has put in place, but did not get to lock.
 *
 * The bytes tell: an output that lies in its place as the journal has it was put there by that run, and was not changed by
 * hand. A choice among candidates that have been made again since is not one any more.
 */
export async function lockWithUnfinished(project: OpenProject): Promise<Lock> {
  const { history, committed: lock, manifest } = project
  if (history.unfinished === null) return lock
  const newest = new Map<string, string>()
  for (const { instance: id, key, rejected } of history.results.values()) {
    if (manifest.instances.get(id)?.variants === 1 && rejected === null) newest.set(id, key)
  }
  const current = new Map(lock)
  for (const [id, block] of lock) {
    const isRemade = history.remade.has(block.key) || history.of(block.key)?.isDiscarded === true
    if (block.picked !== null && isRemade) current.set(id, { ...block, picked: null })
  }
  for (const [id, key] of newest) {
    // Hashing its files costs more than looking at the lock.
    const result =
      lock.get(id)?.key === key && !history.remade.has(key) ? undefined : await project.results.get(key)
    if (result === undefined) continue
    const outputs = placeOutputs(manifest.instances.get(id)!, result.result, project.now)
    const before = lock.get(id)
    const isLocked =
      before !== undefined && before.outputs.every((one, at) => one.sha256 === outputs[at]?.sha256)
    if (isLocked) continue
    const inPlace = await Promise.all(outputs.map((facts) => isThere(project, facts)))
    if (!inPlace.every(Boolean)) continue
    const block: LockBlock = {
      ...provenanceOf(result.result),
      outputs,
      key,
      fields: {},
      picked: null,
      adopted: null,
      prompt: null,
    }
    current.set(id, block)
  }
  return current
}

async function isThere(
  { manifest: { project } }: OpenProject,
  { path, sha256, media_type }: LockBlock['outputs'][number],
): Promise<boolean> {
  const file = join(project.outputFolder, path)
  // A folder in its place is looked at later, with the others that are in the way.
  return (await digestOfFile(file, isTextType(media_type)).catch(() => undefined))?.sha256 === sha256
}

/**
 * Takes up what a process has left that died between a reply and its journal: the results that are whole in their folders,
 * and the remote jobs that are on record under the idempotency key of their request.
 */
export async function takeUpReplies(
  keeping: Keeping,
  { context, redactor, rescueFolder }: Pick<RunCall, 'context' | 'redactor' | 'rescueFolder'>,
): Promise<void> {
  const { history, manifest } = keeping.project
  const open = [...history.intents.values()].filter(
    ({ key }) => !history.jobs.has(key) && !history.made.has(key),
  )
  if (open.length === 0) return
  const started = await startedJobs(context, manifest.project, redactor)
  for (const { key, variant, instance: id, idempotencyKey } of open) {
    const job = started.get(idempotencyKey)
    if (job !== undefined) {
      await keeping.record({ type: 'job', key, ...job })
      continue
    }
    const instance = manifest.instances.get(id)
    if (instance === undefined) continue
    const request = { instance, key, variant, folder: keeping.project.results.folder(key) }
    const left =
      (await recoverResult(context, request)) ?? (await takeRescued(context, request, rescueFolder))
    if (left !== undefined) await keepResult(keeping, request, left)
  }
}
