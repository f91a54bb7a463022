import { basename, join } from 'node:path'
import { amountOf, type Amount } from '../../cost/amount.ts'
import { shownPath } from '../../files/file-error.ts'
import type { MadeImages } from '../../files/jobs/job-record.ts'
import type { Result } from '../lock/lock-block.ts'
import type { Project } from '../project.ts'
import { namesIn, readStateFile } from '../state-folder.ts'
import { damagedLine, readLines, type JournalEvent } from './journal-line.ts'

/** One request for one candidate. */
interface Attempt {
  readonly instance: string
  readonly key: string
  /** From 1. */
  readonly variant: number
}

/** A result that lies in the folder of its key. */
export interface RecordedResult extends Attempt {
  /** Where version 0.1.0 has recorded it. */
  readonly result?: Result | undefined
  /** The asserts that it failed, each a sentence; null when it holds them all. */
  readonly rejected: readonly string[] | null
}

/** A request that is under way, or of which nobody knows what became. */
export interface OpenIntent extends Attempt {
  readonly run: string
  /** To be sent again with the request, where the gateway honours it. */
  readonly idempotencyKey: string
  readonly creates: number
  /** An estimate; null while it is not known. */
  readonly cost: Amount | null
  /** The identity of the queue that it was given to; null for a request of this machine alone. */
  readonly queue: string | null
  /** Where that queue is; null where the journal does not say so. */
  readonly queueAt: string | null
}

export type RemoteJob = Pick<Extract<JournalEvent, { type: 'job' }>, 'id' | 'kind'>
export type RecordedFailure = Omit<Extract<JournalEvent, { type: 'failure' }>, 'type'> & {
  readonly run: string
}

/** What a run has been allowed so far: counted when it is about to be sent, and not counted when it was released. */
export interface Spent {
  readonly creates: number
  /** By estimate; what has no price is left out. */
  readonly cost: Amount
}

/** What the journals say of a key. What came before it was discarded does not count. */
interface KeyHistory {
  readonly result: RecordedResult | null
  /** A request that may have been sent, and of which nothing more is known than its job. */
  readonly open:
    | ({ readonly job: RemoteJob | null; readonly made: MadeImages | null } & Pick<
        OpenIntent,
        'queue' | 'queueAt'
      >)
    | null
  /** Whether it was discarded, and has no result since. */
  readonly isDiscarded: boolean
}

/** What the journals of a manifest know. Keys are those of requests. */
export interface History {
  of(key: string): KeyHistory | undefined
  /** The newest result of each key that was not discarded. */
  readonly results: ReadonlyMap<string, RecordedResult>
  readonly intents: ReadonlyMap<string, OpenIntent>
  /** Remote jobs to go on with, also where the line of the intent was damaged. */
  readonly jobs: ReadonlyMap<string, RemoteJob>
  /** Results that are made, and not fetched yet. */
  readonly made: ReadonlyMap<string, MadeImages>
  /** How the newest attempt failed, if it did. */
  readonly failures: ReadonlyMap<string, RecordedFailure>
  /** The idempotency keys of requests of which nothing is to be fetched any more. */
  readonly settled: ReadonlySet<string>
  readonly costs: ReadonlyMap<string, number>
  /** Keys that the newest run has discarded and made again. */
  readonly remade: ReadonlySet<string>
  /** The newest run, if it has not ended: the next one goes on with it. */
  readonly unfinished: { readonly run: string; readonly used: Spent } | null
  /** Lines that could not be read, each a sentence. */
  readonly problems: readonly string[]
  /** Damaged lines of runs that have not ended, each a clause: any of them could be the intent of a request. */
  readonly damaged: readonly string[]
  /** Takes in an event that has been appended since. */
  note(event: JournalEvent): void
}

