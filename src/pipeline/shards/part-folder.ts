import { hash } from 'node:crypto'
import { copyFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FileContext } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder, renameFile } from '../../files/write-target.ts'
import type { Lock } from '../lock/lock-block.ts'
import { formatLock, parseLock } from '../lock/lock-text.ts'
import type { BlobStore } from '../store/blob-store.ts'
import { projectOf, type Project } from '../project.ts'
import { openCandidates, type StoredCandidate } from '../store/candidate-store.ts'
import { digestOfBytes } from '../store/file-digest.ts'
import { makeStateFolder, maxStateText, readStateFile } from '../state-folder.ts'
import { formatPartReport, parsePartReport, partDamaged, type PartReport } from './part-report.ts'
import type { Shard } from './partition.ts'

export interface PartContent extends Pick<PartReport, 'manifest' | 'shard' | 'jobs' | 'exit' | 'instances'> {
  /** The committed lock, and the same as the run of the shard has left it. */
  readonly locks: { readonly before: Lock; readonly after: Lock }
  /** The absolute path of its journal; null where there is none. */
  readonly journal: string | null
  /** The candidates and the rejected results of its instances. */
  readonly candidates: readonly StoredCandidate[]
}

/** A part that has been read: all of its files are there, and are what they were. */
export interface Part {
  /** As it was named. */
  readonly folder: string
  /** The same, absolute. */
  readonly path: string
  readonly report: PartReport
  readonly lock: Lock
  readonly candidates: readonly StoredCandidate[]
}

const reportName = 'report.json'
const lockName = 'lock.json'
export const journalName = 'journal.jsonl'

/** The absolute path of the folder in which a shard leaves its part. */
export function partFolderOf({ stateFolder }: Pick<Project, 'stateFolder'>, { index, total }: Shard): string {
  return join(stateFolder, 'parts', `${index}-of-${total}`)
}

/**
 * Writes the part of a shard, in place of an earlier one.
 * @param store has the outputs of all blocks that the run has changed
 * @returns the absolute path of its folder, which is there as a whole or not at all
 * @throws FileError
 */
export async function writePart(
  context: FileContext,
  project: Project,
  store: Pick<BlobStore, 'open'>,
  content: PartContent,
): Promise<string> {
  const { manifest, shard, jobs, exit, instances, locks, journal, candidates } = content
  const folder = partFolderOf(project, shard)
  const { before, after } = locks
  // An unfinished run of another shard on this machine may have changed other blocks.
  const changed = new Map(
    instances.flatMap(({ id }) => {
      const block = after.get(id)
      return block === undefined || isDeepStrictEqual(block, before.get(id)) ? [] : [[id, block] as const]
    }),
  )
  const removed = [...before.keys()].filter((id) => !after.has(id))
  const unfinished = `${folder}.new`
  const files: Record<string, string> = {}
  const add = async (name: string, write: (path: string) => Promise<void>) => {
    const path = join(unfinished, name)
    await makeFolder(dirname(path))
    await write(path)
    const digest = await digestOfBytes(path)
    if (digest !== undefined) files[name] = digest.sha256
  }
  try {
    await makeStateFolder(project, 'parts')
    await rm(unfinished, { recursive: true, force: true })
    await add(lockName, (path) => writeFile(path, formatLock(changed)))
    for (const sha256 of outputsOf(changed)) {
      const source = await store.open(sha256)
      if (source === undefined)
        throw new FileError('blob_missing', `The store has no blob ${sha256}, which the lock names.`)
      await add(`blobs/${sha256}`, (path) => copyFile(source, path))
    }
    if (journal !== null) await add(journalName, (path) => copyFile(journal, path))
    const own = openCandidates(context, { ...project, stateFolder: unfinished })
    for (const { files: sources, ...record } of candidates) await own.add(record, sources)
    const keys = candidates.map(({ key }) => key)
    const facts = { manifest, lock: digestOfLock(before), shard, jobs, exit, instances, removed }
    await writeFile(join(unfinished, reportName), formatPartReport({ ...facts, candidates: keys, files }))
    await rm(folder, { recursive: true, force: true })
    await renameFile(context, unfinished, folder)
  } catch (error) {
    throw error instanceof FileError ? error : writeError(error, folder)
  }
  return folder
}

/** A digest of what a lock says, whatever its line breaks. */
export function digestOfLock(lock: Lock): string {
  return hash('sha256', formatLock(lock))
}

/** The digests of all outputs, each once. */
function outputsOf(lock: Lock): ReadonlySet<string> {
  return new Set([...lock.values()].flatMap(({ outputs }) => outputs.map(({ sha256 }) => sha256)))
}

/**
 * Reads a part, and checks the bytes of its files.
 * @param folder as it was named; relative to the working directory
 * @throws UsageError `part_damaged`, `part_newer`, `lock_invalid`, `lock_newer`; FileError
 */
export async function readPart(context: FileContext, folder: string): Promise<Part> {
  const path = resolve(context.cwd, folder)
  const bytes = await readStateFile(join(path, reportName), join(folder, reportName), maxStateText)
  if (bytes === undefined) throw partDamaged(`${folder} is not a part of a run: it has no ${reportName}.`)
  const report = parsePartReport(bytes.toString(), join(folder, reportName))
  const damages: string[] = []
  for (const [name, sha256] of Object.entries(report.files)) {
    const digest = await digestOfBytes(join(path, name))
    const isNamed = !name.startsWith('blobs/') || name.endsWith(sha256)
    if (digest === undefined) damages.push(`${join(folder, name)} is missing, or cannot be read.`)
    else if (digest.sha256 !== sha256 || !isNamed) {
      damages.push(
        `${join(folder, name)} is not what it was: its bytes do not have the digest that the part names.`,
      )
    }
  }
  if (!Object.hasOwn(report.files, lockName)) damages.push(`${folder} has no ${lockName}.`)
  throwDamages(damages)
  const lockBytes = await readStateFile(join(path, lockName), join(folder, lockName), maxStateText)
  const lock = parseLock(lockBytes?.toString() ?? '', join(folder, lockName))
  for (const sha256 of outputsOf(lock)) {
    if (!Object.hasOwn(report.files, `blobs/${sha256}`))
      damages.push(`${folder} has no ${join('blobs', sha256)}, which its lock names.`)
  }
  // A part has its candidates where `.modelgate` has them.
  const store = openCandidates(context, {
    ...projectOf(join(path, 'modelgate.yaml'), false),
    stateFolder: path,
  })
  const candidates: StoredCandidate[] = []
  for (const key of report.candidates) {
    const candidate = await store.get(key)
    if (candidate === undefined)
      damages.push(`${join(folder, 'candidates', key)} is missing, or not what it was.`)
    else candidates.push(candidate)
  }
  throwDamages(damages)
  return { folder, path, report, lock, candidates }
}

const maxDamages = 5

function throwDamages(damages: readonly string[]): void {
  if (damages.length === 0) return
  const more = damages.length - maxDamages
  const lines = damages.slice(0, maxDamages)
  throw partDamaged([...lines, ...(more > 0 ? [`… and ${more} more.`] : [])].join('\n'))
}
