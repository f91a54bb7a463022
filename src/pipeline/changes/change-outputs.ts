import { existsSync } from 'node:fs'
import { stat, unlink } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError, UsageError } from '../../errors.ts'
import type { RunRestoreDocument } from '../../events/run-document.ts'
import { readInputFile, withLineFeeds } from '../../files/input-file.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import { allInputs, createProblemList } from '../../problems.ts'
import { counted } from '../../quantities.ts'
import { mediaFacts, textFacts } from '../execute/task.ts'
import { openJournal } from '../journal/journal.ts'
import { type LockBlock, type OutputFacts, provenanceOf, unknownProvenance } from '../lock/lock-block.ts'
import { nouns } from '../manifest/manifest-fields.ts'
import { type Instance, promptOf } from '../manifest/manifest.ts'
import { placeOutputs, possiblePaths } from '../manifest/output-paths.ts'
import { examineVariant, failedAsserts } from '../plan/assess.ts'
import { matchInstances } from '../plan/plan-run.ts'
import type { Assessment } from '../plan/project-state.ts'
import { findResult, obstaclesOf, placeOutputFiles } from '../plan/result-files.ts'
import { pathFrom } from '../run/describe.ts'
import type { ManifestCall } from '../run/project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput, removeOutput } from '../store/place-output.ts'
import {
  type ChangedInstance,
  changeInstances,
  changeProject,
  type ChangeScope,
  chooseOne,
  projectDocument,
  requestOf,
  saveChanges,
} from './change-project.ts'

/** `run adopt`. @throws as `adopt` does, and what reading the project throws */
export async function adoptJobs(call: ManifestCall, patterns: readonly string[]) {
  return await changeProject(call, 'run adopt', (scope) => adopt(scope, patterns))
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
 * Locks files that are there already as the outputs of their instances, with the keys of the manifest as it is; nothing
 * is changed unless all can be.
 * @param by who says that they are right
 * @returns the instances that were not locked so before
 * @throws UsageError for names that mean nothing, and for files that are no such results; FileError for missing ones
 */
export async function adopt(
  scope: ChangeScope,
  patterns: readonly string[],
  by = loginName(),
): Promise<readonly ChangedInstance[]> {
  const { manifest } = scope.project
  const adopted = `${by}, ${new Date(scope.context.clock.now()).toISOString().slice(0, 10)}`
  const problems = createProblemList()
  const changed = await changeInstances(scope, matchInstances(manifest, patterns), async (assessment) => {
    if (assessment.state === 'fresh') return undefined
    return await problems.check(() => adoptedBlock(scope, assessment, adopted))
  })
  problems.throwIfAny()
  for (const { path, media_type } of changed.flatMap(({ block }) => block.outputs)) {
    await scope.project.replaced.add(join(manifest.project.outputFolder, path), isTextType(media_type))
  }
  await discardRequests(scope, changed)
  await saveChanges(scope, changed)
  return changed
}

/** The block of an instance with its files as they are. @throws UsageError, FileError with all that is wrong with them */
async function adoptedBlock({ context, project }: ChangeScope, assessment: Assessment, adopted: string) {
  const { instance, block } = assessment
  const request = requestOf(assessment, assessment.instance.pick ?? 1)
  const { id, variants, pick } = instance
  const { outputFolder } = project.manifest.project
  const place = { ...context, cwd: outputFolder }
  const possible = possiblePaths(instance, project.now)
  const placed = block === null ? undefined : placeOutputs(instance, block, project.now)
  const paths = placed?.map(({ path }, at) => [path, ...(possible[at] ?? [])]) ?? possible
  const outputs = await allInputs(
    paths.map((some) => {
      const there = some.find((path) => existsSync(join(outputFolder, path)))
      return readOutput(place, instance, there ?? some[0]!)
    }),
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
    ...request,
    picked: variants > 1 ? (pick ?? 1) : null,
    adopted,
    prompt: project.manifest.locksPrompts ? promptOf(instance) : null,
  }
}

async function readOutput(context: FileContext, instance: Instance, path: string): Promise<OutputFacts> {
  if (instance.lane === 'text') {
    const content = await readInputFile(context, path, { pipes: false })
    if (content instanceof ModelgateError) throw content
    return { ...textFacts(instance, withLineFeeds(content)), path }
  }
  const facts = await mediaFacts(context, path).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'no' }) : error
  })
  if (facts.media_type.startsWith(`${instance.lane}/`)) return facts
  throw new UsageError(`${path} is not ${nouns[instance.lane][0]}.`, { code: 'wrong_type' })
}

