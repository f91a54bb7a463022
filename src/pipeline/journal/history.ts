import { basename } from 'node:path'
import { amountOf, type Amount } from '../../cost/amount.ts'
import { shownPath } from '../../files/file-error.ts'
import type { MadeImages } from '../../files/calls/job-record.ts'
import { firstFew } from '../../quantities.ts'
import type { Project } from '../project.ts'
import { readJournals, readLines, type JournalEvent } from './journal.ts'

type EventOf<Type> = Extract<JournalEvent, { type: Type }>

export type RecordedFailure = EventOf<'failure'>

/** What a run has been allowed so far: counted when it is about to be sent, and not counted when it was released. */
export interface Spent {
  readonly creates: number
  /** By estimate; what has no price is left out. */
  readonly cost: Amount
}

/** What the journals of a manifest know. Keys are those of requests. */
export class History {
  /** The newest result of each key that was not discarded. */
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

  /** Whether the gateway has accepted a request that has not come to its end: what is left is free. */
  isStarted(key: string): boolean {
    return this.jobs.has(key) || this.made.has(key)
  }

  /** Whether a request may have been sent that has not come to its end. */
  isOpen(key: string): boolean {
    return this.intents.has(key) || this.isStarted(key)
  }

  /** The newest run, if it has not ended: the next one continues it. */
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

/**
 * Reads all journals of a manifest. May be called while a run is writing.
 * @param whole of a shard, the project whose journals come before its own: what they leave open is not its run
 * @throws FileError
 */
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
