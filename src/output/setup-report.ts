import type { Check, ProfileKey } from '../events/checks.ts'
import type { Styles } from './screen.ts'
import { gap, linesText, oneLine, padded, shortened, tabbedText, type Columns } from './table-cells.ts'
import { wrap, cellsOf } from './line-breaks.ts'
import { shellWord } from '../files/file-error.ts'
import type { SettingEntry } from '../events/setting.ts'
import { counted } from '../quantities.ts'

const signs = {
  ok: ['✓', 'success'],
  warning: ['!', 'warning'],
  failed: ['✗', 'error'],
  skipped: ['-', 'dim'],
} as const

const nameWidth = 'configuration'.length

const minMessage = 30

/** For scripts verdict, name, message and remedy, separated by tabs. */
export function checkLine(
  { name, verdict, message, remedy }: Check,
  styles: Styles,
  columns: Columns,
): string {
  if (columns === undefined) return tabbedText([verdict], () => [verdict, name, message, remedy])
  const [sign, tone] = signs[verdict]
  const beside = 2 + nameWidth + 2
  const isNarrow = columns - beside < minMessage
  const indent = ' '.repeat(isNarrow ? 4 : beside)
  const body = wrap(`${indent}${oneLine(message)}`, columns, indent).slice(indent.length)
  const label = isNarrow ? `${name}\n${indent}` : `${padded(name, nameWidth)}  `
  const text = `${styles[tone](sign)} ${verdict === 'skipped' ? styles.dim(label + body) : label + body}`
  if (remedy === null) return linesText([text])
  return linesText([text, wrap(`${indent}→ ${oneLine(remedy)}`, columns, `${indent}  `)])
}

export function summaryLine(checks: readonly Check[]): string {
  const count = (verdict: Check['verdict'], noun: string) => {
    const { length } = checks.filter((check) => check.verdict === verdict)
    return length === 0 ? [] : [counted(length, noun)]
  }
  const problems = [...count('failed', 'problem'), ...count('warning', 'warning')]
  return problems.length === 0 ? 'No problems found.' : `${problems.join(', ')}.`
}

/** For scripts one line each: profile, `current` or nothing, last four characters, source, base URL, problem. */
export function keyReport(
  entries: readonly ProfileKey[],
  styles: Styles,
  columns: Columns,
  shorten: (text: string) => string,
): string {
  if (columns === undefined) {
    return tabbedText(entries, ({ profile, current, last_four, source, base_url, problem, check }) => {
      const state = problem ?? (source === null ? 'no key' : (check?.message ?? ''))
      return [profile, current ? 'current' : '', last_four, source, base_url, state]
    })
  }
  const blocks = entries.map((entry) => {
    const { profile, current, base_url: url } = entry
    const head = `${profile}${current ? ' (in use)' : ''}${url === null ? '' : `  ${url}`}`
    const lines = marks(entry).map(([sign, tone, text]) => {
      const shown = oneLine(shorten(text))
      return `  ${styles[tone](sign)} ${wrap(`    ${shown}`, columns, '    ').slice(4)}`
    })
    return linesText([wrap(oneLine(head), columns, '  '), ...lines])
  })
  return blocks.join('\n')
}

type Mark = readonly [sign: string, tone: keyof Styles, text: string]

function marks({ profile, source, last_four, problem, warning, check, current }: ProfileKey): Mark[] {
  const login = `modelgate auth login${current && profile === 'default' ? '' : ` --profile ${shellWord(profile)}`}`
  const key = last_four === null ? 'A key' : `Key …${last_four}`
  const own: Mark =
    problem !== null
      ? ['✗', 'error', problem]
      : source === null
        ? ['✗', 'error', `No API key is set. Store one: ${login}`]
        : ['✓', 'success', `${key} from ${source}`]
  const signs = { accepted: ['✓', 'success'], refused: ['✗', 'error'], unknown: ['!', 'warning'] } as const
  return [
    own,
    ...(warning === null ? [] : [['!', 'warning', warning] as const]),
    ...(check === null ? [] : [[...signs[check.state], check.message] as const]),
  ]
}

function settingText({ value, hidden }: Pick<SettingEntry, 'value' | 'hidden'>): string {
  if (hidden) return '(hidden)'
  if (value === null) return ''
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean)
}

export function settingList(
  settings: readonly SettingEntry[],
  columns: Columns,
  styles: Styles,
  shorten: (text: string) => string,
): string {
  const rows = settings.map((setting) => ({ ...setting, text: oneLine(settingText(setting)) }))
  if (columns === undefined) return tabbedText(rows, (row) => [row.name, row.text, sourceText(row)])
  const nameWidth = Math.max(0, ...rows.map(({ name }) => name.length))
  const valueWidth = Math.max(0, ...rows.map(({ text }) => Math.min(cellsOf(text), 40)))
  const sourceAt = nameWidth + valueWidth + 2 * gap.length
  const lines = rows.flatMap((row) => {
    const tone = row.level === 'default' ? styles.dim : styles.plain
    const source = oneLine(shorten(briefSource(row)))
    const value = shortened(row.text, Math.max(8, columns - nameWidth - gap.length))
    const start = `${padded(row.name, nameWidth)}${gap}${value}`
    const fits = cellsOf(value) <= valueWidth && sourceAt + cellsOf(source) <= columns
    if (row.level === 'default' && !fits) return [tone(start)]
    if (fits) {
      const shown = `${padded(row.name, nameWidth)}${gap}${padded(value, valueWidth)}`
      return [`${tone(shown)}${gap}${styles.dim(source)}`]
    }
    return [tone(start), styles.dim(shortened(`${gap}${source}`, columns))]
  })
  return linesText(lines.map((line) => line.trimEnd()))
}

function sourceText({ source, line, file }: SettingEntry): string {
  return file === null || line === null ? source : source.replace(file, `${file}:${line}`)
}

/** For people: a file's path says what it is. */
function briefSource(setting: SettingEntry): string {
  return sourceText(setting).replace(/^(?:user|project) file (?=.*:\d)/, '')
}
