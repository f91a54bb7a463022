import { readdir, unlink } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { asErrorCode, ModelgateError, UsageError } from '../../errors.ts'
import type { RunDocument } from '../../events/run-document.ts'
import { cannotRead } from '../../files/file-error.ts'
import { leadTo, nextCommand } from '../../files/next-command.ts'
import type { Outcome } from '../../operations/operation.ts'
import { allInputs } from '../../problems.ts'
import { openJournal, readEvents, type Journal } from '../journal/journal.ts'
import { takeOwnership } from '../journal/owner.ts'
import { readLockText, writeLock, type Lock } from '../lock/lock-block.ts'
import { resolveLock, type ResolvedLock } from '../lock/merge-lock.ts'
import type { Manifest } from '../manifest/manifest.ts'
import { findManifest, readManifest } from '../manifest/read-manifest.ts'
import { keysByLock } from '../plan/instance-key.ts'
import { planRun, selectInstances } from '../plan/plan-run.ts'
import { findResult, placeOutputFiles } from '../plan/result-files.ts'
import type { Assessment } from '../plan/project-state.ts'
import { runDocument, runFailure } from '../run/describe.ts'
import { withElements, type ManifestCall, type OpenProject } from '../run/project.ts'
import type { InstanceEnd } from '../run/run-state.ts'
import { ended } from '../run/settle.ts'
import { partDamaged, readPart, uniteLocks, type Part, type PartInstance } from '../shards/part.ts'
import { createInputDigests, digestOfFile, isTextType } from '../store/file-digest.ts'
import { gitObject } from '../store/blob-store.ts'
import { isInOutputFolder, isInPlace, placeOutput, removeOutput } from '../store/place-output.ts'
import { Results } from '../store/results.ts'
import { withProject } from './change-project.ts'

/** How a manifest stands after a merge. @param run that has put parts together; null for the sides of a conflict */
async function outcomeOf(
  call: ManifestCall,
  project: OpenProject,
  { run, jobs, warnings }: { run: string | null; jobs: readonly string[]; warnings: readonly string[] },
  endOf: (assessment: Assessment) => InstanceEnd,
) {
  const { manifest, history } = project
  const plan = await planRun(project, selectInstances(manifest, jobs), call.context)
  const ends = [...plan.assessments.values()].map(endOf)
  const document = runDocument(call, project, ends, {
    mode: 'run',
    run,
    shard: null,
    part: null,
    creates: { planned: plan.creates, made: 0, limit: manifest.budget.creates },
    estimate: null,
    orphans: [...plan.orphans],
    warnings: [...manifest.warnings, ...history.problems, ...warnings],
  })
  const failure = runFailure(run === null ? 'check' : 'run', ends, document.left)
  return { kind: 'ended', document: { ...document, command: 'run merge' }, failure } as const
}

/**
 * `run merge --resolve`: takes the conflict markers out of a lock, as `resolveLock` does.
 * @returns the outcome, whose error has exit code 13 for what neither side had as the manifest asks for it
 * @throws UsageError for a lock without conflict markers; what reading the project throws; FileError
 */
export async function resolveRun(call: ManifestCall): Promise<Outcome<RunDocument>> {
  const { warnings, resolved } = await resolveConflicts(call)
  return await withProject(call, true, async ({ project }) => {
    warnings.push(...(await replaceOutdated(project, resolved)))
    const facts = { run: null, jobs: [], warnings }
    return await outcomeOf(call, project, facts, (assessment) => ended(assessment, null))
  })
}

/** @returns what was decided, each a sentence */
async function resolveConflicts(call: ManifestCall) {
  const { context, file, next } = call
  const manifest = await readManifest(context, await findManifest(context, file), call)
  const { project, instances } = manifest
  const ownership = await takeOwnership(project, context)
  try {
    const shown = relative(context.cwd, project.lockPath)
    const text = await readLockText(context, project)
    if (text === undefined || !/^<{7} /m.test(text)) {
      throw new UsageError(`${shown} has no conflict markers.`, {
        ...leadTo('See how it stands: ', nextCommand(next('--plan'))),
      })
    }
    const resolved = await resolveLock(text, shown, judgeOf(manifest))
    const { lock, taken, dropped } = resolved
    await writeLock(context, project, lock)
    const decided = [...taken].filter(([id]) => instances.has(id))
    const warnings = [
      ...decided.map(([id, side]) => `${id} is locked as ${sides[side]} has it.`),
      ...dropped.map((id) => `${id} is not locked any more: the manifest asks for neither side.`),
    ]
    return { warnings, resolved }
  } finally {
    await ownership.release()
  }
}

