import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Context, FileContext } from '../../context.ts'
import { UsageError } from '../../errors.ts'
import type { OperationContext } from '../../operations/operation.ts'
import { AssertChecker, type AssertedOutput } from '../execute/check-asserts.ts'
import type { ExecuteCall } from '../execute/task.ts'
import { readHistory, runsFolder } from '../journal/journal.ts'
import { takeOwnership, type Ownership } from '../journal/owner.ts'
import { readLock, writeLock, type Lock, type LockBlock } from '../lock/lock-block.ts'
import { maxTextBytes, readText } from '../manifest/input-files.ts'
import type { Instance, Manifest } from '../manifest/manifest.ts'
import { findManifest, readManifest } from '../manifest/read-manifest.ts'
import { planRun, withNeeds } from '../plan/plan-run.ts'
import { ProjectState, type ProjectParts } from '../plan/project-state.ts'
import { filesOf, holdOf, upstreamOf } from '../plan/result-files.ts'
import { checkStateVersion, foldersOfFirstVersion, namesIn, type Project } from '../project.ts'
import { projectOfShard } from '../shards/part.ts'
import type { Shard } from '../shards/partition.ts'
import { createInputDigests } from '../store/file-digest.ts'
import { Replaced } from '../store/blob-store.ts'
import { Results } from '../store/results.ts'

export interface ManifestCall extends Pick<
  ExecuteCall,
  'redactor' | 'prices' | 'families' | 'profile' | 'pollIntervalS' | 'rescueFolder'
> {
  readonly context: OperationContext & Pick<Context, 'processes'>
  readonly env: Readonly<Record<string, string | undefined>>
  /** As the user named it; undefined for the nearest one upwards. */
  readonly file: string | undefined
  readonly isSandbox: boolean
  /** `next('pick', 'hero', '2')` is the command `modelgate run pick hero 2` for the same manifest. */
  next(...words: string[]): readonly string[]
  /** `--generate` in CI. */
  readonly generating: readonly string[]
}

export class OpenProject extends ProjectState {
  /** As it was given; else from the working directory. */
  declare readonly shownManifest: string
  /** The manifest without the elements of its fan-outs. */
  declare readonly written: Manifest
  declare readonly committed: Lock
  /** For its own files: after a signal, too, what has arrived is stored, placed and locked. */
  declare readonly files: FileContext
  /** Aborted when another process has taken the manifest over. */
  declare readonly lost: AbortSignal | undefined
  declare readonly close: () => Promise<void>

  static of(parts: OpenParts): OpenProject {
    return new OpenProject(parts)
  }

  /** The same project with another lock, or with what the user forces. */
  with(changes: Partial<ProjectParts>): OpenProject {
    return new OpenProject({ ...this, ...changes })
  }
}

type OpenParts = ProjectParts &
  Pick<OpenProject, 'shownManifest' | 'written' | 'committed' | 'files' | 'lost' | 'close'>

/**
 * Reads a manifest, its lock and journals, and the elements of its fan-outs as far as their texts are there.
 * @param isOwned whether something is going to be changed: then no other process may do so
 * @param shard has a lock, results and journals of its own
 * @throws UsageError with every mistake of the manifest, for its lock, and while another process runs it; FileError
 */
export async function openProject(call: ManifestCall, isOwned: boolean, shard: Shard | null = null) {
  const { context, file } = call
  const path = await findManifest(context, file)
  const read = await readManifest(context, path, call)
  const { project: whole } = read
  const project = shard === null ? whole : projectOfShard(whole, shard)
  const manifest = { ...read, project }
  await checkStateVersion(whole)
  if (foldersOfFirstVersion(whole).some((folder) => existsSync(folder))) {
    await (await import('./take-over.ts')).takeOverState(context, whole, isOwned)
  }
  // Before lock and journals are read: what another process writes into them is known then.
  const ownership: Ownership | undefined = isOwned ? await takeOwnership(project, context) : undefined
  try {
    const lock = await readLock(context, whole)
    const history = await readHistory(project, shard === null ? undefined : whole)
    const files = { ...context, signal: new AbortController().signal }
    const replaced = new Replaced(files, whole)
    const resultsOfWhole = new Results(whole, replaced)
    const results = shard === null ? resultsOfWhole : new Results(project, replaced, resultsOfWhole)
    const asserts = new AssertChecker(files)
    const opened = OpenProject.of({
      manifest,
      written: manifest,
      shownManifest: file ?? relative(context.cwd, path),
      committed: lock,
      lock,
      history,
      files,
      results,
      replaced,
      async checkAsserts(instance, outputs, duplicateOf) {
        const reasons = await asserts.check(instance, outputs, duplicateOf)
        return [...reasons, ...(await elementProblems(files, manifest, instance, outputs))]
      },
      inputDigest: createInputDigests(project.folder),
      forced: { regenerate: new Set(), force: false },
      isSentAgain: false,
      inQueue: new Set(),
      queue: null,
      now: context.clock.now(),
      lost: ownership?.lost,
      async close() {
        asserts.close()
        const isOwner = ownership?.lost.aborted === false
        if (isOwner && ownership.followsDeath) await removeIncomplete(context, project).catch(() => {})
        await ownership?.release()
      },
    })
    return opened.with({ manifest: await withElements(opened) })
  } catch (error) {
    await ownership?.release()
    throw error
  }
}

