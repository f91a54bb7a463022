import { lstat, rm } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FileContext, FileHost } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { shownPath, systemCode, writeError } from '../../files/file-error.ts'
import { cutBytes } from '../../files/file-name.ts'
import { readInputFile } from '../../files/input-file.ts'
import { openAtomicFile } from '../../files/open-atomic-file.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder, renameFile, syncFolder } from '../../files/write-target.ts'
import { countOf, isObject } from '../../json.ts'
import { resultOf } from '../lock/block-shape.ts'
import { digestPattern, type OutputFacts, type Result } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { digestOfBytes, isTextType } from './file-digest.ts'
import { copyWhole } from './safe-copy.ts'
import { makeStateFolder, namesIn } from '../state-folder.ts'

/** A result that waits for a choice, or that did not hold its asserts. */
export interface CandidateRecord {
  /** The id of the instance that it was made for. */
  readonly instance: string
  readonly key: string
  /** From 1. */
  readonly variant: number
  readonly state: 'candidate' | 'rejected'
  /** The asserts that failed, each a sentence. */
  readonly reasons: readonly string[]
  readonly result: Result
}

export interface StoredCandidate extends CandidateRecord {
  /** Absolute paths, in the order of the outputs of the result. */
  readonly files: readonly string[]
}

/**
 * Results in `.modelgate/candidates/KEY/`: a record, and the files. They have been paid for and are nowhere else, so
 * nothing is removed but by `remove`. A result whose record or whose files are not what was written counts as absent.
 */
export interface CandidateStore {
  /**
   * Keeps a result; one of the same key that is another one is put aside.
   * @param files absolute paths, in the order of the outputs; they are copied, and on the disk when this returns
   * @throws FileError, also when a file has not the digest of its output
   */
  add(record: CandidateRecord, files: readonly string[]): Promise<StoredCandidate>
  get(key: string): Promise<StoredCandidate | undefined>
  /** All that are whole, sorted by their keys. @throws FileError */
  list(): Promise<readonly StoredCandidate[]>
  /** Removes a result, with those of its key that were put aside. @throws FileError */
  remove(key: string): Promise<void>
}

const recordName = 'record.json'
const recordVersion = 1
const maxRecordBytes = 1024 * 1024

/** Opens the candidates of a project. Nothing is made before something is added. */
export function openCandidates(context: FileContext, project: Project): CandidateStore {
  const root = join(project.stateFolder, 'candidates')

  async function get(key: string): Promise<StoredCandidate | undefined> {
    if (!digestPattern.test(key)) return undefined
    const folder = join(root, key)
    const record = await readRecord(context, join(folder, recordName))
    if (record?.key !== key) return undefined
    const { outputs } = record.result
    const files = outputs.map((output, at) => join(folder, fileName(output, at)))
    for (const [at, output] of outputs.entries()) if (!(await isWhole(files[at]!, output))) return undefined
    return { ...record, files }
  }

  return {
    get,
    async add(record, files) {
      const { key, result } = record
      const found = await get(key)
      if (found !== undefined && isSame(found, record)) return found
      const folder = join(root, key)
      try {
        await makeStateFolder(project, 'candidates')
        await putAside(context, root, key)
        await makeFolder(folder)
        const names = result.outputs.map(fileName)
        for (const [at, output] of result.outputs.entries()) {
          const path = join(folder, names[at]!)
          // What a killed process left: without a record it is nothing.
          await rm(path, { recursive: true, force: true })
          await copyWhole(files[at]!, path)
          if (!(await isWhole(path, output))) throw notWhole(files[at]!)
        }
        const file = await openAtomicFile(context, join(folder, recordName), { force: true })
        await file.write(`${JSON.stringify({ version: recordVersion, ...record }, null, 2)}\n`)
        await file.commit()
        await syncFolder(root)
        return { ...record, files: names.map((name) => join(folder, name)) }
      } catch (error) {
        throw error instanceof ModelgateError ? error : writeError(error, folder)
      }
    },
    async list() {
      const names = await namesIn(root)
      const found: StoredCandidate[] = []
      for (const name of names.sort()) {
        const candidate = await get(name)
        if (candidate !== undefined) found.push(candidate)
      }
      return found
    },
    async remove(key) {
      if (!digestPattern.test(key)) return
      const names = (await namesIn(root)).filter((name) => name === key || name.startsWith(`${key}.`))
      for (const name of names) {
        await rm(join(root, name), { recursive: true, force: true }).catch((error: unknown) => {
          throw writeError(error, join(root, name))
        })
      }
    },
  }
}

/** `2-hero.webp`: what a person looks for, and never the name of the record. */
function fileName({ path }: OutputFacts, at: number): string {
  const [stem, ending] = [basename(path, extname(path)), extname(path)]
  return `${at + 1}-${cutBytes(stem, 200)}${cutBytes(ending, 40)}`
}

async function isWhole(path: string, { sha256, media_type }: OutputFacts): Promise<boolean> {
  return (await digestOfBytes(path, isTextType(media_type)))?.sha256 === sha256
}

function isSame(found: StoredCandidate, record: CandidateRecord): boolean {
  return isDeepStrictEqual(found, { ...record, files: found.files })
}

/** Gives what is there another name: `KEY.1`, `KEY.2`, … A folder without a record was never whole. */
async function putAside(host: FileHost, root: string, key: string): Promise<void> {
  const path = join(root, key)
  const found = await lstat(path).catch((error: unknown) => {
    if (systemCode(error) !== 'ENOENT') throw error
  })
  if (found === undefined || (found.isDirectory() && !(await namesIn(path)).includes(recordName))) return
  const numbers = (await namesIn(root)).flatMap((name) =>
    name.startsWith(`${key}.`) ? [Number(name.slice(key.length + 1))] : [],
  )
  await renameFile(host, path, `${path}.${Math.max(0, ...numbers.filter(Number.isSafeInteger)) + 1}`)
}

/** The record of a result; undefined unless it is one. */
async function readRecord(context: FileContext, path: string): Promise<CandidateRecord | undefined> {
  const bytes = await readInputFile(context, path, { pipes: false, maxBytes: maxRecordBytes })
  if (bytes instanceof ModelgateError) return undefined
  const { value } = parseJson(bytes.toString())
  if (!isObject(value) || value['version'] !== recordVersion) return undefined
  let isValid = true
  const result = resultOf(value['result'], () => (isValid = false))
  const { instance, key, variant, state, reasons } = value
  if (!isValid || result === undefined) return undefined
  if (typeof instance !== 'string' || typeof key !== 'string' || !countOf(variant)) return undefined
  if (state !== 'candidate' && state !== 'rejected') return undefined
  if (!Array.isArray(reasons) || !reasons.every((reason) => typeof reason === 'string')) return undefined
  return { instance, key, variant: variant as number, state, reasons, result }
}

function notWhole(path: string): FileError {
  return new FileError('damaged_copy', `${shownPath(path)} is not the file that was made; it is not kept.`)
}
