import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance, Reference } from '../manifest/manifest.ts'
import { digestOfFile, isTextType } from '../store/file-digest.ts'
import { placeOutput } from '../store/place-output.ts'
import { placeOutputs, possiblePaths } from '../manifest/output-paths.ts'
import type { Assessment, State, ProjectState } from './project-state.ts'

export type OutputCheck = Awaited<ReturnType<typeof checkOutput>>

/** Compares the files of a result with it, where they belong now and where they lay. */
export async function checkOutputs(instance: Instance, result: Result, project: ProjectState) {
  const checks: OutputCheck[] = []
  for (const [at, facts] of placeOutputs(instance, result, project.now).entries()) {
    checks.push(await checkOutput(facts, result.outputs[at]!.path, project))
  }
  return checks
}

/** @param from where it lay before: where it belongs, unless the output was moved */
async function checkOutput(facts: OutputFacts, from: string, project: ProjectState) {
  const { path, sha256, media_type } = facts
  const isMoved = path !== from
  const isText = isTextType(media_type)
  const found = await digestAt(path, isText, project)
  const before = isMoved ? await digestAt(from, isText, project) : found
  const isOther = found !== undefined && found !== sha256
  // Bytes that the lock knows are those of another output that has got this place.
  const isTaken = isMoved && before !== undefined && project.lockedByDigest.has(before)
  return {
    facts,
    from,
    isInPlace: found === sha256,
    isLeftBehind: isMoved && before === sha256,
    /** The path of a file that should be this output and has other bytes. */
    edited: before !== undefined && before !== sha256 && !isTaken ? from : null,
    /** The path where it belongs, if a file that is not in the lock is there. */
    obstacle: isMoved && isOther && !isLocked(path, found, project) ? path : null,
  }
}

/** The paths where a new result belongs, and where a file is that is neither locked nor this result. */
export async function obstaclesOf(
  instance: Instance,
  outputs: readonly OutputFacts[] | null,
  project: ProjectState,
): Promise<string[]> {
  const obstacles: string[] = []
  const possible = () => possiblePaths(instance, project.now).flat()
  for (const { path, sha256 } of outputs ?? possible().map((path) => ({ path, sha256: null }))) {
    const found = await digestAt(path, instance.lane === 'text', project)
    if (found !== undefined && found !== sha256 && !isLocked(path, found, project)) obstacles.push(path)
  }
  return obstacles
}

/** Whether a file is as the lock has it at this path, for whatever instance: it can be put aside without a question. */
function isLocked(path: string, sha256: string, project: ProjectState): boolean {
  return project.lockedByPath.get(path)?.includes(sha256) ?? false
}

/** Something that is not a file, such as a folder, has a digest that no output has. */
async function digestAt(path: string, isText: boolean, project: ProjectState): Promise<string | undefined> {
  try {
    return (await digestOfFile(join(project.manifest.project.outputFolder, path), isText))?.sha256
  } catch (error) {
    if (error instanceof FileError && error.code === 'not_a_file') return 'no file'
    throw error
  }
}

/**
 * Finds the bytes of a result: under its key, else by their digests among what was put aside, or in files of the lock.
 * @returns absolute paths in the order of the outputs, whose bytes have been checked; undefined unless all are there
 */
export async function findResult(
  key: string,
  { outputs }: Pick<Result, 'outputs'>,
  project: ProjectState,
): Promise<readonly string[] | undefined> {
  const own = await project.results.get(key)
  const files: string[] = []
  for (const facts of outputs) {
    const at = own?.result.outputs.findIndex(({ sha256 }) => sha256 === facts.sha256) ?? -1
    const file = at === -1 ? await findBytes(facts, project) : own!.files[at]!
    if (file === undefined) return undefined
    files.push(file)
  }
  return files
}

async function findBytes(facts: OutputFacts, project: ProjectState): Promise<string | undefined> {
  const { manifest, lock, lockedByDigest, replaced } = project
  const stored = await replaced.open(facts.sha256)
  if (stored !== undefined) return stored
  const ids = lockedByDigest.get(facts.sha256) ?? []
  for (const { path, media_type, sha256 } of [facts, ...ids.flatMap((id) => lock.get(id)?.outputs ?? [])]) {
    const isSame = sha256 === facts.sha256
    if (isSame && (await digestAt(path, isTextType(media_type), project)) === sha256) {
      return join(manifest.project.outputFolder, path)
    }
  }
  return undefined
}

/**
 * Puts outputs in place. What may be replaced, because the lock has it there or by force, is put aside.
 * @param sources absolute paths of their bytes, in their order; undefined where some are gone
 * @param kept digests of files that need not be put aside
 * @throws ModelgateError `output_changed` (exit 13) when another file is there; FileError
 */
