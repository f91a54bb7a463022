import * as v from 'valibot'
import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { JobPacing } from '../http/reply.ts'
import { createJsonFolder } from '../json-folder.ts'
import { seededHex } from '../seeded-random.ts'
import { jobSchema, sourceVideo, sourceVideoId, type VideoJob } from './video-job.ts'
import { deletableAt } from './job-state.ts'

/** Maximum number of jobs in memory. */
const keptJobs = 1000

type NewJob = Omit<VideoJob, 'createdAt' | 'pendingMs' | 'runningMs'>

export type VideoJobStore = ReturnType<typeof createJobStore>

/**
 * The video jobs of this sandbox and, with a folder, of all sandboxes that share it. If the folder cannot be written, jobs live as long as this process.
 * @param folder one small JSON file per job, created with the first one; undefined for jobs in memory
 */
export function createJobStore(host: FileHost, folder: string | undefined) {
  const { clock } = host
  const inMemory = createBoundedMap<VideoJob>(keptJobs)
  const onDisk =
    folder === undefined ? undefined : createJsonFolder(folder, (value) => v.parse(jobSchema, value), host)

  /** All jobs except outdated ones, which are removed. */
  async function stored(): Promise<VideoJob[]> {
    const now = clock.now()
    const living: VideoJob[] = []
    for (const job of [...inMemory.values(), ...((await onDisk?.list()) ?? [])]) {
      if (now < deletableAt(job)) living.push(job)
      else await remove(job.id)
    }
    return living
  }

  async function remove(id: string): Promise<void> {
    if (!inMemory.delete(id)) await onDisk?.remove(id)
  }

  return {
    /**
     * Hexadecimal digits for the id of a new job: repeatable, but other ones than those of another sandbox with the same
     * folder.
     */
    newId(length: number, seed: number, number: number): string {
      const salt = onDisk === undefined ? '' : `${clock.now()} ${clock.random()}`
      return seededHex(length, seed, 'video', number, salt)
    },
    /** Adds a job, which is queued immediately. */
    async start(job: NewJob, { pendingMs, runningMs }: JobPacing): Promise<VideoJob> {
      const started = { ...job, createdAt: clock.now(), pendingMs, runningMs }
      if (onDisk === undefined) inMemory.set(job.id, started)
      else {
        await onDisk.write(started).catch(() => inMemory.set(job.id, started))
        await onDisk.removeHalfWritten(clock.now())
        await stored()
      }
      return started
    },
    async find(id: string): Promise<VideoJob | undefined> {
      if (id === sourceVideoId) return sourceVideo
      return inMemory.get(id) ?? (await onDisk?.read(id))
    },
    /** Oldest first, the built-in video before all others. */
    async list(): Promise<readonly VideoJob[]> {
      const byAge = (one: VideoJob, other: VideoJob) =>
        one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)
      return [sourceVideo, ...(await stored()).sort(byAge)]
    },
    remove,
  }
}
