import * as v from 'valibot'
import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { createJsonFolder, isPlainId } from '../json-folder.ts'
import { jobSchema, sourceVideo, sourceVideoId, type VideoJob } from './video-job.ts'
import { deletableAt } from './job-state.ts'

/** Maximum number of jobs in memory. */
const keptJobs = 1000

/** The video jobs of this sandbox and, with a folder, of all sandboxes that share it. */
export interface JobStore {
  /** Makes ids differ from those of other sandboxes with the same folder; empty without a folder. */
  idSalt(): string
  add(job: VideoJob): Promise<void>
  find(id: string): Promise<VideoJob | undefined>
  /** Oldest first, the built-in video before all others. */
  list(): Promise<readonly VideoJob[]>
  /** @returns false when there was no such job */
  remove(id: string): Promise<boolean>
}

/**
 * Opens the store. If the folder cannot be written, jobs live as long as this process.
 * @param folder one small JSON file per job, created with the first one; undefined for jobs in memory
 */
export function createJobStore(host: FileHost, folder: string | undefined): JobStore {
  const { clock } = host
  const inMemory = createBoundedMap<VideoJob>(keptJobs)
  const onDisk =
    folder === undefined ? undefined : createJsonFolder(folder, (value) => v.parse(jobSchema, value), host)
  const isKnown = (id: string) => isPlainId(id) && id !== sourceVideoId

  /** All jobs except outdated ones, which are removed. */
  async function stored(): Promise<VideoJob[]> {
    const now = clock.now()
    const living: VideoJob[] = []
    for (const job of [...inMemory.values(), ...((await onDisk?.list()) ?? [])]) {
      if (now < deletableAt(job)) living.push(job)
      else await forget(job.id)
    }
    return living
  }

  async function forget(id: string): Promise<boolean> {
    if (inMemory.delete(id)) return true
    return (await onDisk?.remove(id)) ?? false
  }

  return {
    idSalt: () => (onDisk === undefined ? '' : `${clock.now()} ${clock.random()}`),
    async add(job) {
      if (onDisk === undefined) return inMemory.set(job.id, job)
      await onDisk.write(job).catch(() => inMemory.set(job.id, job))
      await onDisk.removeHalfWritten(clock.now())
      await stored()
    },
    async find(id) {
      if (id === sourceVideoId) return sourceVideo
      if (!isKnown(id)) return undefined
      return inMemory.get(id) ?? (await onDisk?.read(id))
    },
    async list() {
      const byAge = (one: VideoJob, other: VideoJob) =>
        one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)
      return [sourceVideo, ...(await stored()).sort(byAge)]
    },
    remove: async (id) => isKnown(id) && (await forget(id)),
  }
}
