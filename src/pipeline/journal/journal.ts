import { constants } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import * as v from 'valibot'
import { randomHex, type Clock } from '../../context.ts'
import { amountOf, type Amount } from '../../cost/amount.ts'
import { videoKinds, type MadeImages } from '../../files/calls/job-record.ts'
import { shownPath, writeError } from '../../files/file-error.ts'
import { openLine, sealedLine } from '../../files/sealed-lines.ts'
import { makeFolder, syncFolder } from '../../files/write-target.ts'
import { firstFew } from '../../quantities.ts'
import { resultSchema } from '../lock/lock-block.ts'
import { namesIn, readStateFile, type Project } from '../project.ts'

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0))
/** One request for one candidate: `variant` is its number, from 1. */
const request = { instance: v.string(), key: v.string(), variant: count }

const madeShape = v.looseObject({
  origin: v.string(),
  expires_at: v.pipe(v.number(), v.finite()),
  images: v.array(v.looseObject({ index: count, url: v.string() })),
})
export const madeImages = v.custom<MadeImages>((value) => v.is(madeShape, value))

/**
 * Of one key the events come in this order: `intent`, `job` or `made`, and then one of `result`, `failure` and
 * `release`. An intent that none of them follows is under way, or its outcome is unknown.
 */
const journalEvent = v.variant('type', [
  v.object({ type: v.literal('begin'), run: v.string(), manifest: v.string(), version: v.string() }),
  /** On disk before the request is sent. */
  v.object({
    type: v.literal('intent'),
    ...request,
    idempotency_key: v.string(),
    creates: count,
    cost: v.nullable(v.pipe(v.number(), v.finite())),
    /** The identity of the queue that it is given to, and where that is; left out where this process sends it. */
    queue: v.exactOptional(v.string()),
    queue_at: v.exactOptional(v.string()),
  }),
  v.object({ type: v.literal('job'), key: v.string(), id: v.string(), kind: v.picklist(videoKinds) }),
  /** The addresses of results, as soon as the reply is read and before anything is fetched. */
  v.object({ type: v.literal('made'), key: v.string(), made: madeImages }),
  /** The result is in the folder of its key; `rejected` says which asserts failed. */
  v.object({
    type: v.literal('result'),
    ...request,
    /** Version 0.1.0 wrote it here. */
    result: v.exactOptional(resultSchema),
    rejected: v.nullable(v.pipe(v.array(v.string()), v.readonly())),
  }),
  /** An answer that is final for this request, paid for or not. */
  v.object({
    type: v.literal('failure'),
    instance: v.string(),
    key: v.string(),
    exit_code: count,
    code: v.string(),
    message: v.string(),
    billed: v.picklist(['no', 'maybe', 'yes']),
  }),
  /** Nothing was created: the request can be made again, and the intent does not count. */
  v.object({ type: v.literal('release'), key: v.string(), reason: v.string() }),
  /** `--regenerate`, or `on_unknown: retry`: an unknown outcome or an older result no longer counts. */
  v.object({ type: v.literal('discard'), key: v.string() }),
  v.object({ type: v.literal('end'), run: v.string() }),
])

export type JournalEvent = Readonly<v.InferOutput<typeof journalEvent>>

export function writeLine(event: JournalEvent, now: number): string {
  return sealedLine(JSON.stringify({ ...event, at: new Date(now).toISOString() }))
}

function readLine(line: Buffer): JournalEvent | undefined {
  const { success, output } = v.safeParse(journalEvent, openLine(line))
  return success ? output : undefined
}

/** Undefined for a damaged line. What comes after the last newline counts only if it is whole: nothing relies on it. */
export function* readLines(bytes: Buffer): Generator<JournalEvent | undefined> {
  for (let from = 0; from < bytes.length;) {
    const newline = bytes.indexOf(10, from)
    const to = newline === -1 ? bytes.length : newline
    const event = readLine(bytes.subarray(from, to))
    if (newline !== -1 || event !== undefined) yield event
    from = to + 1
  }
}

export function runsFolder({ stateFolder }: Project): string {
  return join(stateFolder, 'runs')
}

/** `20261122T121607123-1a2b3c4d.jsonl`: the order of the names is that of the runs. */
const journalName = /^(\d{8}T\d{9}-[0-9a-f]{8})\.jsonl$/

export async function listRuns(folder: string): Promise<string[]> {
  return (await namesIn(folder)).flatMap((name) => journalName.exec(name)?.[1] ?? []).toSorted()
}

export async function* readJournals(project: Project) {
  const folder = runsFolder(project)
  for (const run of await listRuns(folder)) {
    const path = join(folder, `${run}.jsonl`)
    const bytes = await readStateFile(path)
    if (bytes !== undefined) yield { run, path, bytes }
  }
}

