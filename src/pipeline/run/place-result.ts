import { join } from 'node:path'
import { FileError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { provenanceOf, type LockBlock, type OutputFacts, type Result } from '../lock/lock-block.ts'
import { promptOf } from '../manifest/manifest.ts'
import type { Assessment } from '../plan/assessment.ts'
import { placeOutputs } from '../plan/output-places.ts'
import { findResult } from '../plan/result-files.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { moveOutput, placeOutput, removeOutput } from '../store/place-output.ts'
import type { Run } from './run-call.ts'

/**
 * Makes a result the output of its instance: puts its files in place and locks them. What lies there is put aside
 * first. A shard only locks: the files are put in place by whoever merges the parts.
 * @param picked which candidate it is; null where there is only one
 * @throws FileError
 */
export async function placeResult(
  run: Run,
  assessment: Assessment,
  result: Result,
  picked: number | null,
): Promise<LockBlock> {
  const { project, world, options } = run
  const { instance, lockedAs, block: before } = assessment
  // A frozen one keeps the key that it is locked with.
  const key = assessment.key ?? ''
  const outputs = placeOutputs(instance, result, world.now)
  if (options.shard === null) {
    const sources = await findResult(key, result, world)
    const kept = before === null ? undefined : await project.results.get(before.key)
    const isKept = (sha256: string) => kept?.result.outputs.some((facts) => facts.sha256 === sha256) ?? false
    for (const { from, to } of assessment.moves) {
      await move(
        run,
        from,
        outputs.find(({ path }) => path === to),
      )
    }
    for (const [at, facts] of outputs.entries()) await place(run, facts, sources?.[at], isKept)
    for (const facts of before?.outputs ?? []) {
      if (!world.isOutput(facts.path)) await removeOutput(project.manifest.project, project.replaced, facts)
    }
  }
  const block: LockBlock = {
    ...provenanceOf(result),
    outputs,
    key,
    fields: assessment.fields ?? {},
    picked,
    adopted: before?.key === key ? before.adopted : null,
    prompt: project.manifest.locksPrompts ? promptOf(instance) : null,
  }
  lockBlock(run, instance.id, block, lockedAs)
  return block
}

/** Locks a block, in place of the one under the former name of its instance. */
export function lockBlock({ lock, project }: Run, id: string, block: LockBlock, before: string | null): void {
  const isFormer = before !== null && before !== id && !project.manifest.instances.has(before)
  lock.set(id, block, isFormer ? before : undefined)
}

async function move({ project }: Run, from: string, facts: OutputFacts | undefined): Promise<void> {
  if (facts === undefined) return
  const { path, sha256, media_type } = facts
  await moveOutput(project.files, project.manifest.project, {
    from,
    path,
    sha256,
    isText: isTextType(media_type),
  })
}

async function place(
  run: Run,
  { path, sha256, media_type }: Result['outputs'][number],
  source: string | undefined,
  isKept: (sha256: string) => boolean,
): Promise<void> {
  const { project } = run
  const { project: places } = project.manifest
  const target = join(places.outputFolder, path)
  const isText = isTextType(media_type)
  const there = await digestOfFile(target, isText)
  if (there?.sha256 === sha256) return
  if (there !== undefined && !isKept(there.sha256)) await project.replaced.putAside(target)
  if (source === undefined) throw bytesGone(path)
  // A file that was edited since it was looked at is not replaced.
  const locked = run.world.lockedByPath.get(path) ?? []
  const mayReplace = run.options.force && there !== undefined ? [there.sha256] : locked
  await placeOutput(project.files, places, { source, sha256, isText, path, mayReplace })
}

function bytesGone(path: string): FileError {
  return new FileError('bytes_gone', `The bytes of ${shownPath(path)} are gone from .modelgate.`)
}
