import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { amountFrom, amountText, type Money } from '../../cost/amount.ts'
import { cannotWrite, writing } from '../../files/file-error.ts'
import { parseJson } from '../../files/parse-json.ts'
import { makeFolder, syncFolder } from '../../files/write-target.ts'
import { countOf, listOf, objectOf, stringOf, type JsonObject } from '../../json.ts'
import { digestPattern, readResult, type Result } from '../lock/lock-block.ts'
import { makeStateFolder, namesIn, readStateFile, type Project } from '../project.ts'
import type { Replaced } from './blob-store.ts'
import { copyVerified, digestOfStateFile, isTextType, syncFile, unlessUnreadable } from './file-digest.ts'

/** Its files are in the folder of its key; the paths of its outputs are their names there. */
export interface TaskResult {
  readonly result: Result
  readonly cost: Money | null
  readonly warnings: readonly string[]
  /** What an answer says besides the pictures that were wanted of it. */
  readonly text?: string | undefined
}

/** As `result.json` has it. */
export interface ResultRecord extends TaskResult {
  readonly key: string
  readonly instance: string
  readonly variant: number
}

/** A result that is there, and whole. The paths of its outputs are where they lie. */
export interface StoredResult extends ResultRecord {
  readonly files: readonly string[]
}

export const recordName = 'result.json'
/** What an earlier attempt has left is moved into such a folder. */
export const asideName = 'earlier-'
const maxRecordBytes = 1024 * 1024

/**
 * Results in `.modelgate/results/KEY/`: their files and one record, from the last byte on. What does not hash to what
 * the record says counts as absent.
 */
export class Results {
  readonly #project: Project
  readonly #replaced: Replaced
  readonly #root: string
  readonly #whole: Results | undefined
  #isMade = false

  /** Nothing is made before something is kept. @param whole of a shard, the results of its project, as a second place */
  constructor(project: Project, replaced: Replaced, whole?: Results) {
    this.#project = project
    this.#replaced = replaced
    this.#root = join(project.stateFolder, 'results')
    this.#whole = whole
  }

  folder(key: string): string {
    return join(this.#root, key)
  }

  async get(key: string): Promise<StoredResult | undefined> {
    return (await this.#own(key)) ?? (await this.#whole?.get(key))
  }

  async #own(key: string): Promise<StoredResult | undefined> {
    if (!digestPattern.test(key)) return undefined
    const folder = this.folder(key)
    const record = await readRecord(folder)
    if (record?.key !== key) return undefined
    const files: string[] = []
    for (const { path, sha256, media_type } of record.result.outputs) {
      const file = join(folder, path)
      const found = await digestOfStateFile(file, isTextType(media_type))
      if (found?.sha256 !== sha256) return undefined
      files.push(file)
    }
    return { ...record, result: this.located(key, record.result), files }
  }

  located(key: string, result: Result): Result {
    const place = relative(this.#project.outputFolder, this.folder(key)).replaceAll(sep, '/')
    const outputs = result.outputs.map((output) => ({ ...output, path: `${place}/${output.path}` }))
    return { ...result, outputs }
  }

  async keys(): Promise<readonly string[]> {
    return (await namesIn(this.#root)).filter((name) => digestPattern.test(name)).sort()
  }

  /** Puts a result into the folder of its key, and on the disk. What an earlier attempt has left there is removed. */
  async keep(record: ResultRecord): Promise<void> {
    const folder = this.folder(record.key)
    await writing(folder, async () => {
      if (!this.#isMade) await makeStateFolder(this.#project, 'results')
      this.#isMade = true
      // A process that was killed, or a full disk, may have left half of one.
      if ((await readRecord(folder))?.key !== record.key) writeRecord(folder, record)
      await syncFile(join(folder, recordName))
      await syncFolder(folder)
      await syncFolder(this.#root)
      const left = (await namesIn(folder)).filter((name) => name.startsWith(asideName))
      await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })))
    })
  }

  /** Takes over a result from elsewhere. Another one of its key is put aside. @throws FileError */
  async take({ files, ...record }: StoredResult): Promise<void> {
    const { key, result } = record
    const outputs = result.outputs.map((output) => ({ ...output, path: basename(output.path) }))
    const found = await this.#own(key)
    if (found?.result.outputs.every(({ sha256 }, at) => sha256 === outputs[at]?.sha256)) return
    const folder = this.folder(key)
    await writing(folder, async () => {
      await makeStateFolder(this.#project, 'results')
      await this.putAside(key)
      await rm(folder, { recursive: true, force: true })
      await makeFolder(folder)
      for (const [at, output] of outputs.entries()) {
        const { sha256, media_type } = output
        await copyVerified(files[at]!, join(folder, output.path), { sha256, isText: isTextType(media_type) })
      }
    })
    await this.keep({ ...record, result: { ...result, outputs } })
  }

  /** The result is to be made again. */
  async putAside(key: string): Promise<void> {
    if (!existsSync(join(this.folder(key), recordName))) return
    const found = await this.get(key)
    for (const [at, { media_type }] of (found?.result.outputs ?? []).entries()) {
      await this.#replaced.putAside(found!.files[at]!, isTextType(media_type), found!.instance)
    }
    await this.remove(key)
  }

  async remove(key: string): Promise<void> {
    const folder = this.folder(key)
    await rm(folder, { recursive: true, force: true }).catch(cannotWrite(folder))
  }
}

export function writeRecord(folder: string, record: ResultRecord, hide = (text: string) => text): void {
  const { key, instance, variant } = record
  const json = JSON.stringify({ key, instance, variant, ...partsOf(record) }, null, 2)
  const path = join(folder, recordName)
  // It may be half of one, or a link in a cloned repository.
  rmSync(path, { force: true })
  writeFileSync(path, hide(`${json}\n`), { mode: 0o600, flag: 'wx' })
}

/** Undefined unless it is whole: a power failure may have left half. @throws FileError for what cannot be read now */
export async function readRecord(folder: string): Promise<ResultRecord | undefined> {
  const path = join(folder, recordName)
  const bytes = await readStateFile(path, path, maxRecordBytes).catch(unlessUnreadable)
  if (bytes === undefined) return undefined
  const value = objectOf(parseJson(bytes.toString()).value)
  const { key, instance, variant } = value
  const parts = readParts(value)
  if (parts === undefined || typeof key !== 'string') return undefined
  return { key, instance: stringOf(instance) ?? '', variant: countOf(variant) || 1, ...parts }
}

export function partsOf({ result, cost, warnings, text }: TaskResult) {
  const known = cost === null ? null : { amount: amountText(cost.amount), currency: cost.currency }
  return { result, cost: known, warnings, text }
}

/** Undefined for a result that locks would not take, and for names that lead elsewhere. */
export function readParts({ result, cost, warnings, text }: JsonObject): TaskResult | undefined {
  const known = readResult(result)
  if (known === undefined || !known.outputs.every(({ path }) => /^\d+\.\w+$/.test(path))) return undefined
  const amount = amountFrom(stringOf(objectOf(cost)['amount']) ?? '')
  const currency = stringOf(objectOf(cost)['currency'])
  return {
    result: known,
    cost: amount === undefined || currency === undefined ? null : { amount, currency },
    warnings: listOf(warnings).flatMap((warning) => stringOf(warning) ?? []),
    text: stringOf(text),
  }
}
