import { isFinal, lastSegment } from '../../contract/video-state.ts'
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock, FileHost } from '../../context.ts'
import { FileError, UsageError } from '../../errors.ts'
import { readError, shownPath, systemCode, writeError } from '../file-error.ts'
import { makeFolder } from '../write-target.ts'
import {
  createReplyLog,
  readJobFolder,
  readReply,
  removeJobFolder,
  removeReplies,
  tidyJobFolder,
  writeVersion,
  type FoundRecord,
  type ReplyLog,
} from './job-folder.ts'
import {
  imageJobs,
  mergeRecords,
  newRecord,
  recordedChange,
  responseJobs,
  videoJobs,
  type ImageJobs,
  type JobFamily,
  type JobRecord,
  type NewJob,
  type JobProgress,
  type ResponseJobs,
  type VideoJobs,
} from './job-record.ts'

interface JobList<Family extends JobFamily> {
  /** Newest first. */
  readonly jobs: readonly StoredJob<Family>[]
  /** One sentence for each record that cannot be read. */
  readonly warnings: readonly string[]
}

/**
 * The jobs started on this machine, each in its own folder. Any number of processes may read and write at once and be
 * killed at any time: nothing written is lost, and no process waits for another.
 */
export interface JobStore<Family extends JobFamily = VideoJobs> {
  /**
   * Records a job before its request is sent, so that its idempotency key survives a kill.
   * @param known what is known of it already
   * @throws FileError
   */
  create(job: NewJob<Family>, known?: Partial<JobProgress<Family>>): Promise<StoredJob<Family>>
  /** @param newest reads no more than so many */
  list(newest?: number): Promise<JobList<Family>>
  /**
   * The job with this idempotency key, id, operation name, or last part of an operation's name; else the only one whose
   * id or last part begins so (with at least 4 characters). Of several with the same id the newest.
   * @throws UsageError `ambiguous_id` when several begin so
   */
  find(text: string): Promise<StoredJob<Family> | undefined>
  /** The newest job, whose id may be unknown. */
  last(): Promise<StoredJob<Family> | undefined>
  /** Deletes the records of jobs. Never throws: records that cannot be removed stay. */
  forget(jobs: readonly StoredJob<Family>[]): Promise<void>
}

const maxConcurrentReads = 64

interface JobStoreOptions<Family extends JobFamily> {
  /** Removes secrets from the JSON that is written. */
  readonly clean?: (json: string) => string
  /** Without it a file that another program has open is not tried again. */
  readonly host?: FileHost
  /** Finds the id of a job in the reply to its creation, which may be incomplete. */
  readonly readReply?: (
    text: string,
    kind: JobRecord<Family>['kind'],
  ) => Pick<JobRecord<Family>, 'id' | 'kind'> | undefined
}

/**
 * The video jobs in a state folder; undefined if the machine has none: then nothing is recorded, and `create` fails with
 * that reason.
 */
export function openJobStore(
  stateFolder: string | undefined,
  clock: Pick<Clock, 'now'>,
  options: JobStoreOptions<VideoJobs> = {},
): JobStore {
  return openStore(videoJobs, stateFolder, clock, options)
}

/** The images that have not been fetched, as `openJobStore` has the video jobs. */
export function openImageStore(
  stateFolder: string | undefined,
  clock: Pick<Clock, 'now'>,
  options: JobStoreOptions<ImageJobs> = {},
): JobStore<ImageJobs> {
  return openStore(imageJobs, stateFolder, clock, options)
}

/** The background responses in a state folder, as `openJobStore` has the video jobs. */
export function openResponseStore(
  stateFolder: string | undefined,
  clock: Pick<Clock, 'now'>,
  options: JobStoreOptions<ResponseJobs> = {},
): JobStore<ResponseJobs> {
  return openStore(responseJobs, stateFolder, clock, options)
}

