import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../context.ts'
import { FileError } from '../../errors.ts'
import { readError, shownPath, systemCode, writeError } from '../file-error.ts'
import { makeFolder } from '../make-folder.ts'
import { findJob } from './find-job.ts'
import {
  createReplyLog,
  readJobFolder,
  readReply,
  removeJobFolder,
  removeReplies,
  tidyJobFolder,
  writeVersion,
  type FoundRecord,
} from './job-folder.ts'
import type { JobKind } from '../../contract/video-event.ts'
import { mergeRecords, newRecord, recordedChange } from './job-record.ts'
import type { JobRecord, NewJob } from './job-record.ts'
import type { StoredJob } from './stored-job.ts'

export interface JobList {
  /** Newest first. */
  readonly jobs: readonly StoredJob[]
  /** Records that cannot be read, one sentence each. */
  readonly warnings: readonly string[]
}

/**
 * The jobs that this machine has started, each in a folder of its own. Any number of processes may read and write at
 * once, and any of them may be killed at any time: nothing that was written is lost, and nobody waits for anybody.
 */
export interface JobStore {
  /**
   * Puts a job on record, before it is sent: then a kill before the reply leaves its idempotency key.
   * @throws FileError
   */
  create(job: NewJob): Promise<StoredJob>
  list(): Promise<JobList>
  /**
   * The job with this idempotency key, id, operation name, or last part of an operation's name; else the only one whose
   * id or last part begins so (with at least 4 characters). Of several with the same id the newest.
   * @throws UsageError `ambiguous_id` when several begin so
   */
  find(text: string): Promise<StoredJob | undefined>
  /** The newest job, whose id may be unknown. */
  last(): Promise<StoredJob | undefined>
  /** Takes jobs off the record. @throws nothing: what cannot be removed stays */
  forget(jobs: readonly StoredJob[]): Promise<void>
}

/** Where each job is; whichever store has opened it, every one can forget it. */
const folders = new WeakMap<StoredJob, string>()

/** So many folders are read at once. */
const atOnce = 64

export interface JobStoreOptions {
  /** Takes secrets out of the JSON that is written. */
  readonly clean?: (json: string) => string
  /** Finds the id of a job in the reply to its creation, or in the beginning of that. */
  readonly readReply?: (text: string, kind: JobKind) => Pick<JobRecord, 'id' | 'kind'> | undefined
}

/**
 * The store below a state folder; undefined when the machine has no place for one: then nothing is on record, and
 * `create` says so.
 */
export function openJobStore(
  stateFolder: string | undefined,
  clock: Clock,
  { clean = (json) => json, readReply: read = () => undefined }: JobStoreOptions = {},
): JobStore {
  const root = stateFolder === undefined ? undefined : join(stateFolder, 'jobs')

  const write = async (folder: string, merge: (before: JobRecord | undefined) => JobRecord) => {
    try {
      // Whoever removes a forgotten or an empty folder may do so at any time.
      for (let attempt = 1; ; attempt++) {
        try {
          await makeFolder(folder)
          const found = await readJobFolder(folder)
          const record = merge(found.record)
          await writeVersion(folder, found, clean(`${JSON.stringify(record, null, 2)}\n`))
          if (record.id !== null) await removeReplies(folder, found)
          return record
        } catch (error) {
          if (systemCode(error) !== 'ENOENT' || attempt === 5) throw error
        }
      }
    } catch (error) {
      throw writeError(error, folder)
    }
  }

  const jobIn = (folder: string, known: JobRecord): StoredJob => {
    let record = known
    let writing: Promise<unknown> = Promise.resolve()
    const job: StoredJob = {
      get record() {
        return record
      },
      update(change) {
        const checked = change.state === undefined ? {} : { checked_at: seconds(clock) }
        const next = writing.then(async () => {
          record = await write(folder, (found) => {
            const before = found === undefined ? record : mergeRecords(record, found)
            return mergeRecords(before, { ...before, ...checked, ...recordedChange(change) })
          })
        })
        writing = next.catch(() => {})
        return next
      },
      openReplyLog: () =>
        createReplyLog(folder, clean).catch((error: unknown) => {
          throw writeError(error, folder)
        }),
    }
    folders.set(job, folder)
    return job
  }

  /** The record with the id of the job, which may stand in a reply that a killed process has not read. */
  const withId = async (folder: string, found: FoundRecord, record: JobRecord): Promise<JobRecord> => {
    if (record.id !== null || found.replies.length === 0) return record
    return { ...record, ...read(await readReply(folder, found), record.kind) }
  }

  async function list(): Promise<JobList> {
    if (root === undefined) return { jobs: [], warnings: [noFolder().message] }
    const { names, warnings } = await folderNames(root)
    const jobs: StoredJob[] = []
    const read = async (name: string) => {
      const folder = join(root, name)
      const found = await readJobFolder(folder).catch(() => undefined)
      if (found === undefined) return
      const { record, damage, hasLeftovers } = found
      if (record !== undefined) jobs.push(jobIn(folder, await withId(folder, found, record)))
      if (damage.length === 0 && (record === undefined || hasLeftovers)) {
        await tidyJobFolder(folder, clock.now())
      }
      for (const clause of damage)
        warnings.push(`A job record in ${shownPath(folder)} is left out: ${clause}.`)
    }
    for (let at = 0; at < names.length; at += atOnce) {
      await Promise.all(names.slice(at, at + atOnce).map(read))
    }
    const order = (job: StoredJob) => folders.get(job)!
    jobs.sort(
      (one, other) => other.record.created_at - one.record.created_at || (order(one) < order(other) ? 1 : -1),
    )
    return { jobs, warnings }
  }

  return {
    async create(job) {
      if (root === undefined) throw noFolder()
      const name = `${timeName(clock.now())}-${digest(job.idempotency_key)}`
      const folder = join(root, name)
      const fresh = newRecord(job, seconds(clock))
      return jobIn(folder, await write(folder, (found) => found ?? fresh))
    },
    list,
    find: async (text) => findJob((await list()).jobs, text),
    last: async () => (await list()).jobs[0],
    async forget(jobs) {
      for (const job of jobs) {
        const folder = folders.get(job)
        const found = folder === undefined ? undefined : await readJobFolder(folder).catch(() => undefined)
        if (folder !== undefined && found !== undefined) await removeJobFolder(folder, found, clock.now())
      }
    },
  }
}

/** The names of jobs; the folder may hold other things too. */
async function folderNames(root: string): Promise<{ names: string[]; warnings: string[] }> {
  try {
    const names = await readdir(root)
    return { names: names.filter((name) => /^\d{8}T\d{9}-[0-9a-f]{16}$/.test(name)).toSorted(), warnings: [] }
  } catch (error) {
    const warnings = systemCode(error) === 'ENOENT' ? [] : [readError(error, root).message]
    return { names: [], warnings }
  }
}

/** `20260820T175959123`, in UTC: the order of the names is that of the times. */
function timeName(now: number): string {
  return new Date(now).toISOString().replaceAll(/[-:.Z]/g, '')
}

/** A key may come from outside; a name never does (threat S7). */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

function seconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}

function noFolder(): FileError {
  return new FileError('no_state_folder', 'There is no folder for job records: no home folder is known.', {
    hint: 'Set MODELGATE_STATE_DIR to a folder that can be written.',
  })
}
