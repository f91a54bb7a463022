import { writeFileSync } from 'node:fs'
import { readdir, rm, rmdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { amountFrom, amountText } from '../../cost/amount.ts'
import { ModelgateError } from '../../errors.ts'
import { readInputFile } from '../../files/input-file.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { parseJson } from '../../files/parse-json.ts'
import { listOf, objectOf, stringOf } from '../../json.ts'
import type { Redactor } from '../../operations/operation.ts'
import { resultOf } from '../lock/block-shape.ts'
import { unknownProvenance, type OutputFacts } from '../lock/lock-block.ts'
import { mediaFacts, textFacts } from './result-facts.ts'
import type { Task, TaskResult } from './task.ts'

/** The record of a whole result, beside its files: what the files themselves do not tell. */
export const recordName = 'result.json'

/**
 * Writes the record of a result, which comes last: with it the result can be taken over by a later process. Best effort:
 * never throws. A power failure may leave half of it, which counts as none.
 */
export function writeRecord(
  { folder, key }: Pick<Task, 'folder' | 'key'>,
  { result, cost, warnings }: TaskResult,
  redactor: Redactor,
): void {
  const known = cost === null ? null : { amount: amountText(cost.amount), currency: cost.currency }
  const record = { key, result, cost: known, warnings }
  try {
    const json = redactor.document(`${JSON.stringify(record, null, 2)}\n`)
    writeFileSync(join(folder, recordName), json, { mode: 0o600 })
  } catch {
    // The result is there, and the next step knows it.
  }
}

/** Removes the folder of a task whose result is safe. Best effort: never throws. */
export async function removeTaskFolder(folder: string, { files }: Pick<TaskResult, 'files'>): Promise<void> {
  const usual = [...files, join(folder, recordName)]
  await Promise.all(usual.map((path) => unlink(path).catch(() => {})))
  // What else there is goes with it. Node removes trees on the main thread, so this is not for every task.
  await rmdir(folder).catch(() => rm(folder, { recursive: true, force: true }).catch(() => {}))
}

/**
 * The result that an earlier process has left in the folder of a task, if all that the request asked for is there and
 * whole. An image or a video has its final name only when it is; so it counts without the record, too, which a killed
 * process may not have come to write. Then it is not known how the result came about.
 * @param rescued names of files that are whole by the digest of their rescue
 * @returns undefined where anything is missing, damaged or of another request
 */
export async function recoverResult(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescued: readonly string[] = [],
): Promise<TaskResult | undefined> {
  const { instance, folder } = task
  const inFolder = { ...context, cwd: folder }
  const record = await readRecord(inFolder, task)
  const found = await finalNames(task)
  const names = record?.result.outputs.map(({ path }) => path) ?? (found.length > 0 ? found : rescued)
  try {
    const outputs: OutputFacts[] = []
    for (const [at, name] of names.entries()) {
      const facts = await factsOf(inFolder, instance, name)
      const isWhole =
        record === undefined
          ? rescued.includes(name) || (await isVerified(inFolder, instance, name))
          : facts?.sha256 === record.result.outputs[at]!.sha256
      if (facts === undefined || !isWhole) return undefined
      outputs.push(facts)
    }
    if (outputs.length < instance.count) return undefined
    return {
      result: { ...(record?.result ?? unknownProvenance), outputs },
      files: names.map((name) => join(folder, name)),
      cost: record?.cost ?? null,
      warnings: record?.warnings ?? [],
    }
  } catch (error) {
    context.signal.throwIfAborted()
    if (error instanceof ModelgateError) return undefined
    throw error
  }
}

async function factsOf(
  context: FileContext,
  instance: Task['instance'],
  name: string,
): Promise<OutputFacts | undefined> {
  if (instance.lane !== 'text') return mediaFacts(context, name)
  const content = await readInputFile(context, name)
  return content instanceof ModelgateError ? undefined : textFacts(instance, content)
}

type TaskRecord = Pick<TaskResult, 'result' | 'cost' | 'warnings'>

/** Undefined where there is none, or none of this request: a power failure may have left half of it. */
async function readRecord(
  context: FileContext,
  { instance, key }: Pick<Task, 'instance' | 'key'>,
): Promise<TaskRecord | undefined> {
  const content = await readInputFile(context, recordName)
  if (content instanceof ModelgateError) return undefined
  const { value } = parseJson(content.toString('utf8'))
  const { key: own, result, cost, warnings } = objectOf(value)
  if (own !== key) return undefined
  let isValid = true
  const known = resultOf(result, () => (isValid = false))
  const isPlain = known?.outputs.every(({ path }) => /^\d+\.\w+$/.test(path))
  if (known === undefined || !isValid || !isPlain || known.outputs.length !== instance.count) return undefined
  const amount = amountFrom(stringOf(objectOf(cost)['amount']) ?? '')
  const currency = stringOf(objectOf(cost)['currency'])
  return {
    result: known,
    cost: amount === undefined || currency === undefined ? null : { amount, currency },
    warnings: listOf(warnings).flatMap((warning) => stringOf(warning) ?? []),
  }
}

/** The images or videos of a result by their names alone; fewer where one is missing, or there are two of a number. */
async function finalNames({
  instance,
  folder,
}: Pick<Task, 'instance' | 'folder'>): Promise<readonly string[]> {
  // Nothing else tells whether a text is whole.
  if (instance.lane === 'text') return []
  const all = await readdir(folder).catch((): string[] => [])
  const numbers = Array.from({ length: instance.count }, (_, at) => at + 1)
  const found = numbers.map((number) => all.filter((name) => new RegExp(`^${number}\\.\\w+$`).test(name)))
  return found.flatMap(([name, ...others]) => (name === undefined || others.length > 0 ? [] : [name]))
}

/** Whether the container of a file shows that it is whole. */
async function isVerified(context: FileContext, { lane }: Task['instance'], name: string): Promise<boolean> {
  const { mediaType, integrity } = await inspectAnyFile(context, name)
  return mediaType?.startsWith(`${lane}/`) === true && integrity.state === 'whole'
}
