import { billedOf, FileError, type ModelgateError } from '../../errors.ts'
import { isAnswered } from '../schedule/attempt-error.ts'
import { buildRequest } from '../execute/task-body.ts'
import { refuseChanged } from '../execute/task-inputs.ts'
import type { TaskRequest, UpstreamResult } from '../execute/task.ts'
import type { Instance } from '../manifest/manifest.ts'
import { upstreamFiles } from '../plan/upstream-result.ts'
import type { Request, Run } from './run-call.ts'

/**
 * Writes down how a request ended that has no result.
 * @param resumed whether an earlier attempt may have been accepted: that this one was not says nothing of it
 * @returns how much it has certainly not created
 */
export async function recordEnd(
  run: Run,
  { instance, key }: Pick<Request, 'instance' | 'key'>,
  error: ModelgateError,
  resumed: boolean,
): Promise<number> {
  const { history } = run.project
  const intent = history.intents.get(key)
  if (intent === undefined) return 0
  const billed = billedOf(error)
  const mayBeThere = resumed || history.jobs.has(key) || history.made.has(key)
  const isOver = isAnswered(error) || (billed === 'no' && !mayBeThere)
  // Still under way, or unknown: the next run looks at what is left, and goes on with it.
  if (!isOver) return 0
  if (billed === 'no') {
    await run.record({ type: 'release', key, reason: error.message })
    return intent.creates
  }
  const { exitCode: exit_code, code, message } = error
  await run.record({ type: 'failure', instance: instance.id, key, exit_code, code, message, billed })
  return 0
}

/**
 * What the references of an instance stand for, by their texts.
 * @throws FileError when the bytes of another instance's result are gone
 */
export async function filesOfReferences(
  { assessments, world }: Run,
  { references }: Instance,
): Promise<ReadonlyMap<string, UpstreamResult>> {
  const found = new Map<string, UpstreamResult>()
  for (const reference of references) {
    const files = await upstreamFiles(reference, assessments, world)
    if (files === undefined) {
      throw new FileError('upstream_lost', `The bytes of ${reference.text} are gone.`, {
        phase: 'input',
        billed: 'no',
      })
    }
    found.set(reference.text, files)
  }
  return found
}

/**
 * Builds the request of an instance. What is to be sent is of files that still are what its key was computed of.
 * @param upstream what its references stand for
 * @throws UsageError, FileError with everything that is wrong with its files
 */
export async function requestOf(
  { project: { manifest, files }, world, stop }: Run,
  instance: Instance,
  upstream: ReadonlyMap<string, UpstreamResult>,
  { isSent }: { readonly isSent: boolean },
): Promise<TaskRequest> {
  const { folder } = manifest.project
  if (!isSent) await refuseChanged(instance, folder, world.inputDigest)
  return await buildRequest({ ...files, signal: stop.signal }, instance, { folder, upstream })
}
