import type { Clock } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { JsonObject } from '../json-value.ts'
import type { ResponsePlan } from './plan-response.ts'

/** A background response waits this long, then runs this long; milliseconds on the sandbox's clock. */
const queuedMs = 500
const runningMs = 1500

/** Maximum number of responses and conversations, and of bytes in their requests; older ones are dropped. */
const kept = 1000
const keptBytes = 128 * 1024 * 1024
/** Maximum items per conversation; the earliest are dropped. */
const keptItems = 10_000
/** The overhead of an item, whose bytes other responses may share. */
const bytesOfItem = 100

export interface StoredResponse {
  readonly plan: ResponsePlan
  /** Everything the model read: the conversation before, and the input. */
  readonly context: readonly JsonObject[]
  /** Bytes of the request. */
  readonly size: number
}

/** The stored responses and the conversations. Lost when the sandbox ends. */
export interface ResponseStore {
  keep(stored: StoredResponse): void
  find(id: string): StoredResponse | undefined
  /** The response object as of now: background responses move on with the clock. */
  current(id: string): JsonObject | undefined
  /** Stops a background response that has not ended yet. */
  cancel(id: string): void
  remove(id: string): boolean
  conversation(id: string): readonly JsonObject[]
  /** @param size in bytes */
  appendTo(conversation: string, items: readonly JsonObject[], size: number): void
}

export function createResponseStore(clock: Clock): ResponseStore {
  const responses = createBoundedMap<StoredResponse & { acceptedAt: number; isCancelled: boolean }>(
    kept,
    keptBytes,
  )
  const conversations = createBoundedMap<Conversation>(kept, keptBytes)
  const current = (id: string) => {
    const stored = responses.get(id)
    if (stored === undefined) return undefined
    const { plan, acceptedAt, isCancelled } = stored
    if (isCancelled) return plan.at('cancelled')
    const elapsed = clock.monotonic() - acceptedAt
    if (plan.body['background'] !== true || elapsed >= queuedMs + runningMs) return plan.final
    return plan.at(elapsed < queuedMs ? 'queued' : 'in_progress')
  }
  return {
    keep(stored) {
      const size = stored.size + stored.context.length * bytesOfItem
      const entry = { ...stored, acceptedAt: clock.monotonic(), isCancelled: false }
      responses.set(stored.plan.id, entry, size)
    },
    find: (id) => responses.get(id),
    current,
    cancel(id) {
      const [entry, status] = [responses.get(id), current(id)?.['status']]
      if (entry !== undefined && (status === 'queued' || status === 'in_progress')) entry.isCancelled = true
    },
    remove: (id) => responses.delete(id),
    conversation: (id) => conversations.get(id)?.items ?? [],
    appendTo(id, items, added) {
      const before = conversations.get(id) ?? { items: [], size: 0 }
      // Drop a conversation that becomes too large.
      const isTooLarge = before.size + added > keptBytes
      const earlier = isTooLarge ? { items: [], size: 0 } : before
      const size = earlier.size + added
      conversations.set(id, { items: [...earlier.items, ...items].slice(-keptItems), size }, size)
    },
  }
}

interface Conversation {
  readonly items: readonly JsonObject[]
  /** Bytes of all its requests. */
  readonly size: number
}
