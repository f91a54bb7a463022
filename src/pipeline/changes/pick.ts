import { join } from 'node:path'
import { FileError, ModelgateError, UsageError } from '../../errors.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { provenanceOf, type LockBlock, type Result } from '../lock/lock-block.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { examineVariant } from '../plan/assess.ts'
import { placeOutputs } from '../plan/output-places.ts'
import { matchInstances } from '../plan/plan-run.ts'
import { findResult, obstaclesOf } from '../plan/result-files.ts'
import type { Assessment, World } from '../plan/world.ts'
import type { ManifestCall } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput, removeOutput } from '../store/place-output.ts'
import {
  changeInstances,
  changeProject,
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
  const { next } = call
  return await changeProject(call, 'run pick', async (scope) => [
    await pick({ ...scope, next }, name, variant),
  ])
}

/** With what a refusal names the command that goes on. */
type PickScope = ChangeScope & Pick<ManifestCall, 'next'>

/**
 * Makes a candidate the output of its instance: puts its files in place and locks it with its number. What lay there is put
 * aside, if the lock or the results know it; another file is not touched.
 * @param name of a job that has one instance, or the id of an instance
 * @param variant number of the candidate, from 1
 * @throws UsageError where there is no such choice; ModelgateError `output_changed` (exit 13); FileError
 */
export async function pick(scope: PickScope, name: string, variant: number): Promise<ChangedInstance> {
  const { world } = scope
  const id = chooseOne(world, name)
  const instance = world.manifest.instances.get(id)!
  checkChoice(instance, variant)
  let formerName: string | null = null
  const [changed] = await changeInstances(scope, new Set([id]), async (assessment) => {
    formerName = assessment.lockedAs
    return await pickFor(scope, assessment, variant)
  })
  await saveChanges(scope, [changed!], formerName === null ? [] : [formerName])
  return changed!
}

function chooseOne({ manifest }: World, name: string): string {
  const [id, ...others] = matchInstances(manifest, [name])
  if (others.length === 0) return id!
  const some = [id, ...others.slice(0, 2)].join(', ')
  throw new UsageError(
    `${JSON.stringify(name)} means ${others.length + 1} instances: name one of ${some}, …`,
    {
      code: 'several_instances',
    },
  )
}

/** @throws UsageError for a number that the manifest does not leave to choose */
function checkChoice({ id, variants, pick, isFrozen }: Instance, variant: number): void {
  const refuse = (message: string, hint?: string) => {
    throw new UsageError(message, { code: 'no_choice', hint })
  }
  if (isFrozen) refuse(`${id} is frozen.`)
  if (pick !== null) refuse(`The manifest picks candidate ${pick} of ${id}.`, 'Change `pick` there.')
  if (variants === 1) refuse(`${id} has no candidates.`, 'Ask for some with `variants` in the manifest.')
  if (variant > variants) refuse(`${id} has only candidates 1 to ${variants}.`)
}

async function pickFor(
  { context, world, replaced, next }: PickScope,
  { instance, keys, fields, block }: Assessment,
  variant: number,
): Promise<LockBlock> {
  const key = keys[variant - 1]
  if (key === undefined || fields === null) throw keyUnknown(instance)
  const result = await resultFor(instance, key, variant, { world, next })
  const outputs = placeOutputs(instance, result, world.now)
  const obstacles = await obstaclesOf(instance, outputs, world)
  if (obstacles.length > 0) throw inPlaceOf(instance.id, obstacles, next)
  const files = await findResult(key, result, world)
  if (files === undefined) {
    throw new FileError(
      'candidate_lost',
      `The files of candidate ${variant} of ${instance.id} cannot be read.`,
      { phase: 'input', billed: 'no' },
    )
  }
  const { project } = world.manifest
  for (const [at, { path, sha256, media_type }] of outputs.entries()) {
    const isText = isTextType(media_type)
    const before = await digestOfFile(join(project.outputFolder, path), isText)
    if (before !== undefined && before.sha256 !== sha256)
      await replaced.putAside(join(project.outputFolder, path))
    const mayReplace = before === undefined ? [] : [before.sha256]
    await placeOutput(context, project, { source: files[at]!, sha256, isText, path, mayReplace })
  }
  for (const facts of block?.outputs ?? []) {
    const isKept = outputs.some(({ path }) => path === facts.path) || world.isOutput(facts.path)
    if (!isKept) await removeOutput(project, replaced, facts)
  }
  const prompt = world.manifest.locksPrompts ? promptOf(instance) : null
  return { ...provenanceOf(result), outputs, key, fields, picked: variant, adopted: null, prompt }
}

/** @throws UsageError unless the candidate is there and not rejected */
async function resultFor(
  instance: Instance,
  key: string,
  variant: number,
  { world, next }: Pick<PickScope, 'world' | 'next'>,
): Promise<Result> {
  const found = await examineVariant(instance, key, world)
  if (found.kind === 'there') return found.result
  const { id } = instance
  if (found.kind === 'rejected') {
    throw new UsageError(`Candidate ${variant} of ${id} is rejected: ${found.reasons.join(' ')}`, {
      code: 'asserts_failed',
      hint: 'Loosen `assert` in the manifest, or pick another one.',
    })
  }
  const wasPicked = world.lock.get(id)?.picked != null
  throw new UsageError(`Candidate ${variant} of ${id} is not there.`, {
    code: 'no_candidate',
    ...(wasPicked
      ? leadTo(
          'After a pick the others may be removed. Generate new ones with: ',
          nextCommand(next('--regenerate', id)),
        )
      : leadTo('Make it with: ', nextCommand(next(id)))),
  })
}

function inPlaceOf(id: string, paths: readonly string[], next: PickScope['next']): ModelgateError {
  const differ = paths.length === 1 ? 'differs from the lock, and is' : 'differ from the lock, and are'
  return new ModelgateError('outdated', 'output_changed', `${paths.join(' and ')} ${differ} kept.`, {
    phase: 'input',
    billed: 'no',
    ...leadTo('Move it away, or lock it with: ', nextCommand(next('adopt', id))),
  })
}
