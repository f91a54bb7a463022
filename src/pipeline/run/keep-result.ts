import { extname } from 'node:path'
import { mediaTypeOfName } from '../../files/media-type.ts'
import { mismatchReasons } from '../execute/check-asserts.ts'
import type { TaskResult } from '../execute/task.ts'
import type { Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { MadeResult, Request, Run } from './run-call.ts'

export type Keeping = Pick<Run, 'project' | 'world' | 'lock' | 'record'>

/**
 * Records a result that lies in the folder of its key: when this resolves, a process that is killed loses nothing.
 * @throws FileError
 */
export async function keepResult(
  run: Keeping,
  { instance, key, variant }: Request,
  task: TaskResult,
): Promise<MadeResult> {
  const { project } = run
  const outputs = task.result.outputs.map((facts, at) => ({ path: task.files[at]!, facts }))
  const reasons = [
    ...(await mismatchReasons(instance, outputs)),
    ...(await project.checkAsserts(instance, outputs, (sha256) => ownerOf(run, instance, sha256))),
  ]
  await project.results.keep({ ...task, key, variant, instance: instance.id })
  const recorded = { instance: instance.id, key, variant, rejected: reasons.length === 0 ? null : reasons }
  await run.record({ type: 'result', ...recorded })
  return { ...recorded, result: project.results.located(key, task.result) }
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
