import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isFinal, lastSegment } from '../../contract/videos.ts'
import type { Clock } from '../../context.ts'
import { FileError, UsageError } from '../../errors.ts'
import { objectOf, stringOf } from '../../json.ts'
import { shownPath } from '../file-error.ts'
import { parseJson } from '../parse-json.ts'
import { linesFrom, monthFiles, openLine } from '../sealed-lines.ts'
import { CallBook, jobMark, lineHead, newId, openBook, wordsFile, type JobLine } from './call-book.ts'
import {
  newRecord,
  recordedChange,
  recordKinds,
  withChange,
  type JobProgress,
  type JobRecord,
  type NewJob,
  type RecordKind,
} from './job-record.ts'
import { openReplyLog, replyFile, type ReplyLog } from './reply-log.ts'

interface JobStoreOptions {
  readonly clean?: (text: string) => string
  /** The id of a job in the reply to its creation, which may be incomplete. */
  readonly readReply?: (text: string, kind: RecordKind) => Pick<JobRecord, 'id' | 'kind'> | undefined
}

interface Entry {
  record: JobRecord
  /** From a reply that a killed process did not get to record. */
  inReply?: Pick<JobRecord, 'id' | 'kind'> | undefined
  isForgotten: boolean
}

/** Earlier jobs are found in the log alone. */
const monthsRead = 2

/** Lines among those of the calls. Any number of processes may read and write at once and be killed at any time. */
export class JobStore {
  readonly #stateFolder: string | undefined
  readonly #clock: Pick<Clock, 'now'>
  readonly #options: JobStoreOptions
  readonly #book: CallBook
  readonly #entries = new Map<string, Entry>()
  readonly #warnings: string[] = []
  readonly #read = new Map<string, number>()

  /** @param stateFolder undefined where the machine has none: then `create` fails with that reason */
  constructor(stateFolder: string | undefined, clock: Pick<Clock, 'now'>, options: JobStoreOptions = {}) {
    this.#stateFolder = stateFolder
    this.#clock = clock
    this.#options = options
    this.#book = new CallBook(stateFolder, clock, options.clean)
  }