function openStore<Family extends JobFamily>(
  family: Family,
  stateFolder: string | undefined,
  clock: Pick<Clock, 'now'>,
  { clean = (json) => json, host, readReply: findIdIn = () => undefined }: JobStoreOptions<Family>,
): JobStore<Family> {
  const root = stateFolder === undefined ? undefined : join(stateFolder, family.folder)
  type OwnRecord = JobRecord<Family>

  const write = async (folder: string, merge: (before: OwnRecord | undefined) => OwnRecord) => {
    try {
      // Another process may remove a forgotten or empty folder at any time.
      for (let attempt = 1; ; attempt++) {
        try {
          await makeFolder(folder)
          const found = await readJobFolder(folder, family)
          const record = merge(found.record)
          await writeVersion(host, folder, found, clean(`${JSON.stringify(record, null, 2)}\n`))
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

  const jobIn = (folder: string, known: OwnRecord): StoredJob<Family> => {
    let record = known
    let writing: Promise<unknown> = Promise.resolve()
    return {
      folder,
      get record() {
        return record
      },
      update(change) {
        const now = seconds(clock)
        const checked = change.state === undefined ? {} : { checked_at: now }
        const ended = change.state !== undefined && isFinal(change.state)
        const next = writing.then(async () => {
          record = await write(folder, (found) => {
            const before = found === undefined ? record : mergeRecords(record, found)
            const seen = ended ? { completed_at: now } : {}
            return mergeRecords(before, { ...before, ...checked, ...seen, ...recordedChange(change) })
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
  }

  /** The record with the id of the job, which may be in a reply that a killed process did not get to parse. */
  const withId = async (
    folder: string,
    found: Pick<FoundRecord, 'replies'>,
    record: OwnRecord,
  ): Promise<OwnRecord> => {
    if (record.id !== null || found.replies.length === 0) return record
    return { ...record, ...findIdIn(await readReply(folder, found), record.kind) }
  }

  async function list(newest = Infinity): Promise<JobList<Family>> {
    if (root === undefined) return { jobs: [], warnings: [noFolder().message] }
    const { names: all, warnings } = await folderNames(root)
    const names = all.slice(-Math.min(newest, all.length))
    const jobs: StoredJob<Family>[] = []
    const load = async (name: string) => {
      const folder = join(root, name)
      const found = await readJobFolder(folder, family).catch((error: unknown) => {
        // Another process may have forgotten the job meanwhile.
        if (systemCode(error) !== 'ENOENT') warnings.push(readError(error, folder).message)
      })
      if (found === undefined) return
      const { record, damage, hasLeftovers } = found
      if (record !== undefined) jobs.push(jobIn(folder, await withId(folder, found, record)))
      if (damage.length === 0 && (record === undefined || hasLeftovers)) {
        await tidyJobFolder(folder, clock.now())
      }
      for (const clause of damage) warnings.push(`Skipped the job record in ${shownPath(folder)}: ${clause}.`)
    }
    for (let at = 0; at < names.length; at += maxConcurrentReads) {
      await Promise.all(names.slice(at, at + maxConcurrentReads).map(load))
    }
    jobs.sort(
      (one, other) => other.record.created_at - one.record.created_at || (one.folder < other.folder ? 1 : -1),
    )
    return { jobs, warnings }
  }

  return {
    async create(job, known = {}) {
      if (root === undefined) throw noFolder()
      const name = `${timeName(clock.now())}-${digest(job.idempotency_key)}`
      const folder = join(root, name)
      const fresh = { ...newRecord(job, seconds(clock)), ...recordedChange(known) }
      return jobIn(folder, await write(folder, (found) => found ?? fresh))
    },
    list,
    find: async (text) => findJob((await list()).jobs, text),
    last: async () => (await list()).jobs[0],
    async forget(jobs) {
      for (const { folder } of jobs) {
        const found = await readJobFolder(folder, family).catch(() => undefined)
        if (found !== undefined) await removeJobFolder(folder, found, clock.now())
      }
    },
  }
}

/** The names of job folders; the parent may contain other files. */
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

/** Keys may come from outside, so they are never used as file names (threat S7). */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16)
}

function seconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000)
}

function noFolder(): FileError {
  return new FileError('no_state_folder', 'There is no folder for job records: no home directory is known.', {
    hint: 'Set MODELGATE_STATE_DIR to a folder that can be written.',
  })
}

/** Minimum length of an id prefix: a shorter one is more likely a typo. */
const minPrefixLength = 4

/** How many ids are listed when several match. */
const maxCandidates = 10

/**
 * The job that a user means by an id, an operation's name, the last part of one, or the beginning of either; or by its
 * idempotency key, which is all that is known of some.
 * @param jobs newest first; of several with the same id the first is chosen
 * @throws UsageError `ambiguous_id`
 */
function findJob<Family extends JobFamily>(
  jobs: readonly StoredJob<Family>[],
  text: string,
): StoredJob<Family> | undefined {
  const key = text.replace(/^key:/, '')
  const keyed = jobs.find(({ record }) => record.idempotency_key === key)
  if (keyed !== undefined) return keyed
  const known = jobs.flatMap((job) => (job.record.id === null ? [] : [{ job, id: job.record.id }]))
  const exact =
    known.find(({ id }) => id === text) ?? known.find(({ id }) => text !== '' && lastSegment(id) === text)
  if (exact !== undefined || text.length < minPrefixLength) return exact?.job
  const fitting = known.filter(({ id }) => id.startsWith(text) || lastSegment(id).startsWith(text))
  const ids = [...new Set(fitting.map(({ id }) => id))]
  if (ids.length > 1) throw ambiguous(text, ids)
  return fitting[0]?.job
}

function ambiguous(text: string, ids: readonly string[]): UsageError {
  const more = ids.length > maxCandidates ? [`  and ${ids.length - maxCandidates} more`] : []
  const lines = [...ids.slice(0, maxCandidates).map((id) => `  ${id}`), ...more]
  return new UsageError(`${ids.length} jobs have ids that begin with ${text}:\n${lines.join('\n')}`, {
    code: 'ambiguous_id',
    hint: 'Give more of the ID.',
  })
}

/** A recorded job. */
export interface StoredJob<Family extends JobFamily = VideoJobs> {
  readonly folder: string
  /** The record as last read or written by this process. */
  readonly record: JobRecord<Family>
  /**
   * Merges new facts with the record on disk: a saved file, an id and an end are never lost. Every state sets
   * `checked_at` to the present time unless it is given. May be called concurrently.
   * @throws FileError
   */
  update(change: Partial<JobProgress<Family>>): Promise<void>
  /**
   * Opens a file for the gateway's reply as it arrives. The job's id is found in it until the id is recorded; then the
   * file is removed.
   * @throws FileError
   */
  openReplyLog(): Promise<ReplyLog>
}
