import type { Check } from '../events/checks.ts'
import type { Styles } from './screen.ts'
import { oneLine, padded, tabbedText, type Columns } from './table-cells.ts'
import { wrap } from './line-breaks.ts'

const signs = {
  ok: ['✓', 'success'],
  warning: ['!', 'warning'],
  failed: ['✗', 'error'],
  skipped: ['-', 'dim'],
} as const

/** As wide as the longest name. */
const nameWidth = 'configuration'.length

/** Narrower, the finding stands below the name. */
const minMessage = 30

/** A check in a line or a few; for scripts its verdict, name, message and remedy, separated by tabs. */
export function checkLine(
  { name, verdict, message, remedy }: Check,
  styles: Styles,
  columns: Columns,
): string {
  if (columns === undefined) {
    return tabbedText([verdict], () => [verdict, name, message, remedy])
  }
  const [sign, tone] = signs[verdict]
  const beside = 2 + nameWidth + 2
  const isNarrow = columns - beside < minMessage
  const indent = ' '.repeat(isNarrow ? 4 : beside)
  const body = wrap(`${indent}${oneLine(message)}`, columns, indent).slice(indent.length)
  const label = isNarrow ? `${name}\n${indent}` : `${padded(name, nameWidth)}  `
  const text = `${styles[tone](sign)} ${verdict === 'skipped' ? styles.dim(label + body) : label + body}`
  return [text, ...(remedy === null ? [] : [wrap(`${indent}→ ${oneLine(remedy)}`, columns, `${indent}  `)])]
    .map((line) => `${line}\n`)
    .join('')
}

/** What all checks come to, in one sentence. */
export function summaryLine(checks: readonly Check[]): string {
  const count = (verdict: Check['verdict'], noun: string) => {
    const number = checks.filter((check) => check.verdict === verdict).length
    return number === 0 ? [] : [`${number} ${noun}${number === 1 ? '' : 's'}`]
  }
  const problems = [...count('failed', 'problem'), ...count('warning', 'warning')]
  return problems.length === 0 ? 'No problems found.' : `${problems.join(', ')}.`
}
