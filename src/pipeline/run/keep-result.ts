import { extname, join } from 'node:path'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { mismatchReasons } from '../execute/check-asserts.ts'
import type { TaskResult } from '../execute/task.ts'
import { removeTaskFolder } from '../execute/task-record.ts'
import type { RecordedResult } from '../journal/history.ts'
import type { Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { outputPaths } from '../plan/output-places.ts'
import { isTextType } from '../store/file-digest.ts'
import type { Request, Run } from './run-call.ts'

/** The folder in which the files of a request are saved. */
export function workFolder(stateFolder: string, key: string): string {
  return join(stateFolder, 'work', key)
}

export type Keeping = Pick<Run, 'project' | 'world' | 'lock' | 'record'>

/**
 * Puts the files of a result where they are safe, and records them: in the store, or among the candidates, if one is to be
 * picked, or if it is rejected. When this resolves, a process that is killed loses nothing.
 * @throws FileError
 */
export async function keepResult(
  run: Keeping,
  { instance, key, variant, folder }: Request & { readonly folder: string },
  { result: found, files }: TaskResult,
): Promise<RecordedResult> {
  const { project, world } = run
  const outputs = found.outputs.map((facts, at) => ({ path: files[at]!, facts }))
  const reasons = [
    ...(await mismatchReasons(instance, outputs)),
    ...(await project.checkAsserts(instance, outputs, (sha256) => ownerOf(run, instance, sha256))),
  ]
  const rejected = reasons.length === 0 ? null : reasons
  const isCandidate = rejected !== null || instance.variants > 1
  let result = found
  if (isCandidate) {
    await project.candidates.add(
      {
        instance: instance.id,
        key,
        variant,
        state: rejected === null ? 'candidate' : 'rejected',
        reasons,
        result,
      },
      files,
    )
  } else {
    for (const { path, facts } of outputs) await project.store.share(path, isTextType(facts.media_type))
    const paths = outputPaths(instance, found.outputs, found, world.now)
    result = { ...found, outputs: found.outputs.map((facts, at) => ({ ...facts, path: paths[at]! })) }
  }
  await run.record({ type: 'result', instance: instance.id, key, variant, result, rejected })
  await removeTaskFolder(folder, { files })
  return { instance: instance.id, key, variant, result, rejected }
}

/** Another instance that has an output of the same bytes. */
function ownerOf({ lock, project }: Keeping, { id }: Instance, sha256: string): string | undefined {
  return lock.holders(sha256).find((other) => other !== id && project.manifest.instances.has(other))
}

/** What the name of an output promises, and the result is not, each a sentence. */
export function nameWarnings({ lane, output, fields }: Instance, outputs: Result['outputs']): string[] {
  // The words of a model can be called anything, and a format that was asked for is compared anyway.
  const promised =
    lane === 'text' || fields['output_format'] !== undefined ? undefined : mediaTypeOfName(extname(output))
  const other = outputs.find(({ media_type: mediaType }) => mediaType !== promised)
  if (promised === undefined || other === undefined) return []
  return [`${output} is ${other.media_type}, although its name says ${promised}.`]
}
