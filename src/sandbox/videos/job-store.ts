import type { Clock } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { isPlainId, readJob, readJobs, removeHalfWritten, removeJob, writeJob } from './job-file.ts'
import type { VideoJob } from './job.ts'
import { sourceVideo, sourceVideoId } from './source-video.ts'
import { forgottenAt } from './timeline.ts'

/** Jobs that are kept in memory. */
const keptJobs = 1000

/** The video jobs of this sandbox and, with a folder, of all that use the same one, now and later. */
export interface JobStore {
  /** What makes ids differ from those of other sandboxes that keep jobs in the same place; empty without a folder. */
  idSalt(): string
  add(job: VideoJob): Promise<void>
  find(id: string): Promise<VideoJob | undefined>
  /** Oldest first, the built-in video before all others. */
  list(): Promise<readonly VideoJob[]>
  /** @returns false when there was no such job */
  remove(id: string): Promise<boolean>
}

/**
 * Opens the store. A folder that cannot be written is no reason to refuse a job: it then lives as long as this process.
 * @param folder one small JSON file for each job, made when the first one comes; undefined for jobs in memory
 */
export function createJobStore(clock: Clock, folder: string | undefined): JobStore {
  const inMemory = createBoundedMap<VideoJob>(keptJobs)
  const isKnown = (id: string) => isPlainId(id) && id !== sourceVideoId

  async function stored(): Promise<VideoJob[]> {
    const jobs = [...inMemory.values(), ...(folder === undefined ? [] : await readJobs(folder))]
    const now = clock.now()
    const living: VideoJob[] = []
    for (const job of jobs) {
      if (now < forgottenAt(job)) living.push(job)
      else await forget(job.id)
    }
    return living
  }

  async function forget(id: string): Promise<boolean> {
    return inMemory.delete(id) || (folder !== undefined && (await removeJob(folder, id)))
  }

  return {
    idSalt: () => (folder === undefined ? '' : `${clock.now()} ${clock.random()}`),
    async add(job) {
      if (folder === undefined) {
        inMemory.set(job.id, job)
        return
      }
      await writeJob(folder, job).catch(() => inMemory.set(job.id, job))
      await removeHalfWritten(folder, clock.now())
      await stored()
    },
    async find(id) {
      if (id === sourceVideoId) return sourceVideo
      if (!isKnown(id)) return undefined
      return inMemory.get(id) ?? (folder === undefined ? undefined : await readJob(folder, id))
    },
    async list() {
      const jobs = (await stored()).sort(
        (one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
      )
      return [sourceVideo, ...jobs]
    },
    remove: async (id) => isKnown(id) && (await forget(id)),
  }
}
