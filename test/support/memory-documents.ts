import { randomUUID } from 'node:crypto'
import type { Clock } from '../../src/context.ts'
import { ModelgateError } from '../../src/errors.ts'
import type { JsonObject } from '../../src/json.ts'
import {
  expiryMs,
  type Documents,
  type DocumentStore,
  type Writes,
} from '../../src/pipeline/queue/document-store.ts'

export interface MemoryDocuments extends DocumentStore {
  /** All that there is now, by name. */
  readonly all: Documents
}

interface Options {
  readonly clock: Pick<Clock, 'now'>
  /**
   * Asked once per transaction: whether the server is lost before it has written, or once it has (the caller sees the same
   * error).
   */
  readonly fault?: (names: readonly string[]) => 'before' | 'after' | undefined
}

/**
 * A document store in this process. Several parties may share it. Each `change` is called twice with documents of its own,
 * so that one which remembers something or changes what it was given is noticed.
 */
export function memoryDocuments({ clock, fault = () => undefined }: Options): MemoryDocuments {
  const texts = new Map<string, { readonly json: string; readonly expiresAt: number }>()
  const watchers = new Set<(message: string) => void>()

  const select = (names: Iterable<string>): Map<string, JsonObject> => {
    const found = new Map<string, JsonObject>()
    for (const name of names) {
      const text = texts.get(name)
      if (text !== undefined && text.expiresAt > clock.now())
        found.set(name, JSON.parse(text.json) as JsonObject)
    }
    return found
  }

  const tell = (message: string) => {
    for (const watcher of watchers) queueMicrotask(() => watchers.has(watcher) && watcher(message))
  }

  const write = (names: readonly string[], writes: Writes<unknown>) => {
    const expiring = new Set(writes.expiring)
    const stray = [...writes.documents.keys()].find((name) => !names.includes(name))
    if (stray !== undefined) throw new Error(`${stray} is written, and was not read.`)
    for (const [name, document] of writes.documents) {
      const expiresAt = expiring.has(name) ? clock.now() + expiryMs : Infinity
      if (document === null) texts.delete(name)
      else texts.set(name, { json: JSON.stringify(document), expiresAt })
    }
    for (const message of writes.messages ?? []) tell(message)
  }

  return {
    identity: randomUUID(),
    get all() {
      return select(texts.keys())
    },
    async read(names) {
      return select(names)
    },
    async transact(names, change) {
      const happens = fault(names)
      if (happens === 'before') throw lost()
      change(select(names), clock.now())
      const writes = change(select(names), clock.now())
      write(names, writes)
      if (happens === 'after') throw lost()
      return writes.result
    },
    async notify(message) {
      tell(message)
    },
    async watch(onMessage, onGap) {
      // A function of its own for each, so that the same one can watch twice.
      const watcher = (message: string) => onMessage(message)
      watchers.add(watcher)
      onGap()
      return async () => void watchers.delete(watcher)
    },
    close: async () => {},
  }
}

function lost(): ModelgateError {
  return new ModelgateError('notSent', 'queue_unreachable', 'The queue cannot be reached.', {
    phase: 'connect',
  })
}
