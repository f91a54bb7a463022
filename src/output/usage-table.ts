import { amountOf, shownAmount } from '../cost/amount.ts'
import type { UsageDocument, UsageRow, UsageSums } from '../events/usage-sums.ts'
import { cellsOf } from './cell-width.ts'
import { gap, oneLine, padded, shortened } from './table-cells.ts'

const headings = { model: 'MODEL', command: 'COMMAND', day: 'DAY' } as const

interface Column {
  readonly heading: string
  readonly cell: (sums: UsageSums) => string
  /** Fields for scripts are whole numbers; for a person they have groups of three digits. */
  readonly field: (sums: UsageSums) => string | number
  /** A column without anything in it is left out, except this. */
  readonly isFixed?: true
}

const counted = (heading: string, value: (sums: UsageSums) => number, isFixed?: true): Column => ({
  heading,
  cell: (sums) => (value(sums) === 0 ? '' : grouped(value(sums))),
  field: value,
  ...(isFixed && { isFixed }),
})

/** In the order of the table. */
const columns: readonly Column[] = [
  counted('CALLS', ({ calls }) => calls, true),
  counted('FAILED', ({ failed }) => failed),
  counted('UNCLEAR', ({ maybe_billed: maybe }) => maybe),
  counted('IMAGES', ({ images }) => images),
  counted('SECONDS', ({ video_seconds: seconds }) => seconds),
  counted('IN', ({ input_tokens: tokens }) => tokens),
  counted('CACHED', ({ cached_tokens: tokens }) => tokens),
  counted('OUT', ({ output_tokens: tokens }) => tokens),
  { heading: 'ESTIMATE', cell: (sums) => costCell(sums), field: (sums) => costField(sums) },
]

/** Left out in this order while there is no room. */
const optional = ['CACHED', 'FAILED', 'UNCLEAR', 'SECONDS', 'IMAGES', 'OUT', 'IN']

/** Columns of the name, at least. */
const minName = 10

/**
 * The rows of a report, each with a newline. For scripts all fields, separated by tabs, without heading and total.
 * @param width of the terminal; undefined for scripts
 */
export function usageTable({ by, rows, total }: UsageDocument, width: number | undefined): string {
  if (width === undefined) {
    return rows
      .map(
        (row) =>
          `${[nameOf(row), ...columns.map(({ field }) => field(row)), row.unknown_costs].join('\t')}\n`,
      )
      .join('')
  }
  if (rows.length === 0) return ''
  const lines = [...rows.map((row) => ({ name: nameOf(row), sums: row })), { name: 'total', sums: total }]
  const isEmpty = ({ cell }: Column) => lines.every(({ sums }) => cell(sums) === '')
  const widthOf = ({ heading, cell }: Column) =>
    Math.max(heading.length, ...lines.map(({ sums }) => cellsOf(cell(sums))))
  const longest = Math.max(headings[by].length, ...lines.map(({ name }) => cellsOf(name)))
  const named = Math.min(longest, Math.max(minName, Math.floor(width / 3)))
  const fits = (kept: readonly Column[]) =>
    kept.reduce((sum, column) => sum + gap.length + widthOf(column), named) <= width
  let shown = columns.filter((column) => column.isFixed || !isEmpty(column))
  for (const heading of optional) {
    if (!fits(shown)) shown = shown.filter((column) => column.heading !== heading)
  }
  const rest = width - shown.reduce((sum, column) => sum + gap.length + widthOf(column), 0)
  const nameWidth = Math.max(minName, Math.min(longest, rest))
  const line = (name: string, cells: readonly string[]) => {
    const right = shown.map((column, at) => cells[at]!.padStart(widthOf(column)))
    return `${shortened([padded(shortened(name, nameWidth), nameWidth), ...right].join(gap).trimEnd(), width)}\n`
  }
  return [
    line(
      headings[by],
      shown.map(({ heading }) => heading),
    ),
    ...lines.map(({ name, sums }) =>
      line(
        name,
        shown.map(({ cell }) => cell(sums)),
      ),
    ),
  ].join('')
}

function nameOf({ key }: UsageRow): string {
  return oneLine(key ?? "the gateway's choice")
}

/** What is not known is never nothing. */
function costCell({ costs, unknown_costs: unknown }: UsageSums): string {
  const known = costs.map(({ amount, currency }) => `${shownAmount(amountOf(amount))} ${currency}`)
  if (known.length === 0) return unknown === 0 ? '' : 'unknown'
  return [...known, ...(unknown === 0 ? [] : ['?'])].join(' + ')
}

function costField({ costs }: UsageSums): string {
  return costs.map(({ amount, currency }) => `${amount} ${currency}`).join(' + ')
}

/** What the numbers leave out, and where they come from: each a line. */
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

/** Models without a price in one clause. */
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

/** `1,234,567`; fractions as they are. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+(?!\d)(?<!\.\d*))/g, ',')
}
