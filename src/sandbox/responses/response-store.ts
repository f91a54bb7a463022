import type { Clock } from '../../context.ts'
import type { JsonObject } from '../json-value.ts'
import type { ResponsePlan } from './plan-response.ts'

/** A background response waits this long, then runs this long; milliseconds on the sandbox's clock. */
const queuedMs = 500
const runningMs = 1500

/** Responses and conversations beyond this number push out the oldest. */
const kept = 1000

export interface StoredResponse {
  readonly plan: ResponsePlan
  /** Everything the model read: the conversation before, and the input. */
  readonly context: readonly JsonObject[]
}

/** What `store` keeps, and the conversations. Gone when the sandbox ends. */
export interface ResponseStore {
  keep(stored: StoredResponse): void
  find(id: string): StoredResponse | undefined
  /** The response object as of now: background responses move on with the clock. */
  current(id: string): JsonObject | undefined
  /** Stops a background response that has not ended yet. */
  cancel(id: string): void
  remove(id: string): boolean
  conversation(id: string): readonly JsonObject[]
  appendTo(conversation: string, items: readonly JsonObject[]): void
}

export function createResponseStore(clock: Clock): ResponseStore {
  const responses = new Map<string, StoredResponse & { readonly acceptedAt: number }>()
  const cancelled = new Set<string>()
  const conversations = new Map<string, readonly JsonObject[]>()
  const current = (id: string) => {
    const stored = responses.get(id)
    if (stored === undefined) return undefined
    const { plan, acceptedAt } = stored
    if (cancelled.has(id)) return plan.at('cancelled')
    const elapsed = clock.monotonic() - acceptedAt
    if (plan.body['background'] !== true || elapsed >= queuedMs + runningMs) return plan.final
    return plan.at(elapsed < queuedMs ? 'queued' : 'in_progress')
  }
  return {
    keep(stored) {
      responses.set(stored.plan.id, { ...stored, acceptedAt: clock.monotonic() })
      forgetOldest(responses)
    },
    find: (id) => responses.get(id),
    current,
    cancel(id) {
      const status = current(id)?.['status']
      if (status === 'queued' || status === 'in_progress') cancelled.add(id)
    },
    remove(id) {
      cancelled.delete(id)
      return responses.delete(id)
    },
    conversation: (id) => conversations.get(id) ?? [],
    appendTo(id, items) {
      conversations.set(id, [...(conversations.get(id) ?? []), ...items])
      forgetOldest(conversations)
    },
  }
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys()
  if (map.size > kept && oldest !== undefined) map.delete(oldest)
}