/**
 * Replaces the outputs of the side of a merge that lost, which version control may have left in place: by the bytes that the
 * lock names, from the results or from version control's own objects. A file that was changed by hand stays.
 * @returns how to get what was found nowhere, each a sentence
 */
async function replaceOutdated(project: OpenProject, { lock, lost }: ResolvedLock): Promise<string[]> {
  const { files, replaced, manifest } = project
  const { project: places } = manifest
  const problems: string[] = []
  for (const [id, blocks] of lost) {
    const chosen = lock.get(id)
    for (const facts of blocks.flatMap(({ outputs }) => outputs)) {
      const { path } = facts
      const isText = isTextType(facts.media_type)
      const target = join(places.outputFolder, path)
      const there = (await digestOfFile(target, isText))?.sha256
      if (there === undefined || project.lockedByPath.get(path)?.includes(there)) continue
      if (!isInOutputFolder(places, path)) continue
      // Into a text Git writes the markers of the conflict.
      if (there !== facts.sha256 && (await gitObject(places.outputFolder, `:2:./${path}`)) === undefined)
        continue
      await replaced.putAside(target)
      const wanted = chosen?.outputs.find((output) => output.path === path)
      const [own] = (wanted && (await findResult(chosen!.key, { outputs: [wanted] }, project))) ?? []
      // Both sides of the conflict, and what it began with.
      const revisions = [':2', ':3', 'HEAD', 'MERGE_HEAD']
      const source = own ?? (wanted && (await replaced.takeFromGit(wanted, revisions)))
      if (wanted !== undefined && source !== undefined) {
        const { sha256 } = wanted
        await placeOutput(files, places, { source, sha256, isText, path, mayReplace: [there] })
      } else {
        await unlink(target)
        if (wanted !== undefined) {
          problems.push(`${path} is needed as it was committed: git checkout --theirs -- ${path}, or --ours.`)
        }
      }
    }
  }
  return problems
}

const sides = { ours: 'this branch', theirs: 'the other branch' } as const

function judgeOf({ project, instances, gateway }: Manifest): Parameters<typeof resolveLock>[2] {
  const inputDigest = createInputDigests(project.folder)
  return {
    ids: instances.keys(),
    keysOf: (id, lock) => keysByLock(instances.get(id)!, gateway, lock, inputDigest),
    async isInPlace({ outputs }) {
      const found = await Promise.all(outputs.map((facts) => isInPlace(project, facts)))
      return found.every(Boolean)
    },
  }
}

/**
 * `run merge FOLDER...`: puts the parts of a run together that shards have left. The lock is written last: a merge that was
 * killed before that can be begun again.
 * @param folders of parts, or with parts in them; relative to the working directory
 * @returns the outcome, whose error has the exit code that the whole run would have had
 * @throws UsageError for parts that do not fit, before anything is written; what reading the project throws; FileError
 */
