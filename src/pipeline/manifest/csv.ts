import { CsvError, parse } from 'csv-parse/sync'
import { dangerousNames } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { TextPosition } from './text-position.ts'

/** A mistake in a text. */
export interface TextProblem extends TextPosition {
  readonly message: string
}

export interface CsvRow {
  /** By the names of the header. */
  readonly values: Readonly<Record<string, string>>
  /** The line that it begins in. */
  readonly line: number
}

export interface Csv {
  readonly header: readonly string[]
  readonly rows: readonly CsvRow[]
  /** Every mistake, with the line that its row begins in. With one in the header there are no rows. */
  readonly problems: readonly TextProblem[]
}

const maxColumns = 1000

/**
 * Reads CSV of RFC 4180: a header, commas, quotes around what holds a comma, a quote or an end of line. A byte-order
 * mark is taken off, CR LF is LF (in values, too), and empty lines are no rows. Nothing after a wrong quote is read.
 * @param maxRows a text with more rows is a mistake, and the rest is not read
 */
export function parseCsv(text: string, maxRows = Infinity): Csv {
  const rows: CsvRow[] = []
  const problems: TextProblem[] = []
  let header: readonly string[] | undefined
  let isNamed = false
  let count = 0
  /** Where the next row begins, but for empty lines. */
  let line = 1
  let emptyLines = 0
  const add = (message: string) => void problems.push({ line: line + emptyLines, column: 1, message })
  const take = (values: readonly string[]) => {
    if (header === undefined) {
      header = values
      headerProblems(values).forEach(add)
      isNamed = problems.length === 0
    } else if (++count > maxRows) add(`There are more than ${maxRows} rows.`)
    else if (values.length === header.length) {
      const named = header.map((name, at) => [name, values[at]!])
      rows.push({ values: Object.fromEntries(named), line: line + emptyLines })
    } else if (isNamed) add(widthProblem(values.length, header.length))
    line += values.reduce((sum, value) => sum + (value.includes('\n') ? value.split('\n').length - 1 : 0), 1)
  }
  try {
    parse(canonicalText(text), {
      record_delimiter: '\n',
      relax_column_count: true,
      skip_empty_lines: true,
      ...(Number.isFinite(maxRows) && { to: maxRows + 2 }),
      on_record(values: readonly string[], info) {
        emptyLines = info.empty_lines
        take(values)
        return null
      },
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    emptyLines = Number(error['empty_lines'])
    add(quoteProblems[error.code] ?? `${error.message}.`)
  }
  if (header === undefined && problems.length === 0)
    add('The file is empty: its first line has to name the columns.')
  return { header: header ?? [], rows: isNamed ? rows : [], problems }
}

const quoteProblems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'The quote is never closed.',
  CSV_INVALID_CLOSING_QUOTE: 'Text follows the closing quote; a quote in a value is written twice: "".',
  INVALID_OPENING_QUOTE: 'A value with a quote in it has to be in quotes, with the quote written twice: "".',
}

function widthProblem(found: number, columns: number): string {
  const hint = found > columns ? '; a value with a comma needs quotes' : ''
  const values = found === 1 ? 'value' : 'values'
  return `The row has ${found} ${values}, but the header ${columns} columns${hint}.`
}

function headerProblems(names: readonly string[]): string[] {
  const separator = names.length === 1 ? /[;\t]/.exec(names[0]!)?.[0] : undefined
  if (separator !== undefined) {
    return [`The columns are separated by ${separator === ';' ? 'semicolons' : 'tabs'}; use commas.`]
  }
  if (names.length > maxColumns) return [`There are more than ${maxColumns} columns.`]
  return names.flatMap((name, at) => {
    if (name === '') return [`Column ${at + 1} has no name.`]
    const isTwice = names.indexOf(name) < at
    return (isTwice ? `The column ${JSON.stringify(name)} is there twice.` : nameProblem(name)) ?? []
  })
}

/** What is wrong with the name of a column, if it is not empty; it has to be one that `${name}` can name. */
export function nameProblem(name: string): string | undefined {
  const shown = JSON.stringify(name)
  if (name === '') return 'A column has no name.'
  if (name.trim() !== name) return `The column ${shown} has a space at its beginning or end.`
  if (/[{}\p{Cc}]/u.test(name)) return `The column ${shown} has a brace or a control character in its name.`
  if (name.startsWith('env:')) return `A column cannot begin with env:, as ${shown} does.`
  if (dangerousNames.has(name)) return `A column cannot be named ${shown}.`
  return undefined
}