export async function placeOutputFiles(
  context: FileContext,
  { manifest: { project }, replaced, lockedByPath, forced }: ProjectState,
  outputs: readonly OutputFacts[],
  sources: readonly string[] | undefined,
  kept: ReadonlySet<string> = new Set(),
): Promise<void> {
  for (const [at, { path, sha256, media_type }] of outputs.entries()) {
    const isText = isTextType(media_type)
    const target = join(project.outputFolder, path)
    const there = (await digestOfFile(target, isText))?.sha256
    if (there === sha256) continue
    // A file that was edited since it was looked at is not replaced.
    const mayReplace = forced.force && there !== undefined ? [there] : (lockedByPath.get(path) ?? [])
    if (there !== undefined && mayReplace.includes(there) && !kept.has(there)) await replaced.putAside(target)
    const source = sources?.[at]
    if (source === undefined) {
      throw new FileError('result_lost', `The bytes of ${shownPath(path)} are gone from .modelgate.`)
    }
    await placeOutput(context, project, { source, sha256, isText, path, mayReplace })
  }
}

export type Assessments = ReadonlyMap<string, Assessment>

export type Upstream = Awaited<ReturnType<typeof upstreamOf>>

/** What a reference stands for while its upstream is as it was assessed. */
export async function upstreamOf(reference: Reference, assessments: Assessments, project: ProjectState) {
  const assessment = assessments.get(reference.instance)!
  return { reference, assessment, found: await resultOf(reference, assessment, project) }
}

/** The files of a reference; undefined while it is not known, or where its bytes are gone. */
export async function filesOf({ found }: Upstream, project: ProjectState) {
  const files = found && (await findResult(found.key, found.result, project))
  return files && { files, jobId: found.result.job_id }
}

/** Why nothing can be made from a reference, as a sentence; null if it can. */
export async function holdOf(upstream: Upstream, project: ProjectState): Promise<string | null> {
  const { reference, assessment, found } = upstream
  if (found === undefined) return whyUnknown(upstream).reason
  if (assessment.state === 'rejected') return `It needs ${reference.text}, which was rejected.`
  const isThere = (await filesOf(upstream, project)) !== undefined
  return isThere ? null : `It needs ${reference.text}, whose bytes are gone.`
}

/** The bytes that are locked, or made, whatever has become of the file; undefined while that is not known. */
async function resultOf(
  { candidate }: Reference,
  { key, keys, block, restore, state }: Assessment,
  project: ProjectState,
): Promise<{ readonly key: string; readonly result: Result } | undefined> {
  // A restored result has the bytes that it had.
  const current = restore?.result ?? (block !== null && block.key === key ? block : undefined)
  const isCurrent = current !== undefined && key !== null && hasResult.has(state)
  if (candidate === null) return isCurrent ? { key, result: current } : undefined
  const wanted = keys[candidate - 1]
  if (wanted === undefined) return undefined
  if (isCurrent && key === wanted) return { key, result: current }
  const result = (await project.results.get(wanted))?.result
  return result && { key: wanted, result }
}

/** In the others the result to use is still to be made, or to be chosen. */
const hasResult: ReadonlySet<State> = new Set([
  'fresh',
  'restorable',
  'adopted',
  'changed',
  'in_the_way',
  'lost',
  'rejected',
])

/** Why it is not known what a reference stands for: it is `pending`, to be made first, or stands still. */
export function whyUnknown({ reference: { text, candidate }, assessment }: Upstream): {
  readonly state: 'pending' | 'blocked'
  readonly reason: string
} {
  const { instance, state, toMake } = assessment
  const hasToBePicked = candidate === null && instance.variants > 1 && instance.pick === null
  const isMade =
    state === 'pending' || toMake.some(({ number }) => candidate === null || number === candidate)
  if (isMade && !hasToBePicked) {
    return { state: 'pending', reason: `It needs ${text}, which is made first.` }
  }
  const isAbsent = candidate !== null && !holdsCandidates.has(state)
  const obstacle = obstacles[isMade ? 'awaiting' : state] ?? 'which does not exist'
  const clause = isAbsent ? 'a candidate that is missing' : obstacle
  return { state: 'blocked', reason: `It needs ${text}, ${clause}.` }
}

/** States that hold up the candidates as well. */
const holdsCandidates: ReadonlySet<State> = new Set(['unknown', 'blocked', 'rejected'])

const obstacles: Readonly<Partial<Record<State, string>>> = {
  lost: 'which is lost',
  stale: 'which is out of date',
  unfetched: 'whose file has not been fetched yet',
  awaiting: 'of which no candidate is picked',
  adopted: 'which was adopted for another request',
  changed: 'which was changed by hand',
  in_the_way: 'in whose place there is another file',
  rejected: 'which was rejected',
  unknown: 'whose outcome is unknown',
  blocked: 'which is blocked itself',
}
