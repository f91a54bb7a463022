import * as v from 'valibot'
import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { createJsonFolder } from '../json-folder.ts'
import type { JsonObject } from '../json-value.ts'
import { conversationId, type ResponsePlan } from './plan-response.ts'

/** Maximum number of responses, of those in conversations, and of bytes in their requests; older ones are dropped. */
const kept = 1000
const keptInConversations = 10_000
const keptBytes = 128 * 1024 * 1024
/** The overhead of an item, whose bytes other responses may share. */
const bytesOfItem = 100
/** A larger request is kept in memory only. */
const maxBytesOnDisk = 8 * 1024 * 1024
/** How long a response is kept on disk, in milliseconds. */
const lifetimeMs = 24 * 3_600_000

/** When a background response is accepted and how long it takes; milliseconds of the wall clock, so that all processes agree. */
export interface Timing {
  readonly acceptedAt: number
  readonly pendingMs: number
  readonly runningMs: number
  readonly cancelledAt: number | null
}

export interface StoredResponse {
  readonly plan: ResponsePlan
  /** Everything the model read: the conversation before, and the input. */
  readonly context: readonly JsonObject[]
  /** Bytes of the request. */
  readonly size: number
  /** Null unless it runs in the background. */
  readonly timing: Timing | null
}

/** The status of a response at a time in milliseconds since 1970: background responses move on with the clock. */
function statusAt({ plan, timing }: StoredResponse, now: number): string {
  if (timing?.cancelledAt != null) return 'cancelled'
  const elapsed = timing === null ? Infinity : now - timing.acceptedAt
  if (timing === null || elapsed >= timing.pendingMs + timing.runningMs) return String(plan.final['status'])
  return elapsed < timing.pendingMs ? 'queued' : 'in_progress'
}

/** The response object at a time in milliseconds since 1970. */
export function responseAt(stored: StoredResponse, now: number): JsonObject {
  const status = statusAt(stored, now)
  const hasRun = status !== 'queued' && status !== 'in_progress' && status !== 'cancelled'
  return hasRun ? stored.plan.final : { ...stored.plan.begun, status }
}

const milliseconds = v.pipe(v.number(), v.safeInteger())
const json = v.record(v.string(), v.unknown())
const entrySchema = v.object({
  id: v.string(),
  plan: v.object({
    body: json,
    begun: json,
    final: json,
    items: v.array(v.looseObject({ item: json, tokens: v.array(v.string()), logprobs: v.array(json) })),
    breaksOff: v.boolean(),
  }),
  context: v.array(json),
  size: v.number(),
  timing: v.nullable(
    v.object({
      acceptedAt: milliseconds,
      pendingMs: milliseconds,
      runningMs: milliseconds,
      cancelledAt: v.nullable(milliseconds),
    }),
  ),
  keptAt: milliseconds,
})
type Entry = v.InferOutput<typeof entrySchema>

/** Reading all files takes time, so only some responses look for old ones. */
const shareThatRemovesOld = 0.05

interface Addition {
  readonly conversation: string
  readonly items: readonly JsonObject[]
  /** When the response is complete, in milliseconds since 1970. */
  readonly endsAt: number
}

export type ResponseStore = ReturnType<typeof createResponseStore>

/**
 * The stored responses and the conversations. They are lost when the sandbox ends; what a folder keeps is found by all
 * sandboxes that share it.
 * @param folder one file for each response that is kept there, created with the first one; undefined for memory
 * @param keepsAll whether the folder keeps all stored responses, or only those in the background
 */
export function createResponseStore(host: FileHost, folder: string | undefined, keepsAll = false) {
  const { clock } = host
  const inMemory = createBoundedMap<StoredResponse>(kept, keptBytes)
  /** By the ids of the responses. */
  const additions = createBoundedMap<Addition>(keptInConversations, keptBytes)
  const onDisk =
    folder === undefined ? undefined : createJsonFolder(folder, (value) => v.parse(entrySchema, value), host)

  const isShared = (isBackground: boolean) => onDisk !== undefined && (isBackground || keepsAll)
  const keepInMemory = (stored: StoredResponse) => {
    inMemory.set(stored.plan.id, stored, stored.size + stored.context.length * bytesOfItem)
  }
  const write = async (stored: StoredResponse) => {
    const { plan, context, size, timing } = stored
    if (onDisk === undefined || !isShared(timing !== null) || size > maxBytesOnDisk)
      return keepInMemory(stored)
    const { id, ...others } = plan
    // The context has the input.
    const body = { ...plan.body, input: undefined }
    const entry = { id, plan: { ...others, body }, context, size, timing, keptAt: clock.now() }
    await onDisk.write(entry as unknown as Entry).catch(() => keepInMemory(stored))
  }
  const removeOld = async () => {
    await onDisk?.removeHalfWritten(clock.now())
    for (const { id, keptAt } of (await onDisk?.list()) ?? []) {
      if (clock.now() - keptAt > lifetimeMs) await onDisk?.remove(id)
    }
  }

  return {
    /** Makes the id of a response differ from those of other sandboxes with the same folder; empty for one in memory. */
    idSalt: (isBackground: boolean) => (isShared(isBackground) ? [clock.now(), clock.random()] : []),
    /**
     * Stores a response unless it asks not to be, and appends it to its conversation: once it is complete, and only then
     * (specification, "States and transitions").
     */
    async keep(stored: StoredResponse, input: readonly JsonObject[]) {
      const { plan, size, timing } = stored
      // A background response can only be looked up, so it is always stored.
      if (plan.body['store'] !== false || timing !== null) {
        await write(stored)
        if (timing !== null || clock.random() < shareThatRemovesOld) await removeOld()
      }
      const conversation = conversationId(plan.body)
      if (conversation === undefined || plan.final['status'] !== 'completed') return
      const items = [...input, ...plan.items.map(({ item }) => item)]
      const { acceptedAt = clock.now(), pendingMs = 0, runningMs = 0 } = timing ?? {}
      const addition = { conversation, items, endsAt: acceptedAt + pendingMs + runningMs }
      additions.set(plan.id, addition, size + items.length * bytesOfItem)
    },
    async find(id: string): Promise<StoredResponse | undefined> {
      const known = inMemory.get(id)
      const entry = known === undefined ? await onDisk?.read(id) : undefined
      return entry === undefined ? known : { ...entry, plan: { id, ...entry.plan } }
    },
    /** An output item of any response in memory. */
    findItem(id: string): JsonObject | undefined {
      for (const { plan } of inMemory.values()) {
        const found = plan.items.find(({ item }) => item['id'] === id)
        if (found !== undefined) return found.item
      }
      return undefined
    },
    /** The items of a conversation, in the order in which its responses ended. */
    conversationItems(id: string): readonly JsonObject[] {
      const ended = [...additions.values()].filter(
        ({ conversation, endsAt }) => conversation === id && endsAt <= clock.now(),
      )
      return ended.sort((one, other) => one.endsAt - other.endsAt).flatMap(({ items }) => items)
    },
    /** Stops a background response that has not ended yet. */
    async cancel(stored: StoredResponse): Promise<StoredResponse> {
      const { plan, timing } = stored
      if (timing === null || !['queued', 'in_progress'].includes(statusAt(stored, clock.now()))) return stored
      const cancelled = { ...stored, timing: { ...timing, cancelledAt: clock.now() } }
      additions.delete(plan.id)
      await write(cancelled)
      return cancelled
    },
  }
}
