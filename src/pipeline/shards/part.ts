import { hash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import * as v from 'valibot'
import { UsageError } from '../../errors.ts'
import { cannotWrite, writing } from '../../files/file-error.ts'
import { parseJson } from '../../files/parse-json.ts'
import { digestPattern, formatLock, parseLock, type Lock } from '../lock/lock-block.ts'
import type { Manifest } from '../manifest/manifest.ts'
import { placeOutputs } from '../manifest/output-paths.ts'
import { selectInstances } from '../plan/plan-run.ts'
import { createProblemList } from '../../problems.ts'
import { firstFew } from '../../quantities.ts'
import { maxStateText, readStateFile, type Project } from '../project.ts'
import { runExits } from '../run-exit.ts'
import type { Shard } from './partition.ts'

/** The form of a part. A program refuses one of a higher number. */
const version = 2
const partName = 'part.json'
const lockName = 'lock.json'

const digest = v.pipe(v.string(), v.regex(digestPattern, 'is not a SHA-256'))
const ordinal = v.pipe(v.number(), v.integer(), v.minValue(1))

const partSchema = v.object({
  version: v.literal(version, 'is that of another version of modelgate'),
  manifest: digest,
  /** SHA-256 of the committed lock, and of what the part has changed of it: `lock.json`. */
  locks: v.object({ before: digest, changed: digest }),
  shard: v.object({ index: ordinal, total: ordinal }),
  jobs: v.array(v.string()),
  instances: v.array(
    v.object({
      id: v.string(),
      /** The run was stopped before its turn. */
      left: v.optional(v.literal(true)),
      /** How it has failed; what is unknown is in its journal. */
      error: v.optional(
        v.object({
          exit: v.picklist(runExits),
          code: v.string(),
          message: v.string(),
          billed: v.picklist(['no', 'maybe', 'yes']),
        }),
      ),
    }),
  ),
})

/** What a part of a run says of itself, when its run has come to its end. */
export type PartReport = Readonly<Omit<v.InferOutput<typeof partSchema>, 'version'>>
export type PartInstance = Readonly<PartReport['instances'][number]>

/** A part that has been read. Its results and journals lie where a run has them. */
export interface Part {
  readonly folder: string
  readonly project: Project
  readonly report: PartReport
  /** The blocks that its run has changed or added. */
  readonly lock: Lock
}

/** The project of a shard, which has results, journals and a lock of its own in `.modelgate/parts/2-of-5/`. */
export function projectOfShard(project: Project, { index, total }: Shard): Project {
  return inPart(project, join(project.stateFolder, 'parts', `${index}-of-${total}`))
}

function inPart(project: Project, stateFolder: string): Project {
  return { ...project, stateFolder, lockPath: join(stateFolder, lockName) }
}

function digestOfLock(lock: Lock): string {
  return hash('sha256', formatLock(lock))
}

/** Writes down how a shard has ended, for `run merge`. @throws FileError */
export async function writePart(
  { stateFolder, lockPath }: Project,
  report: Omit<PartReport, 'locks'>,
  locks: { readonly before: Lock; readonly changed: Lock },
): Promise<void> {
  const path = join(stateFolder, partName)
  const digests = { before: digestOfLock(locks.before), changed: digestOfLock(locks.changed) }
  await writing(path, async () => {
    await writeFile(lockPath, formatLock(locks.changed))
    await writeFile(path, `${JSON.stringify({ version, ...report, locks: digests }, null, 2)}\n`)
  })
}

/** Makes sure that a part is not taken for whole while its run continues. @throws FileError */
export async function reopenPart({ stateFolder }: Project): Promise<void> {
  const path = join(stateFolder, partName)
  await rm(path, { force: true }).catch(cannotWrite(path))
}

/**
 * Reads a part that `writePart` has left.
 * @param folder as it was named; relative to the working directory
 * @param project of the whole
 * @throws UsageError `lock_invalid`, `other_version`; FileError
 */
export async function readPart(cwd: string, folder: string, project: Project): Promise<Part> {
  const own = inPart(project, resolve(cwd, folder))
  const read = async (name: string) =>
    (await readStateFile(join(own.stateFolder, name), join(folder, name), maxStateText))?.toString()
  const text = await read(partName)
  if (text === undefined) {
    if ((await read('report.json')) === undefined)
      throw partDamaged(`${folder} is not a part of a run that has ended: it has no ${partName}.`)
    throw new UsageError(`${folder} was left by an older version of modelgate.`, {
      code: 'other_version',
      hint: 'Merge it with the version that has made it, or run the shard again with this one.',
    })
  }
  const report = parseReport(text, join(folder, partName))
  const lockText = await read(lockName)
  if (lockText === undefined) throw partDamaged(`${folder} has no ${lockName}.`)
  const shown = join(folder, lockName)
  const lock = parseLock(lockText, shown)
  if (digestOfLock(lock) === report.locks.changed) return { folder, project: own, report, lock }
  throw partDamaged(`${shown} is not what it was: its bytes do not have the digest that the part names.`)
}

function parseReport(text: string, file: string): PartReport {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) throw partDamaged(`${file} ${problem}.`)
  const { success, output, issues } = v.safeParse(partSchema, value)
  if (success) return output
  const path = v.getDotPath(issues[0])
  const place = path === null ? '' : `${path}: `
  throw partDamaged(`${file} is not the report of a part: ${place}${issues[0].message}.`)
}

