import { sleep, type Clock } from '../../context.ts'
import type { JsonObject } from '../../json.ts'
import { ServerLost, type Changes, type DocumentServer, type Snapshot } from './document-server.ts'
import type { Documents, DocumentStore, Writes } from './document-store.ts'
import { unreachable, type QueueUrl } from './queue-url.ts'

/** So many documents are read at once. */
const maxNames = 500
/** How long a server may be away, as while it is restarted, before a call fails; milliseconds. */
const patienceMs = 10_000
/** The longest pause after a conflict, milliseconds. */
const maxPauseMs = 500
/** So many tries after a conflict expect another one. */
const contendedTries = 20

/**
 * Reads and transactions over what a server can do at once. A transaction is tried until nobody has come between its
 * reading and its writing; what has certainly not been done is tried again until the server has been away for long.
 */
export function createTransactions(
  server: DocumentServer,
  url: QueueUrl,
  clock: Clock,
): Pick<DocumentStore, 'read' | 'transact'> & { close(): void } {
  const closing = new AbortController()
  /** Grows as long as others come between. */
  let pauseMs = 0
  let contended = 0

  const pause = async (ms: number) => {
    // `patiently` tells whoever waits that it is over.
    await sleep(clock, ms, closing.signal).catch(() => {})
  }

  const patiently = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const start = clock.monotonic()
    for (let tries = 0; ; tries++) {
      try {
        if (closing.signal.aborted) throw new ServerLost('it was closed.', { isCertain: true })
        return await work()
      } catch (error) {
        if (!(error instanceof ServerLost)) throw error
        const isOver = closing.signal.aborted || clock.monotonic() - start >= patienceMs
        if (!error.isCertain || isOver) throw unreachable(url, error.message)
        await pause(Math.min(50 * 2 ** tries, 1_000))
      }
    }
  }

  return {
    async read(names) {
      const all = [...new Set(names)]
      const found = new Map<string, JsonObject>()
      for (let start = 0; start < all.length; start += maxNames) {
        const some = all.slice(start, start + maxNames)
        const { documents } = await patiently(() => server.snapshot(some))
        for (const [name, document] of documents) found.set(name, document)
      }
      return found
    },
    async transact<Result>(names: readonly string[], change: Change<Result>) {
      const all = [...new Set(names)].sort()
      let outcome: { readonly result: Result } | undefined
      const changesOf = (snapshot: Snapshot): Changes => {
        const { result, ...writes } = change(snapshot.documents, snapshot.now)
        checkNames(all, writes)
        outcome = { result }
        const { documents, expiring = [], messages = [] } = writes
        return { documents, expiring: new Set(expiring), messages }
      }
      const tryOnce = async () => {
        const snapshot = await patiently(() => server.snapshot(all))
        const changes = changesOf(snapshot)
        return isNothing(changes) || patiently(() => server.write(snapshot, changes))
      }
      for (;;) {
        const { alone } = server
        const isAlone = alone !== undefined && contended > 0
        if (contended > 0) contended--
        const isWritten = isAlone ? await patiently(() => alone(all, changesOf)) : await tryOnce()
        pauseMs = isWritten ? pauseMs * 0.8 : Math.min(pauseMs * 1.5 + 0.5, maxPauseMs)
        if (isWritten) return outcome!.result
        contended = contendedTries
        // Of many that try again, one is always the first. The pauses of all of them are alike, so that none is passed by.
        if (alone === undefined) await pause(clock.random() * pauseMs)
      }
    },
    close: () => closing.abort(),
  }
}

type Change<Result> = (documents: Documents, now: number) => Writes<Result>

function isNothing({ documents, messages }: Changes): boolean {
  return documents.size === 0 && messages.length === 0
}

function checkNames(
  names: readonly string[],
  { documents, expiring = [] }: Omit<Writes<unknown>, 'result'>,
): void {
  const stray =
    [...documents.keys()].find((name) => !names.includes(name)) ??
    expiring.find((name) => !documents.has(name))
  if (stray !== undefined) throw new Error(`${stray} is written, and was not read.`)
}
