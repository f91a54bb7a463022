import { amountNumber, type Amount } from '../cost/amount.ts'
import { costOf, type Cost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import { outputVersion } from '../events/version.ts'
import type { UsageDocument, UsageGrouping, UsageRow, UsageSums } from '../events/call.ts'
import type { JsonObject } from '../json.ts'
import { localDay } from '../local-time.ts'
import type { CountedCall } from '../files/calls/read-calls.ts'

/** Calls added up by the quarter of an hour in which they began. Look-ups and waits are none: they create nothing. */
export class CallSums {
  readonly #kinds: Map<string, Kind>
  /** Jobs whose tokens, or seconds, only a later look-up knows. */
  readonly #open: Map<string, CountedCall>
  #sandboxCalls: number

  constructor(saved: JsonObject = {}) {
    const { kinds = [], open = [], sandbox = 0 } = saved as Partial<ReturnType<CallSums['toJSON']>>
    this.#kinds = new Map(kinds)
    this.#open = new Map(open)
    this.#sandboxCalls = sandbox
  }

  toJSON() {
    return { kinds: [...this.#kinds], open: [...this.#open], sandbox: this.#sandboxCalls }
  }

  add(call: CountedCall): void {
    if (!creating.has(call.command)) this.#addLookUp(call)
    else if (call.sandbox) this.#sandboxCalls++
    else if (isOpen(call)) this.#open.set(call.created!.job!, call)
    else addTo(this.#kinds, quarterOf(call), call)
  }

  #addLookUp({ jobs = [], usage, files }: CountedCall): void {
    const [job = ''] = jobs
    const asked = this.#open.get(job)
    if (asked === undefined) return
    const savedSeconds = files.reduce((sum, { seconds = 0 }) => sum + seconds, 0)
    const isText = asked.command === 'respond'
    // Which of several jobs the seconds are of is not known.
    if (isText ? usage === undefined : jobs.length > 1 || savedSeconds === 0) return
    this.#open.delete(job)
    const told = isText
      ? { ...asked, usage: usage! }
      : { ...asked, created: { ...asked.created, video_seconds: savedSeconds } }
    addTo(this.#kinds, quarterOf(asked), told)
  }

  /** @param since milliseconds since 1970; undefined for all of the log */
  report(by: UsageGrouping, since: number | undefined, prices: Prices): UsageDocument {
    const merged = new Map<string, Kind>()
    const keyOf = (call: CountedCall) => (by === 'day' ? localDay(Date.parse(call.time)) : (call[by] ?? null))
    for (const kind of this.#kinds.values()) addTo(merged, keyOf(kind.sample), kind.sample, kind)
    for (const call of this.#open.values()) addTo(merged, keyOf(call), call)
    const priced = [...merged.values()].map((kind) => ({ kind, cost: costOfKind(kind, prices) }))
    const groups = Map.groupBy(priced, ({ kind }) => kind.key)
    const rows = [...groups].map(([key, kinds]): UsageRow => ({ key, ...sumOf(kinds) }))
    return {
      version: outputVersion,
      command: 'usage',
      since: since === undefined ? null : new Date(since).toISOString(),
      by,
      rows: rows.sort(orderOf(by)),
      total: sumOf(priced),
      sandbox_calls: this.#sandboxCalls,
      warnings: [],
    }
  }
}

/** `2026-11-27T08:3`: days begin with a quarter of an hour everywhere. */
function quarterOf({ time }: CountedCall): string {
  return `${time.slice(0, 14)}${Math.floor(Number(time.slice(14, 16)) / 15)}`
}

function addTo(kinds: Map<string, Kind>, key: string | null, call: CountedCall, sums = sumsOf(call)): void {
  const name = nameOfKind(key, call)
  const kind = kinds.get(name)
  if (kind === undefined) kinds.set(name, { ...sums, key, sample: sampleOf(call) })
  else addSums(kind, sums)
}

/** What prices depend on. */
function sampleOf({ time, command, model, error, usage, created, files }: CountedCall): CountedCall {
  const why = error && { ...error, message: '' }
  return { time, command, exit_code: 0, model, error: why, usage, created, files: files.slice(0, 1) }
}

function isOpen({ command, usage, created }: CountedCall): boolean {
  if (created?.job === undefined) return false
  if (command === 'respond') return usage === undefined
  return command.startsWith('video ') && created.video_seconds === undefined
}

const creating: ReadonlySet<string> = new Set(
  'generate,respond,chat,image create,image edit,video generate,video remix'.split(','),
)

type Sums = ReturnType<typeof sumsOf>
const none: Sums = { ...sumsOf({}), calls: 0 }
const sumNames = Object.keys(none) as readonly (keyof Sums)[]

/** Calls of one row that have one price, added up: a price is then looked up once, not a hundred thousand times. */
type Kind = Sums & { readonly key: string | null; readonly sample: CountedCall }

function addSums(to: Sums, sums: Sums): void {
  for (const name of sumNames) to[name] += sums[name]
}

function nameOfKind(key: string | null, { model, command, error, usage, created, files }: CountedCall) {
  const { images, video_seconds: seconds, video_size: videoSize } = created ?? {}
  const tokens =
    usage === undefined ? 0 : usage['input_tokens'] == null || usage['output_tokens'] == null ? 1 : 2
  const variant = images === undefined ? videoSize : `${images.size ?? sizeOf(files)}/${images.quality}`
  return `${key}|${model}|${command}|${error?.billed}|${tokens}|${variant}|${images === undefined}|${seconds === undefined}`
}

function sumsOf({ exit_code: code = 0, error, created, usage }: Partial<CountedCall>) {
  return {
    calls: 1,
    failed: code === 0 ? 0 : 1,
    maybe_billed: error?.billed === 'maybe' ? 1 : 0,
    images: created?.images?.count ?? 0,
    video_seconds: created?.video_seconds ?? 0,
    input_tokens: usage?.['input_tokens'] ?? 0,
    cached_tokens: usage?.['cached_tokens'] ?? 0,
    output_tokens: usage?.['output_tokens'] ?? 0,
    input_image_tokens: usage?.['input_image_tokens'] ?? 0,
  }
}

function sizeOf([file]: CountedCall['files']): string | null {
  return file?.width === undefined || file.height === undefined ? null : `${file.width}x${file.height}`
}

/** Undefined without prices, and for what was certainly not billed. */
function costOfKind(kind: Kind, prices: Prices): Cost | undefined {
  const { model = null, usage, created, files, command, error } = kind.sample
  if (Object.keys(prices).length === 0 || error?.billed === 'no') return undefined
  const { images, video_size: videoSize, video_seconds: seconds } = created ?? {}
  if (error?.billed === 'maybe' && usage === undefined && images === undefined) {
    return { amount: null, reason: 'the outcome is unknown' }
  }
  const isCounted = usage?.['input_tokens'] != null && usage['output_tokens'] != null
  return costOf(prices, {
    models: [model],
    tokens: isCounted ? kind : null,
    images: images && {
      count: kind.images,
      size: images.size ?? sizeOf(files),
      quality: images.quality ?? null,
    },
    video: command.startsWith('video ')
      ? { seconds: seconds === undefined ? null : kind.video_seconds, size: videoSize ?? null, quality: null }
      : undefined,
  })
}

/** More different reasons would not be read. */
const maxReasons = 20

function sumOf(kinds: readonly { readonly kind: Kind; readonly cost: Cost | undefined }[]): UsageSums {
  const sum = { ...none }
  const costs = new Map<string, Amount>()
  const reasons = new Set<string>()
  let unknown = 0
  for (const { kind, cost } of kinds) {
    addSums(sum, kind)
    if (cost === undefined) continue
    if (cost.amount !== null) costs.set(cost.currency, (costs.get(cost.currency) ?? 0n) + cost.amount)
    else {
      unknown += kind.calls
      reasons.add(cost.reason)
    }
  }
  const { input_image_tokens: _, ...sums } = sum
  return {
    ...sums,
    video_seconds: Math.round(sum.video_seconds * 1000) / 1000,
    costs: [...costs].map(([currency, amount]) => ({ currency, amount: amountNumber(amount) })),
    unknown_costs: unknown,
    unknown_reasons: [...reasons].slice(0, maxReasons),
  }
}

/** Days in their order; else by cost in the first currency, then by calls. */
function orderOf(by: UsageGrouping): (a: UsageRow, b: UsageRow) => number {
  if (by === 'day') return (a, b) => ((a.key ?? '') < (b.key ?? '') ? -1 : 1)
  const costIn = ({ costs }: UsageRow) => costs[0]?.amount ?? 0
  return (a, b) => costIn(b) - costIn(a) || b.calls - a.calls
}
