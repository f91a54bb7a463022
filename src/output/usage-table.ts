import { amountOf, shownAmount } from '../cost/amount.ts'
import type { UsageDocument, UsageSums } from '../events/call.ts'
import { grouped } from '../quantities.ts'
import { tabbedText, tableText, type Column } from './table-cells.ts'

const headings = { model: 'MODEL', command: 'COMMAND', day: 'DAY' } as const

type Line = UsageSums & { readonly key?: string | null }

interface Sum {
  readonly column: Column<Line>
  readonly field: (sums: UsageSums) => string | number
}

const counted = (heading: string, value: (sums: UsageSums) => number, dropOrder?: number): Sum => ({
  column: {
    heading,
    cell: (sums) => (value(sums) === 0 && dropOrder !== undefined ? '' : grouped(value(sums))),
    align: 'right',
    ...(dropOrder !== undefined && { dropOrder }),
  },
  field: value,
})

const sums: readonly Sum[] = [
  counted('CALLS', ({ calls }) => calls),
  counted('FAILED', ({ failed }) => failed, 2),
  counted('UNCLEAR', ({ maybe_billed: maybe }) => maybe, 3),
  counted('IMAGES', ({ images }) => images, 5),
  counted('SECONDS', ({ video_seconds: seconds }) => seconds, 4),
  counted('IN', ({ input_tokens: tokens }) => tokens, 7),
  counted('CACHED', ({ cached_tokens: tokens }) => tokens, 1),
  counted('OUT', ({ output_tokens: tokens }) => tokens, 6),
  { column: { heading: 'ESTIMATE', cell: costCell, align: 'right' }, field: costField },
]

const minName = 10

/** For scripts all fields, separated by tabs, without heading and total. */
export function usageTable({ by, rows, total }: UsageDocument, width: number | undefined): string {
  if (width === undefined) {
    return tabbedText(rows, (row) => [nameOf(row), ...sums.map(({ field }) => field(row)), row.unknown_costs])
  }
  if (rows.length === 0) return ''
  const name: Column<Line> = {
    heading: headings[by],
    cell: (line) => ('key' in line ? nameOf(line) : 'total'),
    least: Math.max(minName, Math.floor(width / 3)),
  }
  return tableText([...rows, total], [name, ...sums.map(({ column }) => column)], { columns: width })
}

function nameOf({ key }: { readonly key?: string | null }): string {
  return key ?? "the gateway's choice"
}

function costCell({ costs, unknown_costs: unknown }: UsageSums): string {
  const known = costs.map(({ amount, currency }) => `${shownAmount(amountOf(amount))} ${currency}`)
  if (known.length === 0) return unknown === 0 ? '' : 'unknown'
  return [...known, ...(unknown === 0 ? [] : ['?'])].join(' + ')
}

function costField({ costs }: UsageSums): string {
  return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' + ')
}

export function usageNotes(
  { total, rows, sandbox_calls: sandbox, since }: UsageDocument,
  isPriced: boolean,
): string[] {
  const { maybe_billed: maybe, unknown_costs: unknown, unknown_reasons: reasons } = total
  return [
    ...(rows.length > 0 ? [] : [emptyNote(since === null ? '' : ' since then', sandbox)]),
    ...(maybe === 0 ? [] : [`${calls(maybe)} may have been billed: the outcome is unknown.`]),
    ...(unknown === 0 ? [] : [`The cost of ${calls(unknown)} is unknown: ${reasonsText(reasons)}.`]),
    ...(sandbox === 0 || rows.length === 0
      ? []
      : [`Left out: ${calls(sandbox)} of the sandbox, which costs nothing.`]),
    ...(isPriced || rows.length === 0
      ? []
      : ['Costs are not known: the configuration has no prices (modelgate help money).']),
  ]
}

function emptyNote(since: string, sandbox: number): string {
  if (sandbox === 0) return `No calls are in the log${since}.`
  return `The log has only calls of the sandbox${since} (${grouped(sandbox)}), which cost nothing.`
}

function reasonsText(reasons: readonly string[]): string {
  const noPrice = 'no price for '
  const models = reasons
    .filter((reason) => reason.startsWith(noPrice))
    .map((reason) => reason.slice(noPrice.length))
  const others = reasons.filter((reason) => !reason.startsWith(noPrice))
  return [...(models.length === 0 ? [] : [noPrice + models.join(', ')]), ...others].join('; ')
}

function calls(count: number): string {
  return count === 1 ? '1 call' : `${grouped(count)} calls`
}