export function partDamaged(message: string): UsageError {
  return new UsageError(message, {
    code: 'lock_invalid',
    hint: 'Fetch the part again from where it was made, or run it again; nothing was written.',
  })
}

/**
 * Unites the locks of the parts of a run, if together they are the run, of one manifest and of one lock. Of a part counts what
 * it has of its own instances, with the paths that the manifest gives them. A block under the former name of an instance goes.
 * @param lock that all parts began with; its blocks that no part has changed are the same in what is returned
 * @throws UsageError `lock_invalid`, with everything that does not fit, by the folder of the part
 */
export function uniteLocks(parts: readonly Part[], manifest: Manifest, lock: Lock, now: number): Lock {
  const problems = createProblemList()
  const refuse: Refuse = (message, hint) =>
    problems.add(new UsageError(message, { code: 'lock_invalid', hint }))
  const before = digestOfLock(lock)
  for (const { folder, report } of parts) {
    if (report.manifest !== manifest.sha256) {
      const hint = 'Check out what the parts were made from.'
      refuse(`${folder} was made from another manifest, or from another version of it.`, hint)
    }
    if (report.locks.before !== before) {
      const hint = 'Check out the lock that the parts began with; after a merge they are part of it already.'
      refuse(`${folder} began with another lock than the one that is here.`, hint)
    }
  }
  problems.throwIfAny()
  checkInstances(parts, manifest, refuse)
  problems.throwIfAny()
  const united = new Map(lock)
  for (const { report, lock: own } of parts) {
    for (const { id } of report.instances) {
      const [instance, block] = [manifest.instances.get(id), own.get(id)]
      if (instance === undefined || block === undefined) continue
      for (const [former, { key }] of lock) {
        if (key === block.key && !manifest.instances.has(former)) united.delete(former)
      }
      united.set(id, { ...block, outputs: placeOutputs(instance, block, now) })
    }
  }
  return united
}

type Refuse = (message: string, hint?: string) => void

/** That each instance is in one part, which came to its end. */
function checkInstances(parts: readonly Part[], manifest: Manifest, refuse: Refuse): void {
  const { shard, jobs } = parts[0]!.report
  const folders = new Map<string, string>()
  for (const { folder, report: own } of parts) {
    const shared = own.instances.filter(({ id }) => folders.has(id)).map(({ id }) => id)
    const left = own.instances.filter((one) => one.left).map(({ id }) => id)
    if (shared.length > 0)
      refuse(`${folder} has ${listed(shared)}, which ${folders.get(shared[0]!)} has as well.`)
    if (left.length > 0) {
      const hint = `Resume it where it ran, with --shard ${own.shard.index}/${own.shard.total}, then merge.`
      refuse(`${folder} was stopped early: ${listed(left)} did not run.`, hint)
    }
    for (const { id } of own.instances) folders.set(id, folder)
  }
  const missing = [...selectInstances(manifest, jobs)].filter((id) => !folders.has(id))
  if (missing.length === 0) return
  const numbers = new Set(parts.map(({ report: { shard } }) => shard.index))
  const absent = Array.from({ length: shard.total }, (_, at) => at + 1).filter((index) => !numbers.has(index))
  const names = listed(absent.map((index) => `${index}/${shard.total}`))
  const shards = absent.length === 0 ? '' : `; not given: ${names}`
  refuse(`No part has ${listed(missing)}${shards}.`, 'Name the folders of all shards.')
}

const listed = (names: readonly string[]) => firstFew(names, 5)
