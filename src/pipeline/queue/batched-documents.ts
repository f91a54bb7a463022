import type { JsonObject } from '../../json.ts'
import type { Documents, DocumentStore, Writes } from './document-store.ts'

interface Waiting {
  readonly names: readonly string[]
  change(documents: Documents, now: number): Writes<unknown>
  resolve(result: unknown): void
  reject(reason: unknown): void
}

type Changed = { readonly result: unknown } | { readonly error: unknown }

/** So many documents are read and written at once. */
const maxNames = 200

/**
 * The same documents, with fewer transactions: the ones that are asked for while one is under way become a single one.
 * All requests of all workers meet in one document, and the disk of the server takes milliseconds for each transaction.
 */
export function batched(store: DocumentStore): DocumentStore {
  let waiting: Waiting[] = []
  let isRunning = false

  const runAll = async () => {
    isRunning = true
    while (waiting.length > 0) {
      const batch = takeBatch()
      await runBatch(store, batch)
    }
    isRunning = false
  }
  const takeBatch = (): readonly Waiting[] => {
    const names = new Set<string>()
    let count = 0
    for (const one of waiting) {
      for (const name of one.names) names.add(name)
      if (count > 0 && names.size > maxNames) break
      count++
    }
    const batch = waiting.slice(0, count)
    waiting = waiting.slice(count)
    return batch
  }

  return {
    identity: store.identity,
    read: (names) => store.read(names),
    transact<Result>(
      names: readonly string[],
      change: (documents: Documents, now: number) => Writes<Result>,
    ): Promise<Result> {
      const { promise, resolve, reject } = Promise.withResolvers<Result>()
      waiting.push({ names, change, resolve: (result) => resolve(result as Result), reject })
      if (!isRunning) void runAll()
      return promise
    },
    notify: (message) => store.notify(message),
    watch: (onMessage, onGap) => store.watch(onMessage, onGap),
    close: () => store.close(),
  }
}

/** Never rejects: each of the batch gets its own result or error. */
async function runBatch(store: DocumentStore, batch: readonly Waiting[]): Promise<void> {
  const names = [...new Set(batch.flatMap((one) => one.names))]
  try {
    const all = await store.transact(names, (documents, now) => changeAll(batch, documents, now))
    for (const [at, changed] of all.entries()) {
      if ('error' in changed) batch[at]!.reject(changed.error)
      else batch[at]!.resolve(changed.result)
    }
  } catch (error) {
    for (const one of batch) one.reject(error)
  }
}

/** One change after the other, each on what the ones before have left. One that throws changes nothing. */
function changeAll(batch: readonly Waiting[], documents: Documents, now: number): Writes<readonly Changed[]> {
  const current = new Map(documents)
  const written = new Map<string, JsonObject | null>()
  const expiring = new Set<string>()
  const messages: string[] = []
  const result = batch.map(({ names, change }): Changed => {
    try {
      const writes = change(pick(current, names), now)
      for (const [name, document] of writes.documents) {
        written.set(name, document)
        expiring.delete(name)
        if (document === null) current.delete(name)
        else current.set(name, document)
      }
      for (const name of writes.expiring ?? []) expiring.add(name)
      messages.push(...(writes.messages ?? []))
      return { result: writes.result }
    } catch (error) {
      return { error }
    }
  })
  return { documents: written, expiring: [...expiring], messages, result }
}

function pick(documents: Documents, names: readonly string[]): Documents {
  return new Map(
    names.flatMap((name) => {
      const found = documents.get(name)
      return found === undefined ? [] : [[name, found] as const]
    }),
  )
}
