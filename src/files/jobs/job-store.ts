import { isFinal, lastSegment } from '../../contract/video-state.ts'
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock, Context, FileHost } from '../../context.ts'
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
  mergeRecords,
  newRecord,
  recordedChange,
  recordFolders,
  recordKinds,
  type JobRecord,
  type NewJob,
  type JobProgress,
  type RecordKind,
} from './job-record.ts'

interface JobList<Kind extends RecordKind> {
  /** Newest first. */
  readonly jobs: readonly StoredJob<Kind>[]
  /** One sentence for each record that cannot be read. */
  readonly warnings: readonly string[]
}

/**
 * The jobs started on this machine, each in its own folder. Any number of processes may read and write at once and be
 * killed at any time: nothing written is lost, and no process waits for another.
 */
export interface JobStore {
  /**
   * Records a job before its request is sent, so that its idempotency key survives a kill.
   * @param known what is known of it already
   * @throws FileError
   */
  create(job: NewJob, known?: Partial<JobProgress>): Promise<StoredJob>
  /** @param newest reads no more than so many of each folder */
  list<Kind extends RecordKind = RecordKind>(kinds?: readonly Kind[], newest?: number): Promise<JobList<Kind>>
  /**
   * The job with this idempotency key, id, operation name, or last part of an operation's name; else the only one whose
   * id or last part begins so (with at least 4 characters). Of several with the same id the newest.
   * @throws UsageError `ambiguous_id` when several begin so
   */
  find(text: string): Promise<StoredJob | undefined>
  /** The newest job of this terminal, or, where there is none, of this folder. Its id may be unknown. */
  last<Kind extends RecordKind>(
    where: Pick<Context, 'terminalId' | 'cwd'>,
    kinds: readonly Kind[],
  ): Promise<StoredJob<Kind> | undefined>
  /** Deletes the records of jobs. Never throws: records that cannot be removed stay. */
  forget(jobs: readonly StoredJob[]): Promise<void>
}

const maxConcurrentReads = 64

interface JobStoreOptions {
  /** Removes secrets from the JSON that is written. */
  readonly clean?: (json: string) => string
  /** Without it a file that another program has open is not tried again. */
  readonly host?: FileHost
  /** Finds the id of a job in the reply to its creation, which may be incomplete. */
  readonly readReply?: (text: string, kind: RecordKind) => Pick<JobRecord, 'id' | 'kind'> | undefined
}

/**
 * The jobs in a state folder; undefined if the machine has none: then nothing is recorded, and `create` fails with that
 * reason.
 */
export function openJobStore(
  stateFolder: string | undefined,
  clock: Pick<Clock, 'now'>,
  { clean = (json) => json, host, readReply: findIdIn = () => undefined }: JobStoreOptions = {},
): JobStore {
  const write = async (folder: string, merge: (before: JobRecord | undefined) => JobRecord) => {
    try {
      // Another process may remove a forgotten or empty folder at any time.
      for (let attempt = 1; ; attempt++) {
        try {
          await makeFolder(folder)
          const found = await readJobFolder(folder)
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

  const jobIn = (folder: string, known: JobRecord): StoredJob => {
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
    record: JobRecord,
  ): Promise<JobRecord> => {
    if (record.id !== null || found.replies.length === 0) return record
    return { ...record, ...findIdIn(await readReply(folder, found), record.kind) }
  }

  const list: JobStore['list'] = async <Kind extends RecordKind>(
    kinds: readonly Kind[] = recordKinds as readonly Kind[],
    newest = Infinity,
  ) => {
    if (stateFolder === undefined) return { jobs: [], warnings: [noFolder().message] }
    const roots = [...new Set(kinds.map((kind) => join(stateFolder, recordFolders[kind])))]
    const warnings: string[] = []
    const jobs: StoredJob[] = []
    const load = async (folder: string) => {
      const found = await readJobFolder(folder).catch((error: unknown) => {
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
    for (const root of roots) {
      const names = await folderNames(root, warnings)
      const folders = names.slice(-Math.min(newest, names.length)).map((name) => join(root, name))
      for (let at = 0; at < folders.length; at += maxConcurrentReads) {
        await Promise.all(folders.slice(at, at + maxConcurrentReads).map(load))
      }
    }
    jobs.sort(
      (one, other) =>
        other.record.created_at - one.record.created_at ||
        (basename(one.folder) < basename(other.folder) ? 1 : -1),
    )
    const isWanted = (job: StoredJob): job is StoredJob<Kind> =>
      kinds.some((kind) => kind === job.record.kind)
    return { jobs: jobs.filter(isWanted), warnings }
  }

  return {
    async create(job, known = {}) {
      if (stateFolder === undefined) throw noFolder()
      const name = `${timeName(clock.now())}-${digest(job.idempotency_key)}`
      const folder = join(stateFolder, recordFolders[job.kind], name)
      const fresh = { ...newRecord(job, seconds(clock)), ...recordedChange(known) }
      return jobIn(folder, await write(folder, (found) => found ?? fresh))
    },
    list,
    find: async (text) => findJob((await list()).jobs, text),
    async last({ terminalId, cwd }, kinds) {
      const { jobs } = await list(kinds)
      const ofTerminal = ({ record }: StoredJob) => terminalId !== undefined && record.terminal === terminalId
      return jobs.find(ofTerminal) ?? jobs.find(({ record }) => record.output.cwd === cwd)
    },
    async forget(jobs) {
      for (const { folder } of jobs) {
        const found = await readJobFolder(folder).catch(() => undefined)
        if (found !== undefined) await removeJobFolder(folder, found, clock.now())
      }
    },
  }
}

/** The names of job folders; the parent may contain other files. @param warnings is added to */
async function folderNames(root: string, warnings: string[]): Promise<string[]> {
  try {
    const names = await readdir(root)
    return names.filter((name) => /^\d{8}T\d{9}-[0-9a-f]{16}$/.test(name)).toSorted()
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') warnings.push(readError(error, root).message)
    return []
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
function findJob(jobs: readonly StoredJob[], text: string): StoredJob | undefined {
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
export interface StoredJob<Kind extends RecordKind = RecordKind> {
  readonly folder: string
  /** The record as last read or written by this process. */
  readonly record: JobRecord<Kind>
  /**
   * Merges new facts with the record on disk: a saved file, an id and an end are never lost. Every state sets
   * `checked_at` to the present time unless it is given. May be called concurrently.
   * @throws FileError
   */
  update(change: Partial<JobProgress>): Promise<void>
  /**
   * Opens a file for the gateway's reply as it arrives. The job's id is found in it until the id is recorded; then the
   * file is removed.
   * @throws FileError
   */
  openReplyLog(): Promise<ReplyLog>
}
