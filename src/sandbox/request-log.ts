import type { EndpointName, FaultAction } from './faults/fault-rule.ts'

/** A request the sandbox received. */
export interface RequestRecord {
  readonly method: string
  /** Without the query, which may hold a key. */
  readonly path: string
  readonly endpoint: EndpointName | undefined
  readonly model: string | undefined
  readonly idempotencyKey: string | undefined
  /** HTTP status of the reply; undefined until there is one, and if a fault dropped it. */
  readonly status: number | undefined
  readonly created: boolean
  /** Whether it was answered with the first answer to its `Idempotency-Key`. */
  readonly repeats: boolean
  /** Id of the fault rule that fired. */
  readonly fault: string | undefined
  /** When it came, and when the last byte of its reply had been sent, on the monotonic clock. */
  readonly cameAt: number
  readonly repliedAt: number | undefined
}

export interface FiredFault {
  readonly id: string
  readonly action: FaultAction
  readonly method: string
  readonly path: string
}

/** Maximum number of requests kept; older ones are dropped. */
const kept = 10_000

/** The record of a request in progress. */
export type OpenRecord = { -readonly [Name in keyof RequestRecord]: RequestRecord[Name] }

export type RequestLog = ReturnType<typeof createRequestLog>

/** The log of this sandbox, for tests and for `/sandbox/stats`. */
export function createRequestLog() {
  const requests: OpenRecord[] = []
  const faults: FiredFault[] = []
  const creations = new Map<EndpointName, number>()
  let count = 0
  let repeats = 0
  const total = () => [...creations.values()].reduce((sum, some) => sum + some, 0)
  return {
    /** @returns the record, to be completed, and the number of requests so far */
    open(method: string, path: string, cameAt: number) {
      const record: OpenRecord = {
        method,
        path,
        endpoint: undefined,
        model: undefined,
        idempotencyKey: undefined,
        status: undefined,
        created: false,
        repeats: false,
        fault: undefined,
        cameAt,
        repliedAt: undefined,
      }
      requests.push(record)
      if (requests.length > kept) requests.shift()
      return { record, number: ++count }
    },
    countCreation: (endpoint: EndpointName) =>
      void creations.set(endpoint, (creations.get(endpoint) ?? 0) + 1),
    countRepeat: () => void repeats++,
    addFault(fault: FiredFault) {
      faults.push(fault)
      if (faults.length > kept) faults.shift()
    },
    /** Creations accepted so far, in total or for one endpoint. */
    created: (endpoint?: EndpointName) => (endpoint === undefined ? total() : (creations.get(endpoint) ?? 0)),
    requests: (): readonly RequestRecord[] => requests.map((record) => ({ ...record })),
    firedFaults: (): readonly FiredFault[] => [...faults],
    stats: () => ({
      creations: { total: total(), ...Object.fromEntries(creations) },
      requests: count,
      repeats,
      faults: faults.map(({ id, action, path }) => ({ id, action, path })),
    }),
  }
}
