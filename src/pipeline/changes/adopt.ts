import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import type { RunChangeDocument } from '../../events/run-document.ts'
import { readInputFile } from '../../files/input-file.ts'
import { allInputs, createProblemList } from '../../problems.ts'
import { mediaFacts, textFacts } from '../execute/task-record.ts'
import { openJournal } from '../journal/journal.ts'
import { provenanceOf, unknownProvenance, type LockBlock, type OutputFacts } from '../lock/lock-block.ts'
import { nouns } from '../manifest/manifest-fields.ts'
import { promptOf, type Instance } from '../manifest/manifest.ts'
import { failedAsserts } from '../plan/assess.ts'
import { placeOutputs, possiblePaths } from '../manifest/output-paths.ts'
import { matchInstances } from '../plan/plan-run.ts'
import type { Assessment } from '../plan/project-state.ts'
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
export function loginName(): string {
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
  const { manifest } = scope.project
  const adopted = `${by}, ${new Date(scope.context.clock.now()).toISOString().slice(0, 10)}`
  const problems = createProblemList()
  const changed = await changeInstances(scope, matchInstances(manifest, patterns), async (assessment) =>
    assessment.state === 'fresh'
      ? undefined
      : await problems.check(() => adoptedBlock(scope, assessment, adopted)),
  )
  problems.throwIfAny()
  for (const { path, media_type } of changed.flatMap(({ block }) => block.outputs)) {
    await scope.project.replaced.add(join(manifest.project.outputFolder, path), isTextType(media_type))
  }
  await discardRequests(
    scope,
    changed.map(({ block }) => block.key),
  )
  await saveChanges(scope, changed)
  return changed
}

/** The block of an instance with its files as they are. @throws UsageError, FileError with all that is wrong with them */
async function adoptedBlock(
  { context, project }: ChangeScope,
  { instance, keys, fields, block }: Assessment,
  adopted: string,
): Promise<LockBlock> {
  const { id, variants, pick } = instance
  const key = keys[(pick ?? 1) - 1]
  if (key === undefined || fields === null) throw keyUnknown(instance)
  const { outputFolder } = project.manifest.project
  const place = { ...context, cwd: outputFolder }
  const possible = possiblePaths(instance, project.now)
  const placed = block === null ? undefined : placeOutputs(instance, block, project.now)
  const paths = placed?.map(({ path }, at) => [path, ...(possible[at] ?? [])]) ?? possible
  const outputs = await allInputs(
    paths.map(async (some) => readOutput(place, instance, await firstFile(outputFolder, some))),
  )
  const files = outputs.map(({ path }) => join(outputFolder, path))
  const failed = await failedAsserts(instance, outputs, files, project)
  if (failed.length > 0) {
    throw new UsageError(`${id} does not hold its asserts: ${failed.join(' ')}`, {
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
    prompt: project.manifest.locksPrompts ? promptOf(instance) : null,
  }
}

async function firstFile(folder: string, paths: readonly string[]): Promise<string> {
  for (const path of paths) if ((await digestOfFile(join(folder, path), false)) !== undefined) return path
  return paths[0]!
}

async function readOutput(context: FileContext, instance: Instance, path: string): Promise<OutputFacts> {
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

async function discardRequests(
  { context, project: { manifest, history } }: ChangeScope,
  keys: readonly string[],
): Promise<void> {
  const open = keys.filter((key) => history.isOpen(key))
  if (open.length === 0) return
  const { unfinished } = history
  const journal = await openJournal(manifest.project, context.clock, unfinished)
  try {
    for (const key of open) await journal.append({ type: 'discard', key })
    if (unfinished === null) await journal.append({ type: 'end', run: journal.run })
  } finally {
    await journal.close()
  }
}
