import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import type { JobPacing } from '../http/reply.ts'
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
const lifetimeMs = 24 * 3_600_000
/** Reading all files takes time, so only some responses look for old ones. */
const shareThatRemovesOld = 0.05

/** A response, decided before any of it is sent, so that every way to get it gives the same. Plain data, for the disk. */
export interface StoredResponse extends Pick<JobPacing, 'pendingMs' | 'runningMs'> {
  readonly id: string
  readonly response: JsonObject
  readonly items: readonly OutputItem[]
  /** Whether generation ends with an error in mid-stream. */
  readonly breaksOff: boolean
  readonly pads: boolean
  /** Everything the model read: the conversation before, and the input. */
  readonly context: readonly JsonObject[]
  /** Bytes of the request and of the pictures. */
  readonly size: number
  /** Milliseconds since 1970. A response that does not run in the background takes no time from here on. */
  readonly acceptedAt: number
  readonly isCancelled: boolean
}

export function isBackground({ background }: JsonObject): boolean {
  return background === true
}

export function begunOf(response: JsonObject): JsonObject {
  const notYet = { usage: undefined, completed_at: undefined }
  return { ...response, error: null, incomplete_details: null, output: [], ...notYet }
}

function endOf({ acceptedAt, pendingMs, runningMs }: StoredResponse): number {
  return acceptedAt + pendingMs + runningMs
}

/** The response object at a time in milliseconds since 1970: background responses move on with the clock. */
export function responseAt(stored: StoredResponse, now: number): JsonObject {
  const { response, acceptedAt, pendingMs, isCancelled } = stored
  if (isCancelled) return { ...begunOf(response), status: 'cancelled' }
  if (now >= endOf(stored)) return response
  return { ...begunOf(response), status: now < acceptedAt + pendingMs ? 'queued' : 'in_progress' }
}

/** @param keepsAll whether the folder keeps all stored responses, or only those in the background */
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
    isEntry: ({ response, items, context, acceptedAt }) =>
      isObject(response) && Array.isArray(items) && Array.isArray(context) && acceptedAt !== undefined,
    isOver: ({ acceptedAt }, now) => now - acceptedAt > lifetimeMs,
    maxEntries: kept,
    maxBytes: keptBytes,
  })
  const isInMemory = (response: JsonObject) => !keepsAll && !isBackground(response)
  const write = (stored: StoredResponse) => {
    const { response, size, context } = stored
    const inMemoryOnly = isInMemory(response) || size > maxBytesOnDisk
    return store.keep(stored, { bytes: size + context.length * bytesOfItem, inMemoryOnly })
  }

  return {
    /** Makes the id of a response differ from those of other sandboxes with the same folder; empty for one in memory. */
    idSalt: (request: JsonObject) => (isInMemory(request) ? [] : store.salt()),
    /** Stores a response, and once it is complete, adds it to its conversation (specification, "States and transitions"). */
    async keep(stored: StoredResponse, input: readonly JsonObject[]) {
      const { id, response, items, size } = stored
      // A background response can only be looked up, so it is always stored.
      if (response['store'] !== false || isBackground(response)) {
        await write(stored)
        if (isBackground(response) || clock.random() < shareThatRemovesOld) await store.list()
      }
      const conversation = textOf(objectOf(response['conversation'])['id'])
      if (conversation === '' || response['status'] !== 'completed') return
      const added = [...input, ...items.map(({ item }) => item)]
      const addition = { conversation, items: added, endsAt: endOf(stored) }
      additions.set(id, addition, size + added.length * bytesOfItem)
    },
    find: store.find,
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
    async cancel(stored: StoredResponse): Promise<StoredResponse> {
      if (stored.isCancelled || clock.now() >= endOf(stored)) return stored
      const cancelled = { ...stored, isCancelled: true }
      additions.delete(stored.id)
      await write(cancelled)
      return cancelled
    },
  }
}