export async function mergeParts(
  call: ManifestCall,
  folders: readonly string[],
): Promise<Outcome<RunDocument>> {
  const { context } = call
  return await withProject(call, true, async ({ project: opened }) => {
    const parts = await readParts(call, opened, folders)
    const { committed, replaced } = opened
    const all = opened.with({
      lock: new Map([...committed, ...parts.flatMap((part) => [...part.lock])]),
      results: parts.reduce((whole, { project }) => new Results(project, replaced, whole), opened.results),
    })
    // A part may have made the text that the elements of a fan-out are in.
    const project = opened.with({ lock: committed, manifest: await withElements(all) })
    const { manifest, history } = project
    const lock = uniteLocks(parts, manifest, committed, context.clock.now())
    for (const part of parts) await checkResults(all, part)
    const isResumed = history.unfinished !== null
    const journal = await openJournal(manifest.project, context.clock, history.unfinished)
    try {
      for (const part of parts) await takePart(project, part, journal)
      const changed = new Map([...lock].filter(([id, block]) => project.lock.get(id) !== block))
      const kept = await placeAll(project, lock, changed)
      await writeLock(context, manifest.project, lock)
      const reports = new Map(parts.flatMap(({ report }) => report.instances.map((one) => [one.id, one])))
      const facts = { run: journal.run, jobs: parts[0]!.report.jobs, warnings: [] }
      const outcome = await outcomeOf(call, project.with({ lock }), facts, (assessment) =>
        endOf(assessment, reports.get(assessment.instance.id), changed, kept),
      )
      if (outcome.failure === undefined && !isResumed) {
        await journal.append({ type: 'end', run: journal.run })
      }
      return outcome
    } finally {
      await journal.close()
    }
  })
}

/** The parts in folders such as `.modelgate/parts`; a folder without any is one itself. */
async function readParts({ context }: ManifestCall, { manifest }: OpenProject, folders: readonly string[]) {
  const { cwd } = context
  const found: string[] = []
  for (const folder of folders) {
    const names = await readdir(resolve(cwd, folder)).catch(cannotRead(folder))
    const parts = names.filter((name) => /^\d+-of-\d+$/.test(name)).map((name) => join(folder, name))
    found.push(...(parts.length === 0 ? [folder] : parts))
  }
  return await allInputs(found.map((folder) => readPart(cwd, folder, manifest.project)))
}

/** @param all the project with the results of all parts */
async function checkResults(all: OpenProject, { folder, lock }: Part): Promise<void> {
  for (const [id, block] of lock) {
    if ((await findResult(block.key, block, all)) !== undefined) continue
    throw partDamaged(`A file of ${id} in ${folder} is missing, or not what it was.`)
  }
}

/** Takes in what a part has besides its lock: results, and what became of its requests. */
async function takePart({ results, replaced, history }: OpenProject, part: Part, journal: Journal) {
  const made = new Results(part.project, replaced)
  for (const key of await made.keys()) {
    const found = await made.get(key)
    if (found !== undefined) await results.take(found)
  }
  const events = (await readEvents(part.project)).filter(({ type }) => type !== 'begin' && type !== 'end')
  // In their order; those that are written at the same time share a sync.
  await Promise.all(events.map((event) => journal.append(event)))
  for (const event of events) history.note(event)
}

/** Puts the outputs of changed blocks in place, and removes those of others. @returns the instances whose place is taken */
async function placeAll(project: OpenProject, lock: Lock, changed: Lock): Promise<ReadonlySet<string>> {
  const { files, manifest, lock: before, replaced } = project
  const kept = new Set<string>()
  for (const [id, block] of changed) {
    const sources = await findResult(block.key, block, project)
    try {
      await placeOutputFiles(files, project, block.outputs, sources)
    } catch (error) {
      if (!(error instanceof ModelgateError && error.code === 'output_changed')) throw error
      kept.add(id)
    }
  }
  const paths = new Set([...lock.values()].flatMap(({ outputs }) => outputs.map(({ path }) => path)))
  for (const facts of [...before].flatMap(([id, block]) => (lock.get(id) === block ? [] : block.outputs))) {
    if (!paths.has(facts.path)) await removeOutput(manifest.project, replaced, facts)
  }
  return kept
}

function endOf(
  assessment: Assessment,
  report: PartInstance | undefined,
  changed: Lock,
  kept: ReadonlySet<string>,
): InstanceEnd {
  const { instance, state } = assessment
  if (report?.error !== undefined) {
    const { exit, code, message, billed } = report.error
    return {
      ...ended(assessment, 'failed'),
      error: new ModelgateError(exit, asErrorCode(code), message, { billed }),
    }
  }
  if (kept.has(instance.id)) return ended(assessment, 'kept')
  if (state === 'unknown' || state === 'rejected' || state === 'awaiting') return ended(assessment, state)
  return ended(assessment, changed.has(instance.id) ? 'restored' : null)
}
