import { amountOf, shownAmount } from '../cost/amount.ts'
import type { UsageDocument, UsageSums } from '../events/call.ts'
import { grouped } from '../quantities.ts'
import { tabbedText, tableText, type Column } from './table-cells.ts'

const headings = { model: 'MODEL', command: 'COMMAND', day: 'DAY' } as const

type Line = UsageSums & { readonly key?: string | null }

type Sum = readonly [heading: string, value: (sums: UsageSums) => number, dropOrder: number]

const sums: readonly Sum[] = [
  ['FAILED', ({ failed }) => failed, 2],
  ['UNCLEAR', ({ maybe_billed: maybe }) => maybe, 3],
  ['IMAGES', ({ images }) => images, 5],
  ['SECONDS', ({ video_seconds: seconds }) => seconds, 4],
  ['IN', ({ input_tokens: tokens }) => tokens, 7],
  ['CACHED', ({ cached_tokens: tokens }) => tokens, 1],
  ['OUT', ({ output_tokens: tokens }) => tokens, 6],
]

const minName = 10

/** For scripts all fields, separated by tabs, without heading and total. */
export function usageTable({ by, rows, total }: UsageDocument, width: number | undefined): string {
  if (width === undefined) {
    return tabbedText(rows, (row) => {
      const values = sums.map(([, value]) => value(row))
      return [nameOf(row), row.calls, ...values, costField(row), row.unknown_costs]
    })
  }
  if (rows.length === 0) return ''
  const least = Math.max(minName, Math.floor(width / 3))
  const columns: readonly Column<Line>[] = [
    [headings[by], (line) => ('key' in line ? nameOf(line) : 'total'), { least }],
    ['CALLS', ({ calls }) => grouped(calls), { align: 'right' }],
    ...sums.map(([heading, value, dropOrder]): Column<Line> => {
      const cell = (line: Line) => (value(line) === 0 ? '' : grouped(value(line)))
      return [heading, cell, { align: 'right', dropOrder }]
    }),
    ['ESTIMATE', costCell, { align: 'right' }],
  ]
  return tableText([...rows, total], columns, { columns: width })
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
