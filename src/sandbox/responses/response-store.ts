import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { createJsonStore } from '../json-store.ts'
import { isObject, objectOf, textOf, type JsonObject } from '../json-value.ts'
import type { OutputItem } from './output-items.ts'

/** Maximum number of responses, of those in conversations, and of bytes in their requests; older ones are dropped. */
const kept = 1000
const keptInConversations = 10_000
const keptBytes = 128 * 1024 * 1024
/** The overhead of an item, whose bytes other responses may share. */
const bytesOfItem = 100
/** A larger request is kept in memory only. */
const maxBytesOnDisk = 8 * 1024 * 1024
/** How long a response is kept, in milliseconds. */
const lifetimeMs = 24 * 3_600_000
/** Reading all files takes time, so only some responses look for old ones. */
const shareThatRemovesOld = 0.05

/** When a background response is accepted and how long it takes, in milliseconds of the wall clock. */
export interface Timing {
  readonly acceptedAt: number
  readonly pendingMs: number
  readonly runningMs: number
  readonly cancelledAt: number | null
}

/** All of a response, decided before any of it is sent, so that every way to get it gives the same. */
export interface BuiltResponse {
  /** The response object at its end. */
  readonly response: JsonObject
  readonly items: readonly OutputItem[]
  /** Whether generation ends with an error in mid-stream. */
  readonly breaksOff: boolean
}

/** Plain data, which can be kept on disk. */
export interface StoredResponse extends BuiltResponse {
  readonly id: string
  /** Whether the deltas of its stream are padded. */
  readonly pads: boolean
  /** Everything the model read: the conversation before, and the input. */
  readonly context: readonly JsonObject[]
  /** Bytes of the request and of the pictures. */
  readonly size: number
  /** Null for a response that does not run in the background. */
  readonly timing: Timing | null
}

export function begunOf(response: JsonObject): JsonObject {
  const notYet = { usage: undefined, completed_at: undefined }
  return { ...response, error: null, incomplete_details: null, output: [], ...notYet }
}

/** When a response ends, in milliseconds since 1970; those that do not run in the background end at once. */
function endOf({ timing }: StoredResponse): number {
  return timing === null ? -Infinity : timing.acceptedAt + timing.pendingMs + timing.runningMs
}

/** The response object at a time in milliseconds since 1970: background responses move on with the clock. */
export function responseAt(stored: StoredResponse, now: number): JsonObject {
  const { response, timing } = stored
  const isCancelled = timing !== null && timing.cancelledAt !== null
  if (!isCancelled && now >= endOf(stored)) return response
  const isQueued = timing !== null && now - timing.acceptedAt < timing.pendingMs
  return { ...begunOf(response), status: isCancelled ? 'cancelled' : isQueued ? 'queued' : 'in_progress' }
}

/**
 * The stored responses and the conversations. They are lost when the sandbox ends; what a folder keeps is found by all
 * sandboxes that share it.
 * @param folder one file for each response that is kept there, created with the first one; undefined for memory
 * @param keepsAll whether the folder keeps all stored responses, or only those in the background
 */
export function createResponseStore(host: FileHost, folder: string | undefined, keepsAll = false) {
  const { clock } = host
  /** What complete responses add to a conversation, by the ids of the responses. */
  const additions = createBoundedMap<{
    readonly conversation: string
    readonly items: readonly JsonObject[]
    readonly endsAt: number
  }>(keptInConversations, keptBytes)
  const store = createJsonStore<StoredResponse>(host, {
    folder,
    isEntry: ({ response, items, context, timing }) =>
      isObject(response) && Array.isArray(items) && Array.isArray(context) && timing !== undefined,
    isOver: ({ response }, now) => now - Number(response['created_at']) * 1000 > lifetimeMs,
    maxEntries: kept,
    maxBytes: keptBytes,
  })
  const isInMemory = (isBackground: boolean) => !isBackground && !keepsAll
  const write = (stored: StoredResponse) => {
    const { size, context, timing } = stored
    const inMemoryOnly = isInMemory(timing !== null) || size > maxBytesOnDisk
    return store.keep(stored, { bytes: size + context.length * bytesOfItem, inMemoryOnly })
  }

  return {
    /** Makes the id of a response differ from those of other sandboxes with the same folder; empty for one in memory. */
    idSalt: (isBackground: boolean) => (isInMemory(isBackground) ? [] : store.salt()),
    /**
     * Stores a response unless it asks not to be, and appends it to its conversation: once it is complete, and only then
     * (specification, "States and transitions").
     */
    async keep(stored: StoredResponse, input: readonly JsonObject[]) {
      const { id, response, items, size, timing } = stored
      // A background response can only be looked up, so it is always stored.
      if (response['store'] !== false || timing !== null) {
        await write(stored)
        if (timing !== null || clock.random() < shareThatRemovesOld) await store.list()
      }
      const conversation = textOf(objectOf(response['conversation'])['id'])
      if (conversation === '' || response['status'] !== 'completed') return
      const added = [...input, ...items.map(({ item }) => item)]
      const endsAt = timing === null ? clock.now() : endOf(stored)
      additions.set(id, { conversation, items: added, endsAt }, size + added.length * bytesOfItem)
    },
    find: store.find,
    /** An output item of any response in memory. */
    findItem: (id: string): JsonObject | undefined =>
      store.memory
        .values()
        .flatMap(({ items }) => items)
        .find(({ item }) => item['id'] === id)?.item,
    conversationItems(id: string): readonly JsonObject[] {
      const ended = [...additions.values()].filter(
        ({ conversation, endsAt }) => conversation === id && endsAt <= clock.now(),
      )
      return ended.sort((one, other) => one.endsAt - other.endsAt).flatMap(({ items }) => items)
    },
    /** Stops a background response that has not ended yet. */
    async cancel(stored: StoredResponse): Promise<StoredResponse> {
      const { id, timing } = stored
      if (timing === null || timing.cancelledAt !== null || clock.now() >= endOf(stored)) return stored
      const cancelled = { ...stored, timing: { ...timing, cancelledAt: clock.now() } }
      additions.delete(id)
      await write(cancelled)
      return cancelled
    },
  }
}
