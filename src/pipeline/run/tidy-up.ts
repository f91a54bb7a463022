import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { openJobs } from '../../operations/jobs.ts'
import { runsFolder, type History } from '../journal/history.ts'
import { readLock } from '../lock/project-lock.ts'
import type { Project } from '../project.ts'
import { namesIn } from '../state-folder.ts'
import type { ManifestCall } from './manifest-call.ts'

interface Known {
  readonly project: Project
  readonly history: History
}

/**
 * Removes what is left of requests whose results are safe, and, after a process that died, the files that it did not get
 * to complete. Only for the owner of the manifest. What has not come to its end stays, and so does everything while
 * another manifest of the folder is being run. Best effort: never throws.
 */
export async function tidyUp(
  call: Pick<ManifestCall, 'context' | 'redactor'>,
  known: Known,
  followsDeath: boolean,
): Promise<void> {
  try {
    const owners = await namesIn(runsFolder(known.project))
    if (owners.filter((name) => name.endsWith('.owner')).length > 1) return
    await forgetJobs(call, known)
    if (followsDeath) await removeIncomplete(call, known)
  } catch {
    // It is in nobody's way, and `run clean` finds it.
  }
}

/** The records of remote jobs whose requests have come to an end. */
async function forgetJobs(
  { context, redactor }: Pick<ManifestCall, 'context' | 'redactor'>,
  { project: { stateFolder }, history }: Known,
): Promise<void> {
  if ((await namesIn(join(stateFolder, 'jobs'))).length === 0) return
  const store = openJobs(context, stateFolder, redactor)
  const { jobs } = await store.list()
  await store.forget(jobs.filter(({ record }) => history.settled.has(record.idempotency_key)))
}

/** `.hero.webp.0123456789abcdef.mgpart` */
const temporaryName = /^\.(.+)\.[0-9a-f]{16}\.mgpart$/

/** Temporary files in every place where a run writes, and records of jobs that were never whole. */
async function removeIncomplete(
  { context }: Pick<ManifestCall, 'context'>,
  { project }: Known,
): Promise<void> {
  const { stateFolder, outputFolder, lockPath } = project
  const removeFrom = async (folder: string, isLeft: (name: string) => boolean) => {
    for (const name of await namesIn(folder)) {
      const whole = temporaryName.exec(name)?.[1]
      if (whole !== undefined && isLeft(whole)) await remove(join(folder, name))
    }
  }
  await removeFrom(dirname(lockPath), (name) => name === basename(lockPath))
  const lock = await readLock(context, project)
  const outputs = [...lock.values()].flatMap((block) => block.outputs.map(({ path }) => path))
  for (const [folder, paths] of Map.groupBy(outputs, (path) => dirname(path))) {
    const names = new Set(paths.map((path) => basename(path)))
    await removeFrom(join(outputFolder, folder), (name) => names.has(name))
  }
  await removeFrom(join(stateFolder, 'replaced'), () => true)
  for (const key of await namesIn(join(stateFolder, 'results'))) {
    await removeFrom(join(stateFolder, 'results', key), () => true)
  }
  for (const name of await namesIn(join(stateFolder, 'jobs'))) {
    const folder = join(stateFolder, 'jobs', name)
    if ((await namesIn(folder)).every((file) => temporaryName.test(file))) await remove(folder)
  }
}

async function remove(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}