/** With the elements of fan-outs whose texts are locked, or made and not rejected, and fit together with the others. */
export async function withElements(project: OpenProject): Promise<Manifest> {
  const { written, manifest } = project
  if (written.fanOuts.length === 0) return manifest
  const places = { project: manifest.project }
  const fitting = new Map<string, string>()
  let expanded = written
  for (const [id, text] of await knownTexts(project.with({ manifest: { ...written, ...places } }))) {
    const together = await written.expand(new Map([...fitting, [id, text]])).catch(mistakesIn)
    if (Array.isArray(together)) continue
    expanded = together
    fitting.set(id, text)
  }
  return { ...expanded, ...places }
}

async function knownTexts(project: OpenProject): Promise<Map<string, string>> {
  const { manifest, files } = project
  const texts = new Map<string, string>()
  const sources = new Map(manifest.fanOuts.map(({ source }) => [source.instance, source]))
  const needed = withNeeds(manifest, sources.keys())
  const { assessments } = await planRun(project, needed, files)
  for (const [id, source] of sources) {
    const upstream = await upstreamOf(source, assessments, project)
    if ((await holdOf(upstream, project)) !== null) continue
    const [path] = (await filesOf(upstream, project))?.files ?? []
    const found = path && (await readText(files, path, source.text, maxTextBytes))
    if (found && found.problem === undefined) texts.set(id, found.value)
  }
  return texts
}

/** Why a text cannot be what a fan-out is made of. A model wrote it, so it is the text that is wrong. */
async function elementProblems(
  context: FileContext,
  written: Manifest,
  { id }: Instance,
  outputs: readonly AssertedOutput[],
): Promise<readonly string[]> {
  const source = written.fanOuts.find((fanOut) => fanOut.source.instance === id)?.source
  if (source === undefined) return []
  const found = await readText(context, outputs[0]!.path, source.text, maxTextBytes)
  if (found.problem !== undefined) return [found.problem]
  const expanded = await written.expand(new Map([[id, found.value]])).catch(mistakesIn)
  return Array.isArray(expanded) ? expanded : []
}

function mistakesIn(error: unknown): string[] {
  if (!(error instanceof UsageError)) throw error
  return (error.facts.problems ?? [error]).map(({ message }) => message)
}

/** The journal has each result anyway; the lock is written now and then for those who look at it during a long run. */
const checkpointMs = 10_000

export type LockKeeper = ReturnType<typeof keepLock>

/** The lock of a run, while results come. @param isKept false for a shard, which leaves the committed lock alone */
export function keepLock(context: FileContext, project: Project, initial: Lock, isKept: boolean) {
  const { clock } = context
  const lock = new Map(initial)
  let isDirty = false
  let writtenAt = clock.monotonic()
  let writing: Promise<void> = Promise.resolve()
  const save = (): Promise<void> => {
    if (!isDirty || !isKept) return writing
    isDirty = false
    writtenAt = clock.monotonic()
    const now = new Map(lock)
    writing = writing.catch(() => {}).then(() => writeLock(context, project, now))
    return writing
  }
  return {
    lock: lock as Lock,
    /** @param before the name under which the block stood until now */
    set(id: string, block: LockBlock, before = id): void {
      lock.delete(before)
      lock.set(id, block)
      isDirty = true
      // A failure to write shows at the end, when it is tried again.
      if (clock.monotonic() - writtenAt >= checkpointMs) void save().catch(() => void (isDirty = true))
    },
    save,
  }
}

const temporaryName = /^\.(.+)\.[0-9a-f]{16}\.mgpart$/

/** Removes what a process that died did not get to complete; not while another manifest of the folder is being run. */
async function removeIncomplete(context: FileContext, project: Project): Promise<void> {
  const { stateFolder, outputFolder, lockPath } = project
  const owners = (await namesIn(runsFolder(project))).filter((name) => name.endsWith('.owner'))
  if (owners.length > 1) return
  const results = join(stateFolder, 'results')
  const keys = await namesIn(results)
  const own = new Set([join(stateFolder, 'replaced'), ...keys.map((key) => join(results, key))])
  const lock = await readLock(context, project)
  const outputs = [...lock.values()].flatMap((block) => block.outputs.map(({ path }) => path))
  const shared = new Set([lockPath, ...outputs.map((path) => join(outputFolder, path))])
  for (const folder of new Set([...own, ...[...shared].map((path) => dirname(path))])) {
    for (const name of await namesIn(folder)) {
      const whole = temporaryName.exec(name)?.[1]
      const isLeft = whole !== undefined && (own.has(folder) || shared.has(join(folder, whole)))
      if (isLeft) await rm(join(folder, name), { recursive: true, force: true })
    }
  }
}
