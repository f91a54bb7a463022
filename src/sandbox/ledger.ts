import type { EndpointName, FaultAction } from './faults/rule.ts'

/** A request the sandbox received. */
export interface RequestRecord {
  readonly method: string
  /** Without the query, which may hold a key. */
  readonly path: string
  readonly endpoint: EndpointName | undefined
  readonly model: string | undefined
  readonly idempotencyKey: string | undefined
  /** HTTP status of the reply; undefined while there is none, and for good when a fault swallowed it. */
  readonly status: number | undefined
  readonly created: boolean
  /** Id of the fault rule that fired. */
  readonly fault: string | undefined
}

export interface FiredFault {
  readonly id: string
  readonly action: FaultAction
  readonly method: string
  readonly path: string
}

/** Requests beyond this number push out the oldest. */
const kept = 10_000

/** The record of one request while it is under way. */
export interface RequestEntry {
  update(facts: Partial<RequestRecord>): RequestRecord
}

/** What happened in this sandbox, for tests and for `/sandbox/stats`. */
export interface Ledger {
  open(method: string, path: string): RequestEntry
  countCreation(endpoint: EndpointName): void
  noteFault(fault: FiredFault): void
  /** Creations accepted so far, in all or of one endpoint. */
  created(endpoint?: EndpointName): number
  requests(): readonly RequestRecord[]
  firedFaults(): readonly FiredFault[]
  stats(): object
}

export function createLedger(): Ledger {
  const requests: RequestRecord[] = []
  const faults: FiredFault[] = []
  const creations = new Map<EndpointName, number>()
  let total = 0
  let count = 0
  const created = (endpoint?: EndpointName) =>
    endpoint === undefined ? total : (creations.get(endpoint) ?? 0)
  return {
    open(method, path) {
      let record: RequestRecord = {
        method,
        path,
        endpoint: undefined,
        model: undefined,
        idempotencyKey: undefined,
        status: undefined,
        created: false,
        fault: undefined,
      }
      requests.push(record)
      count++
      if (requests.length > kept) requests.shift()
      return {
        update(facts) {
          const next = { ...record, ...facts }
          const place = requests.lastIndexOf(record)
          if (place !== -1) requests[place] = next
          record = next
          return next
        },
      }
    },
    countCreation(endpoint) {
      total++
      creations.set(endpoint, created(endpoint) + 1)
    },
    noteFault(fault) {
      faults.push(fault)
      if (faults.length > kept) faults.shift()
    },
    created,
    requests: () => [...requests],
    firedFaults: () => [...faults],
    stats: () => ({
      creations: { total, ...Object.fromEntries(creations) },
      requests: count,
      faults: faults.map(({ id, action, path }) => ({ id, action, path })),
    }),
  }
}
