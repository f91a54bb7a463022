import * as v from 'valibot'
import type { FileHost } from '../../context.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { createJsonFolder } from '../json-folder.ts'
import type { JsonObject } from '../json-value.ts'
import { createConversations, type Conversations } from './conversation-store.ts'
import { restorePlan, type ResponsePlan } from './plan-response.ts'

/** Maximum number of responses, and of bytes in their requests; older ones are dropped. */
const kept = 1000
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

/** What a response adds to its conversation once it is complete. */
export interface Addition {
  readonly conversation: string
  readonly items: readonly JsonObject[]
}

/**
 * The stored responses and the conversations. They are lost when the sandbox ends; what a folder keeps is found by all
 * sandboxes that share it.
 */
export interface ResponseStore {
  /** Makes the id of a response differ from those of other sandboxes with the same folder; empty for one in memory. */
  idSalt(isBackground: boolean): readonly number[]
  keep(stored: StoredResponse): Promise<void>
  find(id: string): Promise<StoredResponse | undefined>
  /** An output item of any response in memory. */
  findItem(id: string): JsonObject | undefined
  /** Stops a background response that has not ended yet. */
  cancel(id: string): Promise<void>
  remove(id: string): Promise<void>
  /** The conversations, with what has become complete since. */
  conversations(): Promise<Conversations>
  /**
   * Adds the items of a response to its conversation as soon as it is complete, and only then (specification, "States
   * and transitions").
   */
  append(stored: StoredResponse, addition: Addition): Promise<void>
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
  return hasRun ? stored.plan.final : stored.plan.at(status)
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

/**
 * @param folder one file for each response that is kept there, created with the first one; undefined for memory
 * @param keepsAll whether the folder keeps all stored responses, or only those in the background
 */
export function createResponseStore(
  host: FileHost,
  folder: string | undefined,
  keepsAll: boolean,
): ResponseStore {
  const { clock } = host
  const inMemory = createBoundedMap<StoredResponse>(kept, keptBytes)
  const onDisk =
    folder === undefined ? undefined : createJsonFolder(folder, (value) => v.parse(entrySchema, value), host)
  const conversations = createConversations(clock)
  /** Of background responses that have not ended. */
  const pending = createBoundedMap<Addition & { readonly size: number }>(kept, keptBytes)

  const isShared = (isBackground: boolean) => onDisk !== undefined && (isBackground || keepsAll)
  const keepInMemory = (stored: StoredResponse) => {
    inMemory.set(stored.plan.id, stored, stored.size + stored.context.length * bytesOfItem)
  }
  const keep = async (stored: StoredResponse) => {
    const { plan, context, size, timing } = stored
    if (onDisk === undefined || !isShared(timing !== null) || size > maxBytesOnDisk)
      return keepInMemory(stored)
    const { id, begun, final, items, breaksOff } = plan
    // The context has the input.
    const body = { ...plan.body, input: undefined }
    const keptAt = clock.now()
    const entry = { id, plan: { body, begun, final, items, breaksOff }, context, size, timing, keptAt }
    await onDisk.write(entry as unknown as Entry).catch(() => keepInMemory(stored))
  }
  const find = async (id: string): Promise<StoredResponse | undefined> => {
    const entry = inMemory.get(id) === undefined ? await onDisk?.read(id) : undefined
    return entry === undefined ? inMemory.get(id) : { ...entry, plan: restorePlan({ id, ...entry.plan }) }
  }
  const removeOld = async () => {
    await onDisk?.removeHalfWritten(clock.now())
    for (const { id, keptAt } of (await onDisk?.list()) ?? []) {
      if (clock.now() - keptAt > lifetimeMs) await onDisk?.remove(id)
    }
  }
  /** Adds what has become complete since, in the order of the ends. */
  const settle = async () => {
    const ended: { readonly at: number; readonly id: string }[] = []
    for (const id of pending.keys()) {
      const stored = await find(id)
      const status = stored === undefined ? 'gone' : statusAt(stored, clock.now())
      if (status === 'queued' || status === 'in_progress') continue
      const { acceptedAt = 0, pendingMs = 0, runningMs = 0 } = stored?.timing ?? {}
      if (status === 'completed') ended.push({ at: acceptedAt + pendingMs + runningMs, id })
      else pending.delete(id)
    }
    for (const { id } of ended.sort((one, other) => one.at - other.at)) {
      const addition = pending.get(id)
      if (addition !== undefined) conversations.add(addition.conversation, addition.items, addition.size)
      pending.delete(id)
    }
  }

  return {
    idSalt: (isBackground) => (isShared(isBackground) ? [clock.now(), clock.random()] : []),
    async keep(stored) {
      await keep(stored)
      if (stored.timing !== null || clock.random() < shareThatRemovesOld) await removeOld()
    },
    find,
    findItem(id) {
      for (const { plan } of inMemory.values()) {
        const found = plan.items.find(({ item }) => item['id'] === id)
        if (found !== undefined) return found.item
      }
      return undefined
    },
    async cancel(id) {
      const stored = await find(id)
      if (stored?.timing == null) return
      const status = statusAt(stored, clock.now())
      if (status !== 'queued' && status !== 'in_progress') return
      await keep({ ...stored, timing: { ...stored.timing, cancelledAt: clock.now() } })
    },
    async remove(id) {
      if (!inMemory.delete(id)) await onDisk?.remove(id)
    },
    async conversations() {
      await settle()
      return conversations
    },
    async append(stored, { conversation, items }) {
      const { plan, size, timing } = stored
      if (timing !== null) pending.set(plan.id, { conversation, items, size }, size)
      await settle()
      // Nothing tells the end of one that is not stored, and it has ended.
      const isComplete = timing === null && statusAt(stored, clock.now()) === 'completed'
      if (isComplete) conversations.add(conversation, items, size)
    },
  }
}
