import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, stat, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as v from 'valibot'
import { makeFolder } from '../../files/make-folder.ts'
import { longestFilmSeconds } from './film-plan.ts'
import type { VideoJob } from './job.ts'
import { videoScenarios } from './scenario.ts'

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
const side = v.pipe(whole, v.minValue(16), v.maxValue(4096), v.multipleOf(2))

const filmSchema = v.object({
  prompts: v.tupleWithRest([v.string()], v.string()),
  seed: v.string(),
  width: side,
  height: side,
  seconds: v.pipe(whole, v.minValue(1), v.maxValue(longestFilmSeconds)),
})

const jobSchema = v.object({
  id: v.string(),
  kind: v.picklist(['video', 'operation']),
  model: v.string(),
  prompt: v.string(),
  createdAt: whole,
  pendingMs: whole,
  runningMs: whole,
  scenario: v.nullable(v.picklist(videoScenarios)),
  films: v.array(filmSchema),
  remixedFrom: v.nullable(v.string()),
})

/** What a half-written file is called. Nobody else reads it. */
const temporaryName = /^\..+\.[\da-f]{16}\.tmp$/
/** A temporary file this old belongs to a process that was killed. */
const leftoverMs = 60_000

/** Whether an id may be part of a file name; those of the sandbox all are. */
export function isPlainId(id: string): boolean {
  return /^\w{1,100}$/.test(id)
}

/** Writes a job so that it is there whole or not at all. Only the user may read it: it holds the prompt. */
export async function writeJob(folder: string, job: VideoJob): Promise<void> {
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
export async function readJob(folder: string, id: string): Promise<VideoJob | undefined> {
  try {
    const job = v.parse(jobSchema, JSON.parse(await readFile(join(folder, `${id}.json`), 'utf8')))
    return job.id === id ? job : undefined
  } catch {
    return undefined
  }
}

/** Every job of the folder. */
export async function readJobs(folder: string): Promise<VideoJob[]> {
  const names = await readdir(folder).catch(() => [])
  const ids = names.flatMap((name) => /^(\w+)\.json$/.exec(name)?.[1] ?? [])
  const jobs: VideoJob[] = []
  for (const id of ids) {
    const job = await readJob(folder, id)
    if (job !== undefined) jobs.push(job)
  }
  return jobs
}

/** @returns false when there was none */
export async function removeJob(folder: string, id: string): Promise<boolean> {
  return unlink(join(folder, `${id}.json`)).then(
    () => true,
    () => false,
  )
}

/** Removes what killed processes left half-written. Never throws. */
export async function removeHalfWritten(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!temporaryName.test(name)) continue
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && now - found.mtimeMs > leftoverMs) await unlink(path).catch(() => {})
  }
}
