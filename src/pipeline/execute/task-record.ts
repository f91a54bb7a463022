import { hash } from 'node:crypto'
import { copyFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { FileContext } from '../../context.ts'
import { FileError, ModelgateError } from '../../errors.ts'
import { shownPath } from '../../files/file-error.ts'
import { readInputFile } from '../../files/input-file.ts'
import { inspectAnyFile, type FileFacts } from '../../files/inspect-file.ts'
import { makeFolder } from '../../files/write-target.ts'
import { unknownProvenance, type OutputFacts } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { digestOfStateFile, isTextType } from '../store/file-digest.ts'
import { readRecord, type TaskResult } from '../store/results.ts'
import { rescueFolderOf, type Task } from './task.ts'

export const fileTemplate = '{index}.{ext}'

function textType({ fields }: Pick<Instance, 'fields'>) {
  return fields['schema'] === undefined
    ? ({ extension: 'txt', mediaType: 'text/plain' } as const)
    : ({ extension: 'json', mediaType: 'application/json' } as const)
}

export function textName(instance: Pick<Instance, 'fields'>): string {
  return `1.${textType(instance).extension}`
}

/**
 * The facts of an image or a video, read from the file.
 * @param context its working directory is that of the file
 * @throws FileError for a file that cannot be read, or is not whole
 */
export async function mediaFacts(context: FileContext, name: string): Promise<OutputFacts> {
  const found = await inspectAnyFile(context, name).catch((error: unknown) => {
    throw error instanceof ModelgateError ? error.amend({ billed: 'yes' }) : error
  })
  const { damage } = found.integrity
  if (damage === undefined) return factsOf(found, name)
  throw new FileError('file_changed', `${shownPath(name)} is damaged: ${damage}.`, { billed: 'yes' })
}

export function factsOf(
  { bytes, sha256, mediaType, width, height, seconds, credentials }: FileFacts,
  path: string,
): OutputFacts {
  return {
    path,
    sha256,
    bytes,
    media_type: mediaType ?? 'application/octet-stream',
    width,
    height,
    seconds,
    credentials,
  }
}

export function textFacts(instance: Pick<Instance, 'fields'>, content: Uint8Array): OutputFacts {
  return {
    path: textName(instance),
    sha256: hash('sha256', content),
    bytes: content.length,
    media_type: textType(instance).mediaType,
    width: null,
    height: null,
    seconds: null,
    credentials: false,
  }
}

/**
 * The result that an earlier process has left in the folder of a task, if all that the request asked for is there and
 * whole. An image or a video has its final name only when it is; so it counts without the record, too, which a killed
 * process may not have come to write. Then it is not known how the result came about.
 * @param rescued names of files that were whole when they were rescued
 * @returns undefined where anything is missing, damaged or of another request
 */
export async function recoverResult(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescued: readonly string[] = [],
): Promise<TaskResult | undefined> {
  const { instance, folder } = task
  const inFolder = { ...context, cwd: folder }
  const found = await readRecord(folder)
  try {
    if (found?.key === task.key && found.result.outputs.length >= instance.count) {
      const { result, cost, warnings, text } = found
      for (const { path, sha256, media_type } of result.outputs) {
        const there = await digestOfStateFile(join(folder, path), isTextType(media_type))
        if (there?.sha256 !== sha256) return undefined
      }
      return { result, cost, warnings, text }
    }
    const names = await finalNames(task)
    const outputs: OutputFacts[] = []
    for (const name of names.length > 0 ? names : rescued) {
      if (!rescued.includes(name) && !(await isVerified(inFolder, instance, name))) return undefined
      outputs.push(await factsOfName(inFolder, instance, name))
    }
    if (outputs.length < instance.count) return undefined
    return { result: { ...unknownProvenance, outputs }, cost: null, warnings: [] }
  } catch (error) {
    context.signal.throwIfAborted()
    if (error instanceof ModelgateError) return undefined
    throw error
  }
}

async function factsOfName(
  context: FileContext,
  instance: Task['instance'],
  name: string,
): Promise<OutputFacts> {
  if (instance.lane !== 'text') return mediaFacts(context, name)
  const content = await readInputFile(context, name)
  if (content instanceof ModelgateError) throw content
  return textFacts(instance, content)
}

/** The images or videos of a result by their names alone; fewer where one is missing, or there are two of a number. */
async function finalNames({
  instance,
  folder,
}: Pick<Task, 'instance' | 'folder'>): Promise<readonly string[]> {
  // Nothing else says whether an answer is whole.
  if (instance.command === 'generate' || instance.command === 'respond') return []
  const all = await readdir(folder).catch((): string[] => [])
  const numbers = Array.from({ length: instance.count }, (_, at) => at + 1)
  const found = numbers.map((number) => all.filter((name) => new RegExp(`^${number}\\.\\w+$`).test(name)))
  return found.flatMap(([name, ...others]) => (name === undefined || others.length > 0 ? [] : [name]))
}

async function isVerified(context: FileContext, { lane }: Task['instance'], name: string): Promise<boolean> {
  const { mediaType, integrity } = await inspectAnyFile(context, name)
  return mediaType?.startsWith(`${lane}/`) === true && integrity.state === 'whole'
}

/** `20261122T121607-1.png`: a file that a task could not write to its folder. */
const rescuedName = /^\d{8}T\d{6}-(\d+\.\w+)$/

/**
 * Moves a result that an earlier run has rescued into the folder of its task, if all of it is there.
 * @returns undefined where it is not
 */
export async function takeRescued(
  context: FileContext,
  task: Pick<Task, 'instance' | 'key' | 'folder'>,
  rescueFolder: string | undefined,
): Promise<TaskResult | undefined> {
  if (rescueFolder === undefined) return undefined
  const folder = rescueFolderOf(rescueFolder, task)
  try {
    // Of several of one name the newest.
    const newest = new Map<string, string>()
    for (const file of (await readdir(folder)).toSorted()) {
      const name = rescuedName.exec(file)?.[1]
      if (name !== undefined) newest.set(name, file)
    }
    await makeFolder(task.folder)
    for (const [name, file] of newest) await copyFile(join(folder, file), join(task.folder, name))
    const result = await recoverResult(context, task, [...newest.keys()].toSorted())
    if (result !== undefined) await rm(folder, { recursive: true, force: true })
    return result
  } catch {
    context.signal.throwIfAborted()
    // Nothing was rescued, or there is still no room.
    return undefined
  }
}
