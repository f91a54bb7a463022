import { FileError, ModelgateError, UsageError } from '../../errors.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { provenanceOf, type LockBlock, type Result } from '../lock/lock-block.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { examineVariant } from '../plan/assess.ts'
import { placeOutputs } from '../manifest/output-paths.ts'
import { findResult, obstaclesOf, placeOutputFiles } from '../plan/result-files.ts'
import type { Assessment } from '../plan/project-state.ts'
import type { ManifestCall } from '../run/project.ts'
import { removeOutput } from '../store/place-output.ts'
import {
  changeInstances,
  changeProject,
  chooseOne,
  keyUnknown,
  saveChanges,
  type ChangedInstance,
  type ChangeScope,
} from './change-project.ts'

/** `run pick`: makes a candidate the output. @throws as `pick` does, and what reading the project throws */
export async function pickCandidate(
  call: ManifestCall,
  name: string,
  variant: number,
): Promise<RunChangeDocument> {
  return await changeProject(call, 'run pick', async (scope) => [await pick(scope, name, variant)])
}

/**
 * Makes a candidate the output of its instance: puts its files in place and locks it with its number. What lay there is put
 * aside, if the lock or the results know it; another file is not touched.
 * @param name of a job that has one instance, or the id of an instance
 * @param variant number of the candidate, from 1
 * @throws UsageError where there is no such choice; ModelgateError `output_changed` (exit 13); FileError
 */
export async function pick(scope: ChangeScope, name: string, variant: number): Promise<ChangedInstance> {
  const { instances } = scope.project.manifest
  const id = chooseOne(scope.project, name)
  checkChoice(instances.get(id)!, variant)
  const changed = await changeInstances(scope, new Set([id]), (assessment) =>
    placeCandidate(scope, assessment, variant),
  )
  await saveChanges(scope, changed)
  return changed[0]!
}

function checkChoice({ id, variants, pick, isFrozen }: Instance, variant: number): void {
  const refuse = (message: string, hint?: string) => {
    throw new UsageError(message, { hint })
  }
  if (isFrozen) refuse(`${id} is frozen.`)
  if (pick !== null) refuse(`The manifest picks candidate ${pick} of ${id}.`, 'Change `pick` there.')
  if (variants === 1) refuse(`${id} has no candidates.`, 'Ask for some with `variants` in the manifest.')
  if (variant > variants) refuse(`${id} has only candidates 1 to ${variants}.`)
}

async function placeCandidate(
  scope: ChangeScope,
  { instance, keys, fields, block }: Assessment,
  variant: number,
): Promise<LockBlock> {
  const { project, next } = scope
  const { project: places, locksPrompts } = project.manifest
  const key = keys[variant - 1]
  if (key === undefined || fields === null) throw keyUnknown(instance)
  const result = await findCandidate(scope, instance, key, variant)
  const outputs = placeOutputs(instance, result, project.now)
  const obstacles = await obstaclesOf(instance, outputs, project)
  if (obstacles.length > 0) throw outputChanged(instance.id, obstacles, next)
  const files = await findResult(key, result, project)
  if (files === undefined) {
    const message = `The files of candidate ${variant} of ${instance.id} cannot be read.`
    throw new FileError('result_lost', message, { phase: 'input', billed: 'no' })
  }
  await placeOutputFiles(scope.context, project, outputs, files)
  for (const facts of block?.outputs ?? []) {
    const isKept = outputs.some(({ path }) => path === facts.path) || project.isOutput(facts.path)
    if (!isKept) await removeOutput(places, project.replaced, facts)
  }
  const prompt = locksPrompts ? promptOf(instance) : null
  return { ...provenanceOf(result), outputs, key, fields, picked: variant, adopted: null, prompt }
}

async function findCandidate(
  { project, next }: ChangeScope,
  instance: Instance,
  key: string,
  variant: number,
): Promise<Result> {
  const { id } = instance
  const found = await examineVariant(instance, key, project)
  if (found.kind === 'there') return found.result
  if (found.kind === 'rejected') {
    throw new UsageError(`Candidate ${variant} of ${id} is rejected: ${found.reasons.join(' ')}`, {
      code: 'asserts_failed',
      hint: 'Loosen `assert` in the manifest, or pick another one.',
    })
  }
  const wasPicked = project.lock.get(id)?.picked != null
  const [before, command] = wasPicked
    ? ['After a pick the others may be removed. Generate new ones with: ', next('--regenerate', id)]
    : ['Make it with: ', next(id)]
  throw new UsageError(`Candidate ${variant} of ${id} is not there.`, {
    code: 'unknown_id',
    ...leadTo(before, nextCommand(command)),
  })
}

function outputChanged(id: string, paths: readonly string[], next: ChangeScope['next']): ModelgateError {
  const differ = paths.length === 1 ? 'differs from the lock, and is' : 'differ from the lock, and are'
  return new ModelgateError('outdated', 'output_changed', `${paths.join(' and ')} ${differ} kept.`, {
    phase: 'input',
    billed: 'no',
    ...leadTo('Move it away, or lock it with: ', nextCommand(next('adopt', id))),
  })
}
