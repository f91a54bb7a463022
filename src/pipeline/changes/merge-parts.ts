import { readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { asModelgateError, ModelgateError } from '../../errors.ts'
import type { RunAction, RunDocument } from '../../events/run-document.ts'
import { readError } from '../../files/file-error.ts'
import type { Outcome } from '../../operations/operation.ts'
import { allInputs } from '../../problems.ts'
import { readEvents } from '../journal/history.ts'
import { openJournal, type JournalEvent } from '../journal/journal.ts'
import type { Lock } from '../lock/lock-block.ts'
import { writeLock } from '../lock/project-lock.ts'
import { placeOutputs } from '../plan/output-places.ts'
import { planRun, selectInstances } from '../plan/plan-run.ts'
import { findResult } from '../plan/result-files.ts'
import type { Assessment } from '../plan/world.ts'
import { exitOfRun, type RunExit } from '../run-exit.ts'
import { runDocument, runFailure } from '../run/describe.ts'
import { openProject, type ManifestCall, type OpenProject } from '../run/project.ts'
import type { InstanceEnd } from '../run/run-call.ts'
import { combineParts } from '../shards/combine-parts.ts'
import { partDamaged, readPart, type Part, type PartInstance } from '../shards/part.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput, removeOutput } from '../store/place-output.ts'
import { Results } from '../store/results.ts'

interface MergedParts {
  readonly parts: readonly Part[]
  /** The lock that the whole run would have left. */
  readonly lock: Lock
  /** Instances whose files were not put in place, because others are there that differ from the lock. */
  readonly kept: ReadonlySet<string>
  /** As the whole run would have ended. */
  readonly exit: RunExit
}

/**
 * Puts the parts of a run together that shards have left, and tells how the manifest stands then.
 * @param folders of parts, or with parts in them; relative to the working directory
 * @returns the outcome, whose error has the exit code that the whole run would have had; parts that do not fit are an error
 * before anything is written
 */
export async function mergeParts(
  call: ManifestCall,
  folders: readonly string[],
): Promise<Outcome<RunDocument>> {
  let project: OpenProject | undefined
  try {
    project = await openProject(call, true)
    const { run, merged } = await takeAll(call, project, folders)
    const selected = selectInstances(project.manifest, merged.parts[0]!.report.jobs)
    const plan = await planRun(project.world({ lock: merged.lock }), selected, {
      signal: call.context.signal,
    })
    const reports = new Map(
      merged.parts.flatMap(({ report }) => report.instances.map((one) => [one.id, one])),
    )
    const ends = [...plan.assessments.values()].map((assessment) =>
      endOf(assessment, reports.get(assessment.instance.id), merged),
    )
    const document = {
      ...runDocument(call, project, ends, {
        mode: 'run',
        run,
        shard: null,
        part: null,
        creates: { planned: 0, made: 0, limit: null },
        estimate: null,
        orphans: [...plan.orphans],
        warnings: [...project.manifest.warnings, ...project.history.problems],
      }),
      command: 'run merge',
    } as const
    return { kind: 'ended', document, failure: runFailure('run', ends, document.left, stopOf(merged)) }
  } catch (thrown) {
    return { kind: 'failed', error: asModelgateError(thrown, false), document: undefined }
  } finally {
    await project?.close()
  }
}

/**
 * Takes in what the parts have: their results and what became of each request; then puts the outputs in place, and at last
 * writes the lock. A merge that was killed before that can be begun again.
 */
async function takeAll(
  { context }: ManifestCall,
  project: OpenProject,
  folders: readonly string[],
): Promise<{ readonly run: string; readonly merged: MergedParts }> {
  const { manifest, history } = project
  const { cwd, clock } = context
  const found = (await Promise.all(folders.map((folder) => partsIn(cwd, folder)))).flat()
  const parts = await allInputs(found.map((folder) => readPart({ cwd }, folder, manifest.project)))
  const lock = combineParts(parts, {
    manifest: manifest.sha256,
    lock: project.lock,
    selected: (jobs) => selectInstances(manifest, jobs),
    placesOf: (id, result) =>
      placeOutputs(manifest.instances.get(id)!, result, clock.now()).map(({ path }) => path),
  })
  for (const part of parts) await checkResults(project, part)
  const { unfinished } = history
  const journal = await openJournal(manifest.project, clock, unfinished)
  try {
    const record = async (event: JournalEvent) => {
      await journal.append(event)
      history.note(event)
    }
    for (const part of parts) await takePart(project, part, record)
    const kept = await placeAll(project, parts, lock)
    await writeLock(context, manifest.project, lock)
    const exits = parts.map(({ report }) => report.exit)
    const exit = exitOfRun([...exits, ...(kept.size > 0 ? (['outdated'] as const) : [])])
    if (exit === 'ok' && unfinished === null) await journal.append({ type: 'end', run: journal.run })
    return { run: journal.run, merged: { parts, lock, kept, exit } }
  } finally {
    await journal.close()
  }
}

/** The parts in a folder such as `.modelgate/parts`; else the folder itself. */
async function partsIn(cwd: string, folder: string): Promise<string[]> {
  const names = await readdir(resolve(cwd, folder)).catch((error: unknown) => {
    throw readError(error, folder)
  })
  const parts = names.filter((name) => /^\d+-of-\d+$/.test(name))
  return parts.length === 0 ? [folder] : parts.map((name) => join(folder, name))
}

const resultsOf = (project: OpenProject, part: Part) => new Results(part.project, project.replaced)

/** @throws UsageError `part_damaged` unless the bytes of all that its lock names are there */
async function checkResults(project: OpenProject, part: Part): Promise<void> {
  const world = project.world({ results: resultsOf(project, part) })
  for (const [id, block] of part.lock) {
    if ((await findResult(block.key, block, world)) !== undefined) continue
    throw partDamaged(`A file of ${id} in ${part.folder} is missing, or not what it was.`)
  }
}

/** Takes in what a part has besides its lock: results, and what became of its requests. */
async function takePart(
  project: OpenProject,
  part: Part,
  record: (event: JournalEvent) => Promise<void>,
): Promise<void> {
  const own = new Set(part.report.instances.map(({ id }) => id))
  const { instances } = project.manifest
  // A block without an instance may be the former name of one of this part.
  const others = [...project.lock].filter(([id]) => instances.has(id) && !own.has(id))
  const keysOfOthers = new Set(others.map(([, { key }]) => key))
  const results = resultsOf(project, part)
  for (const key of await results.keys()) {
    const found = await results.get(key)
    if (found !== undefined && own.has(found.instance) && !keysOfOthers.has(key))
      await project.results.take(found)
  }
  // What another part has approved is not taken back by this one.
  const isOwn = (event: JournalEvent) =>
    'instance' in event ? own.has(event.instance) : !('key' in event && keysOfOthers.has(event.key))
  const told = (await readEvents(part.project)).filter(({ type }) => type !== 'begin' && type !== 'end')
  // In their order; those that are written at the same time share a sync.
  await Promise.all(told.filter(isOwn).map(record))
}

/**
 * Puts the outputs in place that a part has made, and takes away those that are now elsewhere.
 * @returns the instances in whose place another file is
 */
async function placeAll(
  { files, manifest: { project }, lock: before, replaced, world: worldOf }: OpenProject,
  parts: readonly Part[],
  lock: Lock,
): Promise<ReadonlySet<string>> {
  const world = worldOf()
  const kept = new Set<string>()
  for (const [id, block] of parts.flatMap((part) => [...part.lock])) {
    const sources = await findResult(block.key, block, world)
    for (const [at, { path, sha256, media_type }] of block.outputs.entries()) {
      const isText = isTextType(media_type)
      const mayReplace = world.lockedByPath.get(path) ?? []
      const target = join(project.outputFolder, path)
      const there = (await digestOfFile(target, isText))?.sha256
      if (there !== undefined && mayReplace.includes(there)) await replaced.putAside(target)
      try {
        await placeOutput(files, project, { source: sources?.[at] ?? '', sha256, isText, path, mayReplace })
      } catch (error) {
        if (!(error instanceof ModelgateError && error.code === 'output_changed')) throw error
        kept.add(id)
      }
    }
  }
  const paths = new Set([...lock.values()].flatMap(({ outputs }) => outputs.map(({ path }) => path)))
  for (const [id, { outputs }] of before) {
    if (lock.get(id) === before.get(id)) continue
    for (const facts of outputs) if (!paths.has(facts.path)) await removeOutput(project, replaced, facts)
  }
  return kept
}

/** What became of an instance, as far as its part says. */
function endOf(assessment: Assessment, report: PartInstance | undefined, merged: MergedParts): InstanceEnd {
  const { instance, block, state } = assessment
  const found = report?.outcome === 'failed' ? report.error : undefined
  const error = found && new ModelgateError(found.exit, found.code, found.message, { billed: found.billed })
  return {
    assessment,
    action: error === undefined ? actionOf(instance.id, state, merged) : 'failed',
    outputs: block?.outputs ?? [],
    error: error ?? null,
    created: 0,
    took_s: null,
    cost: null,
  }
}

function actionOf(id: string, state: Assessment['state'], { parts, kept }: MergedParts): RunAction | null {
  if (kept.has(id)) return 'kept'
  if (state === 'unknown' || state === 'rejected' || state === 'awaiting') return state
  return parts.some(({ lock }) => lock.has(id)) ? 'restored' : null
}

/** Why the run as a whole had stopped, where that does not show in the instances. */
function stopOf({ exit }: MergedParts): ModelgateError | undefined {
  if (exit !== 'limit') return undefined
  return new ModelgateError('limit', 'budget_reached', 'A part has reached the budget of the run.', {
    phase: 'result',
    billed: 'no',
  })
}
