import { existsSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { RunCleanDocument } from '../../events/run-document.ts'
import { cannotWrite } from '../../files/file-error.ts'
import { readJournals, readLines, type JournalEvent } from '../journal/journal.ts'
import { writeLock } from '../lock/lock-block.ts'
import { isOfWaiting } from '../manifest/manifest.ts'
import { planRun, type Plan } from '../plan/plan-run.ts'
import type { Assessment } from '../plan/project-state.ts'
import type { ManifestCall } from '../run/project.ts'
import { namesIn } from '../project.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { isInOutputFolder } from '../store/place-output.ts'
import { projectDocument, type ChangeScope } from './change-project.ts'

type Garbage = RunCleanDocument['items'][number]

interface CleanOptions {
  readonly isRemoving: boolean
  readonly outputs: boolean
}

/** `run clean`: lists or removes what is not needed. @throws as `clean` does, and what reading the project throws */
export async function cleanProject(call: ManifestCall, options: CleanOptions): Promise<RunCleanDocument> {
  return await projectDocument(call, 'run clean', options.isRemoving, (scope) => clean(scope, options))
}

/**
 * Finds what neither the lock nor a later run needs, and removes it. What was paid for and can still become an output
 * stays: candidates to pick from, rejected results, and all that a request of unknown outcome has left. Outputs only go
 * if their bytes are as they were locked.
 * @throws FileError
 */
export async function clean(scope: ChangeScope, { isRemoving, outputs }: CleanOptions) {
  const { context, project } = scope
  const plan = await planRun(project, new Set(project.manifest.instances.keys()), context)
  const warnings: string[] = []
  const needs = needsOf(scope, plan)
  const garbage = [
    ...(outputs ? await orphanOutputs(scope, plan, warnings) : []),
    ...(await unneededResults(scope, needs)),
    ...(await unneededBlobs(scope)),
    ...(await endedJournals(scope, needs)),
  ]
  if (isRemoving) {
    for (const { kind, path } of garbage) {
      context.signal.throwIfAborted()
      const isOurs = kind === 'result' || kind === 'replaced'
      await rm(path, { recursive: isOurs, force: true }).catch(cannotWrite(path))
    }
    if (outputs) await forgetOrphans(scope, plan)
  }
  const { outputFolder } = project.manifest.project
  const items = garbage.map((item) => ({
    ...item,
    path: relative(outputFolder, item.path).replaceAll('\\', '/'),
  }))
  return { removed: isRemoving, items, bytes: items.reduce((sum, { bytes }) => sum + bytes, 0), warnings }
}

type Needs = ReturnType<typeof needsOf>

function needsOf({ project }: ChangeScope, { assessments }: Plan) {
  const keys = new Set<string>()
  const unknown = new Set<string>()
  for (const { instance, state, keys: own } of assessments.values()) {
    // What is settled needs no other results: its output is locked, and is there.
    if (state === 'fresh') continue
    if (own.length === 0) unknown.add(instance.id)
    for (const key of own) keys.add(key)
  }
  for (const { references } of project.manifest.instances.values()) {
    for (const { instance, candidate } of references) {
      if (candidate === null) continue
      const key = assessments.get(instance)?.keys[candidate - 1]
      if (key === undefined) unknown.add(instance)
      else keys.add(key)
    }
  }
  return {
    isKeyNeeded: (key: string) => keys.has(key) || project.history.isOpen(key),
    /** Whether it is an instance whose keys are not known. */
    isUnknown: (instance: string) => unknown.has(instance) || isOfWaiting(project.manifest, instance),
  }
}

/** Results that neither the lock nor a later run needs; a folder in which none is whole, when its request has ended. */
async function unneededResults({ project }: ChangeScope, needs: Needs): Promise<Garbage[]> {
  const { history, results } = project
  const garbage: Garbage[] = []
  for (const key of await results.keys()) {
    if (project.lockedByKey.has(key) || needs.isKeyNeeded(key)) continue
    const known = history.results.get(key) ?? history.failures.get(key) ?? (await results.get(key))
    if (known !== undefined && needs.isUnknown(known.instance)) continue
    const path = results.folder(key)
    garbage.push({ kind: 'result', path, instance: known?.instance ?? null, bytes: await sizeOf(path) })
  }
  return garbage
}

async function sizeOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => undefined)
  if (!found?.isDirectory()) return found?.size ?? 0
  let bytes = 0
  for (const name of await namesIn(path)) bytes += await sizeOf(join(path, name))
  return bytes
}