  /** Before its request is sent, so that its idempotency key survives a kill. @throws FileError */
  async create(job: NewJob, prompt?: string, known: Partial<JobProgress> = {}): Promise<StoredJob> {
    const folder = await this.#book.open()
    const key = newId()
    const record = { ...newRecord(job, seconds(this.#clock)), ...recordedChange(known) }
    this.#book.addJob({ id: key, job: record }, true)
    // The job is on record; its prompt is the lesser loss.
    if (prompt) await this.#book.keepWords(key, { prompt }).catch(() => {})
    const entry = { record, isForgotten: false }
    this.#entries.set(key, entry)
    return this.#stored(folder, key, entry)
  }

  /** @returns the newest first @throws FileError `other_version` */
  async list<Kind extends RecordKind = RecordKind>(
    kinds: readonly Kind[] = recordKinds as readonly RecordKind[] as readonly Kind[],
  ): Promise<{ readonly jobs: readonly StoredJob<Kind>[]; readonly warnings: readonly string[] }> {
    if (this.#stateFolder === undefined)
      return { jobs: [], warnings: ['Nothing is on record: there is no home directory.'] }
    let folder: string
    try {
      folder = await openBook(this.#stateFolder)
      this.#readLines(folder)
    } catch (error) {
      if (!(error instanceof FileError) || error.code === 'other_version') throw error
      return { jobs: [], warnings: [error.message] }
    }
    const jobs = [...this.#entries]
      .filter(([, { isForgotten }]) => !isForgotten)
      .toReversed()
      .map(([key, entry]) => this.#stored(folder, key, entry))
      .filter((job): job is StoredJob<Kind> => kinds.some((kind) => kind === job.record.kind))
      .toSorted((one, other) => other.record.created_at - one.record.created_at)
    return { jobs, warnings: this.#warnings }
  }

  /** By idempotency key, id, operation name, or a unique beginning. @throws UsageError `unknown_id` */
  async find(text: string): Promise<StoredJob | undefined> {
    const { jobs } = await this.list()
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

  /** The newest job of this terminal, or, where there is none, of this folder. Its id may be unknown. */
  async last<Kind extends RecordKind>(
    { terminalId, cwd }: { readonly terminalId: string | undefined; readonly cwd: string },
    kinds: readonly Kind[],
  ): Promise<StoredJob<Kind> | undefined> {
    const { jobs } = await this.list(kinds)
    const ofTerminal = ({ record }: StoredJob) => terminalId !== undefined && record.terminal === terminalId
    return jobs.find(ofTerminal) ?? jobs.find(({ record }) => record.output.cwd === cwd)
  }

  /** Until more is learned of them. Never throws: those that cannot be forgotten stay. */
  async forget(jobs: readonly StoredJob[]): Promise<void> {
    try {
      const folder = await this.#book.open()
      for (const { key } of jobs) {
        this.#book.addJob({ id: key, forgotten: true })
        const entry = this.#entries.get(key)
        if (entry !== undefined) entry.isForgotten = true
        for (const path of [wordsFile(folder, key), replyFile(folder, key)]) remove(path)
      }
    } catch {}
  }

  #readLines(folder: string): void {
    for (const name of monthFiles(folder).slice(-monthsRead)) {
      const path = join(folder, name)
      for (const { start, bytes } of linesFrom(path, this.#read.get(name), jobMark)) {
        this.#read.set(name, start + bytes.length + 1)
        const line = openLine(bytes) as JobLine | undefined
        if (line === undefined) {
          this.#warnings.push(`Skipped the line at byte ${start} of ${shownPath(path)}: it is damaged.`)
        } else this.#apply(lineHead.id(bytes), line)
      }
    }
  }

  #apply(key: string, { job, change, forgotten }: JobLine): void {
    const entry = this.#entries.get(key)
    if (entry !== undefined) {
      entry.isForgotten = forgotten === true
      if (change !== undefined) entry.record = withChange(entry.record, change)
    } else if (job !== undefined) this.#entries.set(key, { record: job, isForgotten: false })
  }

  #stored(folder: string, key: string, entry: Entry): StoredJob {
    const { clean = (text) => text, readReply } = this.#options
    if (entry.record.id === null && readReply !== undefined) {
      entry.inReply = readReply(textIn(replyFile(folder, key)), entry.record.kind)
    }
    return {
      key,
      get record() {
        return entry.record.id === null ? { ...entry.record, ...entry.inReply } : entry.record
      },
      prompt: () => stringOf(objectOf(parseJson(textIn(wordsFile(folder, key))).value)['prompt']) ?? '',
      update: async (change) => {
        const now = seconds(this.#clock)
        const whole = {
          ...(entry.record.id === null ? entry.inReply : undefined),
          ...(change.state === undefined ? {} : { checked_at: now }),
          ...(change.state !== undefined && isFinal(change.state) ? { completed_at: now } : {}),
          ...recordedChange(change),
        }
        await this.#book.open()
        this.#book.addJob({ id: key, change: whole }, entry.record.id === null)
        this.#apply(key, { change: whole })
        if (entry.record.id !== null) remove(replyFile(folder, key))
      },
      openReplyLog: async () => openReplyLog(replyFile(folder, key), clean),
    }
  }
}

/** Empty also where it cannot be read. */
function textIn(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // It is in nobody's way, and `log clear` removes it.
  }
}

function seconds(clock: Pick<Clock, 'now'>): number {
  return Math.floor(clock.now() / 1000)
}

const minPrefixLength = 4

const maxCandidates = 10

function ambiguous(text: string, ids: readonly string[]): UsageError {
  const more = ids.length > maxCandidates ? [`  and ${ids.length - maxCandidates} more`] : []
  const lines = [...ids.slice(0, maxCandidates).map((id) => `  ${id}`), ...more]
  return new UsageError(`${ids.length} jobs have ids that begin with ${text}:\n${lines.join('\n')}`, {
    code: 'unknown_id',
    hint: 'Give more of the ID.',
  })
}

export interface StoredJob<Kind extends RecordKind = RecordKind> {
  /** Of its record, before the gateway gives it an id. */
  readonly key: string
  readonly record: JobRecord<Kind>
  prompt(): string
  /** Every state sets `checked_at`. May be called concurrently. @throws FileError */
  update(change: Partial<JobProgress>): Promise<void>
  /** For the gateway's reply as it arrives: the job's id is found there until it is recorded. @throws FileError */
  openReplyLog(): Promise<ReplyLog>
}
