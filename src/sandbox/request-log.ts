import type { EndpointName, NamedRule } from './faults/fault-rule.ts'

export type RequestRecord = ReturnType<typeof newRecord>

/** @param path without the query, which may hold a key */
export function newRecord(method: string, path: string, idempotencyKey: string | undefined, cameAt: number) {
  return {
    method,
    path,
    idempotencyKey,
    endpoint: undefined as EndpointName | undefined,
    model: undefined as string | undefined,
    /** Undefined until there is a reply, and if a fault dropped it. */
    status: undefined as number | undefined,
    created: false,
    /** Whether it was answered with the first answer to its `Idempotency-Key`. */
    repeats: false,
    /** Id of the rule. */
    fault: undefined as string | undefined,
    /** When it came, and when the last byte of its reply had been sent, on the monotonic clock. */
    cameAt,
    repliedAt: undefined as number | undefined,
  }
}

const kept = 10_000

/** The log of this sandbox, for tests and for `/sandbox/stats`. */
export function createRequestLog() {
  const requests: RequestRecord[] = []
  const faults: (Pick<NamedRule, 'id' | 'action'> & Pick<RequestRecord, 'method' | 'path'>)[] = []
  const creations = new Map<EndpointName, number>()
  let [count, repeats] = [0, 0]
  const total = () => [...creations.values()].reduce((sum, some) => sum + some, 0)
  return {
    /** @returns how many there are so far */
    add(record: RequestRecord): number {
      requests.push(record)
      if (requests.length > kept) requests.shift()
      return ++count
    },
    count({ created, repeats: isRepeat, endpoint, method, path }: RequestRecord, fault?: NamedRule) {
      if (isRepeat) repeats++
      if (created && endpoint !== undefined) creations.set(endpoint, (creations.get(endpoint) ?? 0) + 1)
      if (fault === undefined) return
      faults.push({ id: fault.id, action: fault.action, method, path })
      if (faults.length > kept) faults.shift()
    },
    /** Creations accepted so far, in total or for one endpoint. */
    created: (endpoint?: EndpointName) => (endpoint === undefined ? total() : (creations.get(endpoint) ?? 0)),
    requests: (): readonly Readonly<RequestRecord>[] => requests.map((record) => ({ ...record })),
    firedFaults: () => [...faults],
    stats: () => ({
      creations: { total: total(), ...Object.fromEntries(creations) },
      requests: count,
      repeats,
      faults: faults.map(({ id, action, path }) => ({ id, action, path })),
    }),
  }
}
