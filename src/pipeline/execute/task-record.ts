import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { ModelgateError } from '../../errors.ts'
import { readInputFile } from '../../files/input-file.ts'
import { inspectAnyFile } from '../../files/inspect-file.ts'
import { unknownProvenance, type OutputFacts } from '../lock/lock-block.ts'
import { readRecord } from '../store/results.ts'
import { mediaFacts, textFacts } from './result-facts.ts'
import type { Task, TaskResult } from './task.ts'

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
  const found = await readRecord(context, folder)
  const isOwn = found?.key === task.key && found.result.outputs.length === instance.count
  const record = isOwn ? found : undefined
  const there = await finalNames(task)
  const names = record?.result.outputs.map(({ path }) => path) ?? (there.length > 0 ? there : rescued)
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
