import { dirname, join } from 'node:path'
import { FileError } from '../../errors.ts'
import { writeError } from '../../files/file-error.ts'
import { makeFolder } from '../../files/write-target.ts'
import type { UpstreamResult } from '../execute/task.ts'
import type { Instance } from '../manifest/manifest.ts'
import type { SharedStore } from '../store/shared-store.ts'
import { inputPath, type MessageFile, type TaskMessage } from './task-message.ts'

/** A task as it is executed where its inputs are. */
export interface PlacedTask {
  /** Its files are relative to the folder: that of the project for whoever executes it. */
  readonly instance: Instance
  /** Absolute paths of files whose digests have been checked. */
  readonly upstream: ReadonlyMap<string, UpstreamResult>
}

/** How many files are fetched at the same time. */
const atOnce = 4

/**
 * Brings the inputs of a task from the shared store into `FOLDER/inputs/`.
 * @param folder absolute
 * @throws FileError `store_input_missing` when the store has not all of them; FileError; ModelgateError of the store
 */
export async function placeInputs(
  message: TaskMessage,
  store: SharedStore,
  folder: string,
): Promise<PlacedTask> {
  const { instance, files } = message
  const paths = files.map((_, at) => join(folder, ...inputPath(files, at).split('/')))
  for (let at = 0; at < files.length; at += atOnce) {
    const some = files.slice(at, at + atOnce)
    await Promise.all(some.map((file, offset) => placeFile(store, file, paths[at + offset]!)))
  }
  const upstream = new Map<string, UpstreamResult>()
  for (const [text, { files: made, job_id: jobId }] of message.upstream) {
    const found = made.map(({ file, media_type }) => {
      return { path: paths[file]!, sha256: files[file]!.sha256, media_type }
    })
    upstream.set(text, { files: found, jobId })
  }
  return { instance, upstream }
}

async function placeFile(store: SharedStore, { sha256, name }: MessageFile, path: string): Promise<void> {
  await makeFolder(dirname(path)).catch((error: unknown) => {
    throw writeError(error, path)
  })
  if (await store.fetch(sha256, path)) return
  const message = `${JSON.stringify(name)} is not in the store ${store.shown}, which the task needs.`
  throw new FileError('store_input_missing', message, {
    phase: 'input',
    billed: 'no',
    hint: 'All machines of a queue need the same --store.',
  })
}