/** Later than the newest run, also by a clock that was put back. */
function newRun(newest: string | undefined, clock: Clock): string {
  const time = Math.max(clock.now(), newest === undefined ? 0 : timeOf(newest) + 1)
  return `${new Date(time).toISOString().replaceAll(/[-:.Z]/g, '')}-${randomHex(clock, 8)}`
}

export function timeOf(run: string): number {
  const time = run.replace(/^(....)(..)(..)T(..)(..)(..)(...).*/, '$1-$2-$3T$4:$5:$6.$7Z')
  // A name that holds no time, such as a month of 99, is not ours.
  return Date.parse(time) || 0
}

/** The journal of the unfinished run, or of a new one, which has no file before its first event. For the owner only. */
export async function openJournal(
  project: Project,
  clock: Clock,
  unfinished: { readonly run: string } | null,
): Promise<Journal> {
  const run = unfinished?.run ?? newRun((await listRuns(runsFolder(project))).at(-1), clock)
  return new Journal(project, clock, run, unfinished !== null)
}

export class Journal {
  readonly run: string
  readonly isResumed: boolean
  hasEvents: boolean
  readonly #project: Project
  readonly #clock: Clock
  readonly #path: string
  #handle: FileHandle | undefined
  /** Lines that are to be written with one sync, and the promise that they have been. */
  #lines = ''
  #batch: Promise<void> | undefined
  #written: Promise<void> = Promise.resolve()
  #failure: Error | undefined
  #syncedBytes = 0

  constructor(project: Project, clock: Clock, run: string, isResumed: boolean) {
    this.run = run
    this.#project = project
    this.#clock = clock
    this.isResumed = isResumed
    this.hasEvents = isResumed
    this.#path = join(runsFolder(project), `${run}.jsonl`)
  }

  /**
   * Resolves when the event is on the disk; events that are appended meanwhile share one sync, in their order.
   * @throws FileError; from then on always, because what is on the disk is not known
   */
  append(event: JournalEvent): Promise<void> {
    this.hasEvents = true
    this.#lines += writeLine(event, this.#clock.now())
    this.#batch ??= this.#written.then(() => this.#writeBatch())
    return this.#batch
  }

  async close(): Promise<void> {
    await this.#batch?.catch(() => {})
    await this.#written
    // What counts has been synced.
    await this.#handle?.close().catch(() => {})
  }

  async #writeBatch(): Promise<void> {
    const lines = this.#lines
    this.#written = this.#batch!.catch(() => {})
    this.#lines = ''
    this.#batch = undefined
    if (this.#failure !== undefined) throw this.#failure
    try {
      await this.#write(lines)
    } catch (error) {
      this.#failure = writeError(error, this.#path)
      // The next process must not rely on what this one found missing.
      await this.#handle?.truncate(this.#syncedBytes).catch(() => {})
      throw this.#failure
    }
  }

  async #write(lines: string): Promise<void> {
    const bytes = Buffer.from(this.#handle === undefined ? `${await this.#open()}${lines}` : lines)
    await this.#handle!.appendFile(bytes)
    await this.#handle!.datasync()
    this.#syncedBytes += bytes.length
  }

