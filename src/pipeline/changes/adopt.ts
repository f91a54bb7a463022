import { userInfo } from 'node:os'
import { join } from 'node:path'
import { ModelgateError, UsageError } from '../../errors.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { readInputFile } from '../../files/input-file.ts'
import { createProblemList, type ProblemList } from '../../problems.ts'
import { mediaFacts, textFacts } from '../execute/result-facts.ts'
import { openJournal } from '../journal/journal.ts'
import { provenanceOf, unknownProvenance, type LockBlock, type OutputFacts } from '../lock/lock-block.ts'
import { nouns } from '../manifest/command-fields.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { failedAsserts } from '../plan/assess.ts'
import { placeOutputs, possiblePaths } from '../plan/output-places.ts'
import { matchInstances } from '../plan/plan-run.ts'
import type { Assessment } from '../plan/world.ts'
import type { ManifestCall } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import {
  changeInstances,
  changeProject,
  keyUnknown,
  saveChanges,
  type ChangedInstance,
  type ChangeScope,
} from './change-project.ts'

/**
 * `run adopt`: locks files that are there already.
 * @param by who says that they are right; by default whoever is logged in
 * @throws as `adopt` does, and what reading the project throws
 */
export async function adoptJobs(
  call: ManifestCall,
  patterns: readonly string[],
  by = loginName(),
): Promise<RunChangeDocument> {
  return await changeProject(call, 'run adopt', (scope) => adopt(scope, patterns, by))
}

/** In a container the user may have no name. */
function loginName(): string {
  try {
    return userInfo().username
  } catch {
    return 'unknown'
  }
}

/**
 * Locks files that are there already as the outputs of their instances, with the keys of the manifest as it is. What is
 * fresh stays as it is. Nothing is changed unless all can be.
 * @param patterns names of jobs and instances, with wildcards
 * @param by who says that they are right
 * @returns the instances that were not locked so before
 * @throws UsageError for names that mean nothing, and for files that are no such results; FileError for missing ones
 */
export async function adopt(
  scope: ChangeScope,
  patterns: readonly string[],
  by: string,
): Promise<readonly ChangedInstance[]> {
  const { context, world, replaced } = scope
  const adopted = `${by}, ${new Date(context.clock.now()).toISOString().slice(0, 10)}`
  const problems = createProblemList()
  const formerNames: string[] = []
  const keys: string[] = []
  const ids = matchInstances(world.manifest, patterns)
  const changed = await changeInstances(scope, ids, async (assessment) => {
    const { state, lockedAs } = assessment
    if (state === 'fresh') return undefined
    const block = await problems.check(() => blockOf(scope, assessment, adopted, problems))
    if (block === undefined) return undefined
    if (lockedAs !== null) formerNames.push(lockedAs)
    keys.push(block.key)
    return block
  })
  problems.throwIfAny()
  const { outputFolder } = world.manifest.project
  for (const { block } of changed) {
    for (const { path, media_type } of block.outputs) {
      await replaced.add(join(outputFolder, path), isTextType(media_type))
    }
  }
  await closeRequests(scope, keys)
  await saveChanges(scope, changed, formerNames)
  return changed
}

/** The block of an instance with its files as they are; undefined when there is something wrong with them. */
async function blockOf(
  { context, world }: ChangeScope,
  { instance, keys, fields, block }: Assessment,
  adopted: string,
  problems: ProblemList,
): Promise<LockBlock | undefined> {
  const { id, variants, pick } = instance
  const key = keys[(pick ?? 1) - 1]
  if (key === undefined || fields === null) throw keyUnknown(instance)
  const { outputFolder } = world.manifest.project
  const place = { ...context, cwd: outputFolder }
  const outputs: OutputFacts[] = []
  for (const paths of pathsOf(instance, block, world.now)) {
    const facts = await problems.check(async () =>
      readOutput(place, instance, await firstFile(outputFolder, paths)),
    )
    if (facts === undefined) return undefined
    outputs.push(facts)
  }
  const files = outputs.map(({ path }) => join(outputFolder, path))
  const failed = await failedAsserts(instance, outputs, files, world)
  if (failed.length > 0) {
    const message = `${id} does not hold its asserts: ${failed.join(' ')}`
    throw new UsageError(message, {
      code: 'asserts_failed',
      hint: 'Change the file, or `assert` in the manifest.',
    })
  }
  const isSame = block?.outputs.every(({ sha256 }, at) => outputs[at]?.sha256 === sha256) ?? false
  return {
    // An old result that is right for the new request, too, is still where it came from.
    ...(isSame && block !== null ? provenanceOf(block) : unknownProvenance),
    outputs,
    key,
    fields,
    picked: variants > 1 ? (pick ?? 1) : null,
    adopted,
    prompt: world.manifest.locksPrompts ? promptOf(instance) : null,
  }
}

/** For each output the paths where it may lie. */
function pathsOf(instance: Instance, block: LockBlock | null, now: number): readonly (readonly string[])[] {
  const possible = possiblePaths(instance, now)
  if (block === null) return possible
  return placeOutputs(instance, block, now).map(({ path }, at) => [path, ...(possible[at] ?? [])])
}

/** The first of the paths that has a file; without one the first. */
async function firstFile(folder: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) if ((await digestOfFile(join(folder, path), false)) !== undefined) return path
  return paths[0]!
}

/** @param context its working directory is the output folder */
async function readOutput(
  context: ChangeScope['context'],
  instance: Instance,
  path: string,
): Promise<OutputFacts> {
  if (instance.lane === 'text') {
    const content = await readInputFile(context, path, { pipes: false })
    if (content instanceof ModelgateError) throw content
    // A text is locked as it is with LF.
    return { ...textFacts(instance, content), path, ...(await digestOfFile(join(context.cwd, path), true)) }
  }
  const facts = await mediaFacts(context, path).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'no' }) : error
  })
  if (facts.media_type.startsWith(`${instance.lane}/`)) return facts
  throw new UsageError(`${path} is not ${nouns[instance.lane][0]}.`, { code: 'wrong_type' })
}

/** What became of a request for these keys no longer matters. */
async function closeRequests(
  { context, world, history }: ChangeScope,
  keys: readonly string[],
): Promise<void> {
  const open = keys.filter((key) => history.of(key)?.open != null)
  if (open.length === 0) return
  const { unfinished } = history
  const journal = await openJournal(world.manifest.project, context.clock, unfinished)
  try {
    for (const key of open) await journal.append({ type: 'discard', key })
    if (unfinished === null) await journal.append({ type: 'end', run: journal.run })
  } finally {
    await journal.close()
  }
}
