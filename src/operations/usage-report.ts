import { amountNumber, type Amount } from '../cost/amount.ts'
import { costOf, type Cost } from '../cost/estimate.ts'
import type { Prices } from '../cost/prices.ts'
import { outputVersion } from '../events/version.ts'
import type { UsageDocument, UsageGrouping, UsageRow, UsageSums } from '../events/usage-sums.ts'
import type { CountedCall } from '../files/calls/read-calls.ts'

export interface UsageQuestion {
  readonly by: UsageGrouping
  /** Milliseconds since 1970; undefined for all of the log. */
  readonly since: number | undefined
  readonly prices: Prices
  /** The local day of a time. @param time ISO 8601, UTC */
  dayOf(time: string): string
}

/**
 * Adds up calls. Look-ups and waits are none: they create nothing.
 * @param calls in the order in which they ended
 */
export function usageReport(
  calls: Iterable<CountedCall>,
  { by, since, prices, dayOf }: UsageQuestion,
): UsageDocument {
  const kinds = new Map<string, Kind>()
  /** Jobs whose tokens, or seconds, only a later look-up tells. */
  const open = new Map<string, CountedCall>()
  let sandboxCalls = 0
  const add = (call: CountedCall) => {
    const key = by === 'day' ? dayOf(call.time) : (call[by] ?? null)
    const name = nameOfKind(key, call)
    let kind = kinds.get(name)
    if (kind === undefined) kinds.set(name, (kind = { key, sample: call, ...none }))
    addCall(kind, call)
  }
  for (const call of calls) {
    if (!creating.has(call.command)) {
      const { jobs = [], usage, files } = call
      const [job = ''] = jobs
      const asked = open.get(job)
      if (asked === undefined) continue
      const savedSeconds = files.reduce((sum, { seconds = 0 }) => sum + seconds, 0)
      if (asked.command === 'respond') {
        if (usage === undefined) continue
        open.delete(job)
        add({ ...asked, usage })
        // Which of several jobs the seconds are of is not known.
      } else if (jobs.length === 1 && savedSeconds > 0) {
        open.delete(job)
        add({ ...asked, created: { ...asked.created, video_seconds: savedSeconds } })
      }
    } else if (call.sandbox) sandboxCalls++
    else if (isOpen(call)) open.set(call.created!.job!, call)
    else add(call)
  }
  open.forEach(add)
  const priced = [...kinds.values()].map((kind) => ({ kind, cost: costOfKind(kind, prices) }))
  const keys = new Set(priced.map(({ kind }) => kind.key))
  const rows = [...keys].map((key): UsageRow => ({
    key,
    ...sumOf(priced.filter(({ kind }) => kind.key === key)),
  }))
  return {
    version: outputVersion,
    command: 'usage',
    since: since === undefined ? null : new Date(since).toISOString(),
    by,
    rows: rows.sort(orderOf(by)),
    total: sumOf(priced),
    sandbox_calls: sandboxCalls,
    warnings: [],
  }
}

function isOpen({ command, usage, created }: CountedCall): boolean {
  if (created?.job === undefined) return false
  if (command === 'respond') return usage === undefined
  return command.startsWith('video ') && created.video_seconds === undefined
}

/** The commands that ask for something to be created. */
const creating: ReadonlySet<string> = new Set([
  'generate',
  'respond',
  'chat',
  'image create',
  'image edit',
  'video generate',
  'video remix',
])

const none = {
  calls: 0,
  failed: 0,
  maybe_billed: 0,
  images: 0,
  video_seconds: 0,
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  input_image_tokens: 0,
}

/** Calls of one row that have one price, added up: a price is then looked up once, not a hundred thousand times. */
type Kind = { -readonly [Name in keyof typeof none]: number } & {
  readonly key: string | null
  readonly sample: CountedCall
}

function nameOfKind(
  key: string | null,
  { model, command, error, usage, created, files }: CountedCall,
): string {
  const { images, video_seconds: seconds, video_size: videoSize } = created ?? {}
  const tokens =
    usage === undefined ? 0 : usage['input_tokens'] == null || usage['output_tokens'] == null ? 1 : 2
  const variant = images === undefined ? videoSize : `${images.size ?? sizeOf(files)}/${images.quality}`
  return `${key}|${model}|${command}|${error?.billed}|${tokens}|${variant}|${images === undefined}|${seconds === undefined}`
}

function addCall(kind: Kind, { exit_code: code, error, created, usage }: CountedCall): void {
  kind.calls++
  if (code !== 0) kind.failed++
  if (error?.billed === 'maybe') kind.maybe_billed++
  kind.images += created?.images?.count ?? 0
  kind.video_seconds += created?.video_seconds ?? 0
  kind.input_tokens += usage?.['input_tokens'] ?? 0
  kind.cached_tokens += usage?.['cached_tokens'] ?? 0
  kind.output_tokens += usage?.['output_tokens'] ?? 0
  kind.input_image_tokens += usage?.['input_image_tokens'] ?? 0
}

/** Width and height of the first file. */
function sizeOf([file]: CountedCall['files']): string | null {
  return file?.width === undefined || file.height === undefined ? null : `${file.width}x${file.height}`
}

/** Undefined without prices, and for what was certainly not billed. */
function costOfKind(kind: Kind, prices: Prices): Cost | undefined {
  const { model = null, usage, created, files, command, error } = kind.sample
  if (Object.keys(prices).length === 0 || error?.billed === 'no') return undefined
  const { images, video_size: videoSize, video_seconds: seconds } = created ?? {}
  if (error?.billed === 'maybe' && usage === undefined && images === undefined) {
    return { amount: null, code: 'no_usage', reason: 'the outcome is unknown' }
  }
  const isCounted = usage?.['input_tokens'] != null && usage['output_tokens'] != null
  return costOf(prices, {
    models: [model],
    tokens: isCounted ? kind : null,
    ...(images === undefined
      ? {}
      : {
          images: { count: kind.images, size: images.size ?? sizeOf(files), quality: images.quality ?? null },
        }),
    ...(command.startsWith('video ')
      ? {
          video: {
            seconds: seconds === undefined ? null : kind.video_seconds,
            size: videoSize ?? null,
            quality: null,
          },
        }
      : {}),
  })
}

/** More different reasons would not be read. */
const maxReasons = 20

function sumOf(kinds: readonly { readonly kind: Kind; readonly cost: Cost | undefined }[]): UsageSums {
  const sum = (name: keyof typeof none) => kinds.reduce((before, { kind }) => before + kind[name], 0)
  const costs = new Map<string, Amount>()
  const reasons = new Set<string>()
  let unknown = 0
  for (const { kind, cost } of kinds) {
    if (cost === undefined) continue
    if (cost.amount !== null) costs.set(cost.currency, (costs.get(cost.currency) ?? 0n) + cost.amount)
    else {
      unknown += kind.calls
      reasons.add(cost.reason)
    }
  }
  return {
    calls: sum('calls'),
    failed: sum('failed'),
    maybe_billed: sum('maybe_billed'),
    images: sum('images'),
    video_seconds: Math.round(sum('video_seconds') * 1000) / 1000,
    input_tokens: sum('input_tokens'),
    cached_tokens: sum('cached_tokens'),
    output_tokens: sum('output_tokens'),
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