async function discardRequests({ context, project }: ChangeScope, changed: readonly ChangedInstance[]) {
  const { manifest, history } = project
  const open = changed.map(({ block }) => block.key).filter((key) => history.isOpen(key))
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

/** `run pick`. @throws as `pick` does, and what reading the project throws */
export async function pickCandidate(call: ManifestCall, name: string, variant: number) {
  return await changeProject(call, 'run pick', async (scope) => [await pick(scope, name, variant)])
}

/**
 * Makes a candidate the output of its instance: puts its files in place and locks it with its number. What lay there is put
 * aside, if the lock or the results know it; another file is not touched.
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

async function placeCandidate(scope: ChangeScope, assessment: Assessment, variant: number) {
  const { project, next } = scope
  const { instance, block } = assessment
  const { project: places, locksPrompts } = project.manifest
  const request = requestOf(assessment, variant)
  const result = await findCandidate(scope, instance, request.key, variant)
  const outputs = placeOutputs(instance, result, project.now)
  const obstacles = await obstaclesOf(instance, outputs, project)
  if (obstacles.length > 0) {
    const differ = obstacles.length === 1 ? 'differs from the lock, and is' : 'differ from the lock, and are'
    const message = `${obstacles.join(' and ')} ${differ} kept.`
    throw new ModelgateError('outdated', 'output_changed', message, {
      phase: 'input',
      billed: 'no',
      ...leadTo('Move it away, or lock it with: ', nextCommand(next('adopt', instance.id))),
    })
  }
  const files = await findResult(request.key, result, project)
  await placeOutputFiles(scope.context, project, outputs, files)
  for (const facts of block?.outputs ?? []) {
    const isKept = outputs.some(({ path }) => path === facts.path) || project.isOutput(facts.path)
    if (!isKept) await removeOutput(places, project.replaced, facts)
  }
  const prompt = locksPrompts ? promptOf(instance) : null
  return { ...provenanceOf(result), outputs, ...request, picked: variant, adopted: null, prompt }
}

async function findCandidate(scope: ChangeScope, instance: Instance, key: string, variant: number) {
  const { project, next } = scope
  const { id } = instance
  const found = await examineVariant(instance, key, project)
  if (found.result !== undefined) return found.result
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
  throw new UsageError(`Candidate ${variant} of ${id} does not exist.`, {
    code: 'unknown_id',
    ...leadTo(before, nextCommand(command)),
  })
}

interface Version {
  /** When it was put aside, or made. */
  readonly at: number
  readonly sha256: string
  readonly bytes: number
  readonly path: string
  readonly source: string
}

/**
 * `run restore`: lists the earlier files of a job, or makes one of them its output again, as adopted.
 * @param number of the version, from 1; undefined only to list them
 * @throws UsageError where there is no such version; what `adopt` throws; FileError
 */
export async function restoreVersion(
  call: ManifestCall,
  name: string,
  number: number | undefined,
): Promise<RunRestoreDocument> {
  return await projectDocument(call, 'run restore', number !== undefined, async (scope) => {
    const { project } = scope
    const id = chooseOne(project, name)
    const versions = await versionsOf(scope, id)
    const block = number === undefined ? project.lock.get(id) : await restore(scope, id, versions, number)
    return {
      instance: id,
      versions: versions.map(({ at, sha256, bytes, path }, index) => {
        const shown = pathFrom(call.context.cwd, project.manifest.project.outputFolder, path)
        return { number: index + 1, time: new Date(at).toISOString(), path: shown, sha256, bytes }
      }),
      restored: number ?? null,
      adopted: block?.adopted ?? null,
    }
  })
}

/** What was put aside of an instance, and what was made of it before, without what is in place: the oldest first. */
export async function versionsOf({ project }: ChangeScope, id: string): Promise<readonly Version[]> {
  const { history, lock, manifest, now, replaced, results } = project
  const { outputFolder } = manifest.project
  const [instance, block] = [manifest.instances.get(id)!, lock.get(id)]
  const isOfText = instance.lane === 'text'
  const paths =
    block === undefined
      ? possiblePaths(instance, now).flatMap(([first]) => first ?? [])
      : placeOutputs(instance, block, now).map(({ path }) => path)
  const current = await Promise.all(
    paths.map(async (path) => (await digestOfFile(join(outputFolder, path), isOfText))?.sha256),
  )
  const versions = new Map<string, Version>()
  const add = async (at: number, source: string, path: string | undefined, isText: boolean) => {
    const found = await digestOfFile(source, isText)
    if (found === undefined || path === undefined || current[paths.indexOf(path)] === found.sha256) return
    versions.set(`${path} ${found.sha256}`, { at, ...found, path, source })
  }
  for (const { at, sha256, name } of await replaced.listOf(new Set([id, ...paths]))) {
    const source = await replaced.open(sha256)
    // Of several outputs it is not known which one a result's file was.
    const path = paths.includes(name) ? name : paths.length === 1 ? paths[0] : undefined
    if (source !== undefined) await add(at, source, path, isOfText)
  }
  for (const { instance, key } of history.results.values()) {
    const found = instance === id ? await results.get(key) : undefined
    for (const [index, { media_type }] of (found?.result.outputs ?? []).entries()) {
      const source = found!.files[index]!
      await add((await stat(source)).mtimeMs, source, paths[index], isTextType(media_type))
    }
  }
  return [...versions.values()].toSorted((one, other) => one.at - other.at)
}

/** Replaces the present version, which is put aside, by another, and locks it. @returns its block */
export async function restore(
  scope: ChangeScope,
  id: string,
  versions: readonly Version[],
  number: number,
  by?: string,
): Promise<LockBlock | undefined> {
  const version = versions[number - 1]
  if (version === undefined) {
    const message =
      versions.length === 0
        ? `No earlier file of ${id} is kept here.`
        : `There is no file ${number}: ${id} has ${counted(versions.length, 'earlier file')}.`
    throw new UsageError(message, { code: 'unknown_id' })
  }
  const { context, project } = scope
  const { project: places, instances } = project.manifest
  const { path, source, sha256 } = version
  const isText = instances.get(id)!.lane === 'text'
  const target = join(places.outputFolder, path)
  const there = await digestOfFile(target, isText)
  const aside = there && (await project.replaced.putAside(target))
  const mayReplace = there === undefined ? [] : [there.sha256]
  await placeOutput(context, places, { source, sha256, isText, path, mayReplace })
  try {
    const [changed] = await adopt(scope, [id], by)
    // What is as it was locked is not adopted.
    return changed?.block ?? project.lock.get(id)
  } catch (error) {
    // What cannot be locked would count as changed by hand.
    const before = aside && (await project.replaced.open(aside.sha256))
    if (there === undefined) await unlink(target)
    else if (before !== undefined)
      await placeOutput(context, places, { ...there, source: before, isText, path, mayReplace: [sha256] })
    throw error
  }
}