/** A history of nothing; `note` fills it. */
export function createHistory(problems: readonly string[] = [], damaged: readonly string[] = []): History {
  const results = new Map<string, RecordedResult>()
  const intents = new Map<string, OpenIntent>()
  const jobs = new Map<string, RemoteJob>()
  const made = new Map<string, MadeImages>()
  const failures = new Map<string, RecordedFailure>()
  const costs = new Map<string, number>()
  const settled = new Set<string>()
  const discarded = new Set<string>()
  const remade = new Set<string>()
  /** The intents of the newest run that count, by their idempotency keys: one that is sent again creates nothing more. */
  const counted = new Map<string, OpenIntent>()
  let run = ''
  let hasEnded = true

  const close = (key: string) => {
    const intent = intents.get(key)
    if (intent !== undefined) settled.add(intent.idempotencyKey)
    intents.delete(key)
    jobs.delete(key)
    made.delete(key)
  }
  const apply = (event: JournalEvent) => {
    switch (event.type) {
      case 'begin':
        run = event.run
        hasEnded = false
        counted.clear()
        remade.clear()
        return
      case 'intent': {
        const { instance, key, variant, idempotency_key: idempotencyKey, creates, cost } = event
        const { queue = null, queue_at: queueAt = null } = event
        const estimate = cost === null ? null : amountOf(cost)
        const intent = {
          instance,
          key,
          variant,
          run,
          idempotencyKey,
          creates,
          cost: estimate,
          queue,
          queueAt,
        }
        intents.set(key, intent)
        if (cost !== null) costs.set(key, cost)
        failures.delete(key)
        counted.set(idempotencyKey, intent)
        return
      }
      case 'job':
        jobs.set(event.key, { id: event.id, kind: event.kind })
        return
      case 'made':
        made.set(event.key, event.made)
        return
      case 'result': {
        const { instance, key, variant, result, rejected } = event
        results.set(key, { instance, key, variant, result, rejected })
        failures.delete(key)
        if (discarded.delete(key)) remade.add(key)
        close(key)
        return
      }
      case 'failure': {
        const { type: _, ...failure } = event
        failures.set(event.key, { ...failure, run })
        close(event.key)
        return
      }
      case 'release': {
        const intent = intents.get(event.key)
        if (intent !== undefined) counted.delete(intent.idempotencyKey)
        close(event.key)
        return
      }
      case 'discard':
        results.delete(event.key)
        failures.delete(event.key)
        discarded.add(event.key)
        close(event.key)
        return
      case 'end':
        hasEnded = true
    }
  }

  return {
    results,
    intents,
    jobs,
    made,
    failures,
    settled,
    costs,
    remade,
    problems,
    damaged,
    note: apply,
    of(key) {
      const result = results.get(key) ?? null
      const job = jobs.get(key) ?? null
      const { queue = null, queueAt = null } = intents.get(key) ?? {}
      const found = made.get(key) ?? null
      const isOpen = intents.has(key) || job !== null || found !== null
      const open = isOpen ? { job, made: found, queue, queueAt } : null
      const isDiscarded = discarded.has(key)
      return result === null && open === null && !isDiscarded ? undefined : { result, open, isDiscarded }
    },
    get unfinished() {
      if (hasEnded) return null
      return { run, used: sumOf(counted.values()) }
    },
  }
}

function sumOf(intents: Iterable<OpenIntent>): Spent {
  const used = { creates: 0, cost: 0n }
  for (const { creates, cost } of intents) {
    used.creates += creates
    used.cost += cost ?? 0n
  }
  return used
}

/** The folder of the journals. */
export function runsFolder({ stateFolder }: Project): string {
  return join(stateFolder, 'runs')
}

/** `20261122T121607123-1a2b3c4d.jsonl`: the order of the names is that of the runs. */
const journalName = /^(\d{8}T\d{9}-[0-9a-f]{8})\.jsonl$/

/** The ids of all runs in the folder, the oldest first; none where there is no folder. @throws FileError */
export async function listRuns(folder: string): Promise<string[]> {
  return (await namesIn(folder)).flatMap((name) => journalName.exec(name)?.[1] ?? []).toSorted()
}

/** So many lines of a journal that cannot be read are named. */
const maxProblems = 5

/**
 * Reads all journals of a manifest. May be called while a run is writing.
 * @param whole of a shard, the project whose journals come before its own: what they leave open is not its run
 * @throws FileError
 */
export async function readHistory(project: Project, whole?: Project): Promise<History> {
  const manifest = basename(project.manifestPath)
  const problems: string[] = []
  const damaged: string[] = []
  const history = createHistory(problems, damaged)
  for (const place of whole === undefined ? [project] : [whole, project]) {
    const folder = runsFolder(place)
    for (const run of await listRuns(folder)) {
      const path = join(folder, `${run}.jsonl`)
      const bytes = await readStateFile(path)
      let count = 0
      const found = readRun(bytes ?? Buffer.alloc(0), run, manifest, history, (line, problem) => {
        if (++count > maxProblems) return
        problems.push(`Line ${line} of ${shownPath(path)} ${problem}; the other lines are used.`)
      })
      damaged.push(...found.map((line) => `line ${line} of ${shownPath(path)} is damaged`))
      if (count > maxProblems) {
        problems.push(`${count - maxProblems} more lines of ${shownPath(path)} cannot be read.`)
      }
    }
    if (place === whole) history.note({ type: 'end', run: '' })
  }
  return history
}

/** All events of the journals of a project that can be read, the oldest first. @throws FileError */
export async function readEvents(project: Project): Promise<readonly JournalEvent[]> {
  const folder = runsFolder(project)
  const events: JournalEvent[] = []
  for (const run of await listRuns(folder)) {
    const bytes = (await readStateFile(join(folder, `${run}.jsonl`))) ?? Buffer.alloc(0)
    for (const { event } of readLines(bytes)) if (event !== undefined) events.push(event)
  }
  return events
}

/** @returns the numbers of damaged lines, unless nothing was left to do when the run ended */
function readRun(
  bytes: Buffer,
  run: string,
  manifest: string,
  history: History,
  report: (line: number, problem: string) => void,
): readonly number[] {
  let damaged: number[] = []
  let number = 0
  let isWhole = false
  for (const { event, problem } of readLines(bytes)) {
    number++
    if (event?.type === 'begin' && event.manifest !== manifest) return []
    if (number === 1) {
      isWhole = event?.type === 'begin'
      // Whose it is may be lost with its first line. The keys of another manifest do no harm here.
      history.note({ type: 'begin', run, manifest, version: '' })
    }
    if (event?.type === 'end') damaged = []
    // The first line is never an intent.
    if (problem === damagedLine && number > 1) damaged.push(number)
    if (problem !== undefined) report(number, problem)
    else if (event.type !== 'begin') history.note(event)
  }
  // To go on with it could be to go on with the run of another manifest.
  if (number > 0 && !isWhole) history.note({ type: 'end', run })
  return damaged
}
