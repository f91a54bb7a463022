import type { Clock } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { jobSchema, sourceVideo, sourceVideoId, type VideoJob } from './video-job.ts'
import { forgetAt } from './job-state.ts'
import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { makeFolder } from '../../files/folder.ts'

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

  /** All jobs but those that nobody will ask for any more, which are removed. */
  async function stored(): Promise<VideoJob[]> {
    const now = clock.now()
    const living: VideoJob[] = []
    for (const job of [...inMemory.values(), ...(folder === undefined ? [] : await readJobs(folder))]) {
      if (now < forgetAt(job)) living.push(job)
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

/** What a half-written file is called. Nobody else reads it. */
const temporaryName = /^\..+\.[\da-f]{16}\.tmp$/
/** A temporary file this old belongs to a process that was killed. */
const leftoverMs = 60_000

/** Whether an id may be part of a file name; those of the sandbox all are. */
function isPlainId(id: string): boolean {
  return /^\w{1,100}$/.test(id)
}

/** Writes a job so that it is there whole or not at all. Only the user may read it: it holds the prompt. */
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

/** The job of that id; undefined where there is none, or nothing that could be one. */
async function readJob(folder: string, id: string): Promise<VideoJob | undefined> {
  try {
    const job = v.parse(jobSchema, JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8')))
    return job.id === id ? job : undefined
  } catch {
    return undefined
  }
}

/** Every job of the folder. */
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

/** Removes what killed processes left half-written. Never throws. */
async function removeHalfWritten(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!temporaryName.test(name)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now - found.mtimeMs > leftoverMs) await removeFile(path)
  }
}
