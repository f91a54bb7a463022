import * as v from 'valibot'
import type { Clock } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { jobSchema, sourceVideo, sourceVideoId, type VideoJob } from './video-job.ts'
import { deletableAt } from './job-state.ts'
import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder } from '../../files/write-target.ts'

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
export function createJobStore(clock: Clock, folder: string | undefined): JobStore {
  const inMemory = createBoundedMap<VideoJob>(keptJobs)
  const isKnown = (id: string) => isPlainId(id) && id !== sourceVideoId

  /** All jobs except outdated ones, which are removed. */
  async function stored(): Promise<VideoJob[]> {
    const now = clock.now()
    const living: VideoJob[] = []
    for (const job of [...inMemory.values(), ...(folder === undefined ? [] : await readJobs(folder))]) {
      if (now < deletableAt(job)) living.push(job)
      else await forget(job.id)
    }
    return living
  }

  async function forget(id: string): Promise<boolean> {
    if (inMemory.delete(id)) return true
    return folder !== undefined && removeFile(join(folder, `${id}.json`))
  }

  return {
    idSalt: () => (folder === undefined ? '' : `${clock.now()} ${clock.random()}`),
    async add(job) {
      if (folder === undefined) return inMemory.set(job.id, job)
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
      const byAge = (one: VideoJob, other: VideoJob) =>
        one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)
      return [sourceVideo, ...(await stored()).sort(byAge)]
    },
    remove: async (id) => isKnown(id) && (await forget(id)),
  }
}

/** Suffix of temporary files, which other processes ignore. */
const temporaryName = /^\..+\.[\da-f]{16}\.tmp$/
/** A temporary file this old belongs to a process that was killed. */
const leftoverMs = 60_000

/** Whether an id is safe in a file name, as those of the sandbox are. */
function isPlainId(id: string): boolean {
  return /^\w{1,100}$/.test(id)
}

/** Writes a job atomically. Only the user may read it: it contains the prompt. */
async function writeJob(folder: string, job: VideoJob): Promise<void> {
  await makeFolder(folder)
  const temporary = join(folder, `.${job.id}.${randomBytes(8).toString('hex')}.tmp`)
  try {
    await writeFile(temporary, `${JSON.stringify(job)}\n`, { flag: 'wx', mode: 0o600 })
    await rename(temporary, join(folder, `${job.id}.json`))
  } catch (error) {
    await unlink(temporary).catch(() => {})
    throw error
  }
}

/** The job with that id; undefined if there is none or the file is invalid. */
async function readJob(folder: string, id: string): Promise<VideoJob | undefined> {
  try {
    const job = v.parse(jobSchema, JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8')))
    return job.id === id ? job : undefined
  } catch {
    return undefined
  }
}

/** All jobs in the folder. */
async function readJobs(folder: string): Promise<VideoJob[]> {
  const jobs: VideoJob[] = []
  for (const name of await readdir(folder).catch(() => [])) {
    const [, id] = /^(\w+)\.json$/.exec(name) ?? []
    const job = id === undefined ? undefined : await readJob(folder, id)
    if (job !== undefined) jobs.push(job)
  }
  return jobs
}

/** @returns false when there was none */
function removeFile(path: string): Promise<boolean> {
  return unlink(path).then(
    () => true,
    () => false,
  )
}

/** Removes temporary files of killed processes. Never throws. */
async function removeHalfWritten(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!temporaryName.test(name)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now - found.mtimeMs > leftoverMs) await removeFile(path)
  }
}