async function unneededBlobs({ project }: ChangeScope): Promise<Garbage[]> {
  const blobs = (await project.replaced.list()).filter(({ sha256 }) => !project.lockedByDigest.has(sha256))
  return blobs.map(({ path, bytes }) => ({ kind: 'replaced', path, instance: null, bytes }))
}

/** The oldest journals, up to the first that is still needed: a later one may take back what is in an earlier one. */
async function endedJournals({ project }: ChangeScope, needs: Needs): Promise<Garbage[]> {
  const { project: places } = project.manifest
  const garbage: Garbage[] = []
  const isNeeded = (event: JournalEvent | undefined) =>
    // What cannot be read may be anything.
    event === undefined ||
    ('key' in event && needs.isKeyNeeded(event.key)) ||
    ('instance' in event && needs.isUnknown(event.instance))
  for await (const { run, path, bytes } of readJournals(places)) {
    const events = [...readLines(bytes)]
    const [first] = events
    if (first?.type === 'begin' && first.manifest !== basename(places.manifestPath)) continue
    const isWhole = first?.type === 'begin' && events.at(-1)?.type === 'end'
    if (!isWhole || project.history.unfinished?.run === run || events.some(isNeeded)) break
    garbage.push({ kind: 'journal', path, instance: null, bytes: bytes.length })
  }
  return garbage
}

async function orphanOutputs({ project }: ChangeScope, plan: Plan, warnings: string[]): Promise<Garbage[]> {
  const { project: places } = project.manifest
  const waiting = [...plan.assessments.values()].find(isNameless)
  if (plan.orphans.length > 0 && waiting !== undefined) {
    const why = `${waiting.instance.id} had another name: ${waiting.reasons.join(' ')}`
    warnings.push(`Outputs are kept until it is known whether ${why}`)
    return []
  }
  const garbage: Garbage[] = []
  for (const id of plan.orphans) {
    for (const { path, sha256, media_type, bytes } of project.lock.get(id)!.outputs) {
      if (project.isOutput(path)) continue
      const file = join(places.outputFolder, path)
      const found = await digestOfFile(file, isTextType(media_type)).catch(() => null)
      if (found === undefined) continue
      if (found?.sha256 !== sha256) warnings.push(`${path} of ${id} is kept: it differs from the lock.`)
      else if (!isInOutputFolder(places, path)) {
        warnings.push(`${path} of ${id} is kept: a link leads out of the folder to it.`)
      } else garbage.push({ kind: 'output', path: file, instance: id, bytes })
    }
  }
  return garbage
}

/** It may have been called otherwise before: its key is not known, and nothing is locked under its name. */
function isNameless({ key, block }: Assessment): boolean {
  return key === null && block === null
}

/** Takes the blocks out of the lock whose files are gone, or belong to others now. */
async function forgetOrphans({ context, project }: ChangeScope, plan: Plan): Promise<void> {
  if ([...plan.assessments.values()].some(isNameless)) return
  const { project: places } = project.manifest
  const lock = new Map(project.lock)
  for (const id of plan.orphans) {
    const own = lock.get(id)!.outputs.filter(({ path }) => !project.isOutput(path))
    if (!own.some(({ path }) => existsSync(join(places.outputFolder, path)))) lock.delete(id)
  }
  await writeLock(context, places, lock)
}
