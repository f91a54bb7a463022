import * as v from 'valibot'
import { UsageError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../json.ts'
import { resultOf } from '../lock/block-shape.ts'
import { lanes as laneNames } from '../manifest/manifest.ts'
import type { LanesDocument } from './queue-lanes.ts'
import type { RunRecord } from './run-record.ts'
import type { TaskDocument } from './task-document.ts'

/** The documents of a queue, each by its kind. */
interface Kinds {
  readonly task: TaskDocument
  readonly run: RunRecord
  readonly lanes: LanesDocument
  readonly worker: { readonly beat: number }
}

const count = v.pipe(v.number(), v.integer(), v.minValue(0))
const amount = v.pipe(v.string(), v.regex(/^\d+(?:\.\d+)?$/))
const lane = v.picklist(laneNames)
const perLane = <Shape extends v.GenericSchema>(shape: Shape) =>
  v.object({ text: shape, image: shape, video: shape })

/** The facts of a result are checked where results are read. */
const result = v.custom((value) => {
  let isValid = true
  const found = resultOf(value, () => (isValid = false))
  return found !== undefined && isValid
})

const outcome = v.variant('kind', [
  v.object({
    kind: v.literal('result'),
    result,
    cost: v.nullable(v.object({ amount, currency: v.string() })),
    warnings: v.array(v.string()),
  }),
  v.object({ kind: v.literal('error'), error: v.unknown() }),
])

const shapes = {
  task: v.object({
    attempt: v.string(),
    earlier: v.array(v.string()),
    run: v.string(),
    instance: v.string(),
    lane,
    creates: count,
    cost: v.nullable(amount),
    onUnknown: v.picklist(['stop', 'retry']),
    state: v.picklist(['waiting', 'sent', 'started', 'done', 'failed', 'unknown', 'withdrawn']),
    since: v.number(),
    worker: v.nullable(v.string()),
    isCounted: v.boolean(),
    mayBeThere: v.boolean(),
    failures: count,
    notBefore: v.number(),
    place: v.nullable(
      v.object({ number: count, outages: count, isProbe: v.boolean(), isAnswered: v.boolean() }),
    ),
    job: v.nullable(v.object({ id: v.string(), kind: v.picklist(['video', 'operation', 'response']) })),
    outcome: v.nullable(outcome),
  }),
  run: v.object({
    lanes: perLane(count),
    creates: v.nullable(v.object({ value: count, name: v.string() })),
    cost: v.nullable(v.object({ value: amount, name: v.string(), currency: v.string() })),
    used: v.object({ creates: count, cost: amount }),
    inFlight: perLane(count),
    retries: v.object({ used: count, allowed: count }),
    gaveUp: v.nullable(v.string()),
  }),
  lanes: v.object({
    lanes: perLane(
      v.object({
        concurrency: count,
        pausedUntil: v.number(),
        sent: count,
        lastOfBurst: count,
        bursts: count,
        clean: count,
        inFlight: count,
      }),
    ),
    circuit: v.object({
      isOpen: v.boolean(),
      failures: count,
      outages: count,
      opensAt: v.number(),
      isProbing: v.boolean(),
    }),
    sent: v.array(v.tuple([v.string(), v.number()])),
  }),
  worker: v.object({ beat: v.number() }),
} as const

/**
 * A document of a kind; undefined where there is none.
 * @throws UsageError `queue_document` for one that this version cannot read: to take it for absent could be to pay twice
 */
export function queueDocument<Kind extends keyof Kinds>(kind: Kind, value: unknown): Kinds[Kind] | undefined {
  if (value === undefined) return undefined
  const found = v.safeParse(shapes[kind], value)
  if (found.success) return found.output as Kinds[Kind]
  throw unreadable(`a ${kind} document`)
}

/** The JSON of a document as a server keeps it. @throws UsageError `queue_document` for one that is spoilt */
export function parseDocument(name: string, json: string): JsonObject {
  try {
    const value: unknown = JSON.parse(json)
    if (isObject(value)) return value
  } catch {
    // Told below.
  }
  throw unreadable(`the document ${JSON.stringify(name.slice(0, 100))}`)
}

function unreadable(what: string): UsageError {
  return new UsageError(`The queue holds ${what}, which this version of modelgate cannot read.`, {
    code: 'queue_document',
    phase: 'config',
    hint: 'Use the same version of modelgate for a run and all of its workers; a damaged queue needs another name.',
  })
}
