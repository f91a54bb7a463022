import { sleep, type Clock } from '../../context.ts'
import type { JsonObject } from '../../json.ts'
import { ServerLost, type DocumentServer } from './document-server.ts'
import type { DocumentStore, Writes } from './document-store.ts'
import { unreachable, type QueueUrl } from './queue-url.ts'

/** So many documents are read at once. */
const maxNames = 500
/** How long a server may be away, as while it is restarted, before a call fails; milliseconds. */
const patienceMs = 10_000
/** The longest pause after a conflict, milliseconds. */
const maxPauseMs = 64

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
    async transact(names, change) {
      const all = [...new Set(names)].sort()
      for (let conflicts = 0; ; conflicts++) {
        const snapshot = await patiently(() => server.snapshot(all))
        const { result, ...writes } = change(snapshot.documents, snapshot.now)
        const { documents, expiring = [], messages = [] } = writes
        checkNames(all, writes)
        if (documents.size === 0 && messages.length === 0) return result
        const changes = { documents, expiring: new Set(expiring), messages }
        if (await patiently(() => server.write(snapshot, changes))) return result
        // Of many that try again, one is always the first.
        await pause(clock.random() * Math.min(2 ** conflicts, maxPauseMs))
      }
    },
    close: () => closing.abort(),
  }
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