  async #open(): Promise<string> {
    if (this.isResumed) return await this.#openUnfinished()
    const { stateFolder, outputFolder, manifestPath } = this.#project
    const runs = runsFolder(this.#project)
    await makeFolder(runs)
    this.#handle = await open(this.#path, 'ax', 0o600)
    for (const above of [runs, stateFolder, outputFolder]) await syncFolder(above)
    const manifest = basename(manifestPath)
    const begin = { type: 'begin', run: this.run, manifest, version: __VERSION__ } as const
    return writeLine(begin, this.#clock.now())
  }

  /** Takes off a line that an earlier process did not get to finish. */
  async #openUnfinished(): Promise<string> {
    const bytes = (await readStateFile(this.#path)) ?? Buffer.alloc(0)
    const lastLine = bytes.lastIndexOf(10) + 1
    const isWhole = readLine(bytes.subarray(lastLine)) !== undefined
    this.#syncedBytes = isWhole ? bytes.length : lastLine
    this.#handle = await open(this.#path, constants.O_WRONLY | constants.O_APPEND)
    await this.#handle.truncate(this.#syncedBytes)
    return isWhole ? '\n' : ''
  }
}

type EventOf<Type> = Extract<JournalEvent, { type: Type }>

export type RecordedFailure = EventOf<'failure'>

export interface Spent {
  readonly creates: number
  readonly cost: Amount
}

/** What the journals of a manifest know, by the keys of requests. */
export class History {
  readonly results = new Map<string, EventOf<'result'>>()
  /** Requests that are under way, or of which nobody knows what became, with the runs that began them. */
  readonly intents = new Map<string, EventOf<'intent'> & { readonly run: string }>()
  /** Remote jobs to continue, also where the line of the intent was damaged. */
  readonly jobs = new Map<string, Pick<EventOf<'job'>, 'id' | 'kind'>>()
  readonly made = new Map<string, MadeImages>()
  readonly failures = new Map<string, RecordedFailure>()
  readonly costs = new Map<string, number>()
  /** Keys that the newest run has discarded and made again. */
  readonly remade = new Set<string>()
  readonly problems: string[] = []
  /** Damaged lines of runs that have not ended, each a clause: any of them could be the intent of a request. */
  readonly damaged: string[] = []
  /** Keys that were discarded, and have no result since. */
  readonly discarded = new Set<string>()
  /** What the newest run has spent, by idempotency key: an intent that is sent again creates nothing more. */
  readonly #spent = new Map<string, Spent>()
  #run = ''
  #hasEnded = true

  isStarted(key: string): boolean {
    return this.jobs.has(key) || this.made.has(key)
  }

  /** Whether a request may have been sent that has not come to its end. */
  isOpen(key: string): boolean {
    return this.intents.has(key) || this.isStarted(key)
  }

  get unfinished(): { readonly run: string; readonly used: Spent } | null {
    if (this.#hasEnded) return null
    const used = { creates: 0, cost: 0n }
    for (const { creates, cost } of this.#spent.values()) {
      used.creates += creates
      used.cost += cost
    }
    return { run: this.#run, used }
  }

  note(event: JournalEvent): void {
    switch (event.type) {
      case 'begin':
        this.#run = event.run
        this.#hasEnded = false
        this.#spent.clear()
        this.remade.clear()
        return
      case 'intent': {
        const { key, idempotency_key, creates, cost } = event
        this.intents.set(key, { ...event, run: this.#run })
        this.#spent.set(idempotency_key, { creates, cost: amountOf(cost ?? 0) })
        if (cost !== null) this.costs.set(key, cost)
        this.failures.delete(key)
        return
      }
      case 'job':
        this.jobs.set(event.key, { id: event.id, kind: event.kind })
        return
      case 'made':
        this.made.set(event.key, event.made)
        return
      case 'result':
        this.results.set(event.key, event)
        this.failures.delete(event.key)
        if (this.discarded.delete(event.key)) this.remade.add(event.key)
        this.#close(event.key)
        return
      case 'failure':
        this.failures.set(event.key, event)
        this.#close(event.key)
        return
      case 'release':
        this.#spent.delete(this.intents.get(event.key)?.idempotency_key ?? '')
        this.#close(event.key)
        return
      case 'discard':
        this.results.delete(event.key)
        this.failures.delete(event.key)
        this.discarded.add(event.key)
        this.#close(event.key)
        return
      case 'end':
        this.#hasEnded = true
    }
  }

  #close(key: string): void {
    this.intents.delete(key)
    this.jobs.delete(key)
    this.made.delete(key)
  }
}

/** May be called while a run is writing. @param whole of a shard, its project: what that leaves open is not its run */
export async function readHistory(project: Project, whole?: Project): Promise<History> {
  const history = new History()
  const manifest = basename(project.manifestPath)
  for (const place of whole === undefined ? [project] : [whole, project]) {
    for await (const { bytes, path, run } of readJournals(place)) readRun(bytes, path, run, manifest, history)
    if (place === whole) history.note({ type: 'end', run: '' })
  }
  return history
}

function readRun(bytes: Buffer, path: string, run: string, manifest: string, history: History): void {
  const shown = shownPath(path)
  const events = [...readLines(bytes)]
  const [first] = events
  if (events.length === 0 || (first?.type === 'begin' && first.manifest !== manifest)) return
  // Whose it is may be lost with its first line. The keys of another manifest do no harm here.
  history.note({ type: 'begin', run, manifest, version: '' })
  for (const event of events) if (event !== undefined && event.type !== 'begin') history.note(event)
  const damaged = events.flatMap((event, at) => (event === undefined ? [at + 1] : []))
  if (damaged.length > 0) {
    const lines = `${damaged.length === 1 ? 'Line' : 'Lines'} ${firstFew(damaged.map(String), 5)}`
    history.problems.push(`${lines} of ${shown} cannot be read; the other lines are used.`)
  }
  // The first line is never an intent; and when nothing was left to do, none was open.
  const endedAt = events.findLastIndex((event) => event?.type === 'end')
  const open = damaged.filter((line) => line > Math.max(1, endedAt))
  history.damaged.push(...open.map((line) => `line ${line} of ${shown} is damaged`))
  // Continuing it could be continuing the run of another manifest.
  if (first?.type !== 'begin') history.note({ type: 'end', run })
}

export async function readEvents(project: Project): Promise<readonly JournalEvent[]> {
  const events: JournalEvent[] = []
  for await (const { bytes } of readJournals(project)) {
    for (const event of readLines(bytes)) if (event !== undefined) events.push(event)
  }
  return events
}
