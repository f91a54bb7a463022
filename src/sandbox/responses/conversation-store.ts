import type { Clock } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { type JsonObject, textOf } from '../json-value.ts'
import { seededHex } from '../seeded-random.ts'

/** Maximum number of conversations, and of bytes in their requests; older ones are dropped. */
const kept = 1000
const keptBytes = 128 * 1024 * 1024
/** Maximum items per conversation; the earliest are dropped. */
const keptItems = 10_000

export interface Conversation {
  /** Unix time in seconds. */
  readonly createdAt: number
  readonly metadata: JsonObject
  /** Each with its id. */
  readonly items: readonly JsonObject[]
  /** How many items have been added to it, which numbers the next. */
  readonly added: number
  /** Bytes of all its requests. */
  readonly size: number
}

/** The conversations of a sandbox, in memory. One that is not known begins with what is first added to it. */
export interface Conversations {
  find(id: string): Conversation | undefined
  /** Adds items, of a request of `size` bytes, and returns them with ids. */
  add(id: string, items: readonly JsonObject[], size: number): readonly JsonObject[]
  setMetadata(id: string, metadata: JsonObject): void
  removeItem(id: string, item: string): void
  remove(id: string): void
}

export function createConversations(clock: Clock): Conversations {
  const conversations = createBoundedMap<Conversation>(kept, keptBytes)
  const set = (id: string, change: Partial<Conversation>) => {
    const changed = { ...findOrBegin(id), ...change }
    conversations.set(id, changed, changed.size)
  }
  const findOrBegin = (id: string): Conversation =>
    conversations.get(id) ?? {
      createdAt: Math.floor(clock.now() / 1000),
      metadata: {},
      items: [],
      added: 0,
      size: 0,
    }
  return {
    find: (id) => conversations.get(id),
    add(id, items, size) {
      const before = findOrBegin(id)
      const named = items.map((item, index) => withId(item, id, before.added + index))
      // Drop the items of a conversation that becomes too large.
      const earlier = before.size + size > keptBytes ? { items: [], size: 0 } : before
      set(id, {
        items: [...earlier.items, ...named].slice(-keptItems),
        added: before.added + items.length,
        size: earlier.size + size,
      })
      return named
    },
    setMetadata: (id, metadata) => set(id, { metadata }),
    removeItem(id, item) {
      set(id, { items: findOrBegin(id).items.filter((known) => known['id'] !== item) })
    },
    remove: (id) => void conversations.delete(id),
  }
}

function withId(item: JsonObject, conversation: string, number: number): JsonObject {
  const type = textOf(item['type']) || 'message'
  const prefix = type === 'message' ? 'msg' : 'item'
  const id = `${prefix}_${seededHex(48, conversation, 'item', number)}`
  return { id, type, ...(type === 'message' && { status: 'completed' }), ...item }
}
