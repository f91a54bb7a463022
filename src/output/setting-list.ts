import type { SettingEntry } from '../events/setting.ts'
import type { Styles } from './screen.ts'
import { cellsOf } from './cell-width.ts'
import { gap, oneLine, padded, shortened, tabbedText, type Columns } from './table-cells.ts'

/** A value in one line: lists with commas, mappings as JSON; empty if there is none. */
function settingText({ value, hidden }: Pick<SettingEntry, 'value' | 'hidden'>): string {
  if (hidden) return '(hidden)'
  if (value === null) return ''
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value) : String(value as string | number | boolean)
}

/**
 * Settings as rows, each with a newline: name, value and source; defaults are dimmed. On a narrow terminal the source
 * stands below.
 * @param shorten writes a source more briefly for people
 */
export function settingList(
  settings: readonly SettingEntry[],
  columns: Columns,
  styles: Styles,
  shorten: (text: string) => string,
): string {
  const rows = settings.map((setting) => ({ ...setting, text: oneLine(settingText(setting)) }))
  if (columns === undefined) {
    return tabbedText(rows, (row) => [row.name, row.text, sourceText(row)])
  }
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
  return lines.map((line) => `${line.trimEnd()}\n`).join('')
}

function sourceText({ source, line, file }: SettingEntry): string {
  return file === null || line === null ? source : source.replace(file, `${file}:${line}`)
}

/** For people: a file's path says what it is. */
function briefSource(setting: SettingEntry): string {
  return sourceText(setting).replace(/^(?:user|project) file (?=.*:\d)/, '')
}
