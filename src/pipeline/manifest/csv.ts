import { dangerousNames } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { createLocator, type TextPosition } from './text-position.ts'

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
  /** Every mistake. With one in the header there are no rows; a row with one is left out. */
  readonly problems: readonly TextProblem[]
}

const maxColumns = 1000

interface Value {
  readonly text: string
  /** Where it begins, in UTF-16 units. */
  readonly offset: number
}

interface Line {
  readonly values: readonly Value[]
  readonly line: number
}

/**
 * Reads CSV of RFC 4180: a header, commas, quotes around what holds a comma, a quote or an end of line. A byte-order
 * mark is taken off, CR LF is LF (in values, too), and empty lines are no rows.
 * @param maxRows a text with more rows is a mistake, and the rest is not read
 */
export function parseCsv(text: string, maxRows = Infinity): Csv {
  const source = canonicalText(text)
  const problems: TextProblem[] = []
  const positionOf = createLocator(source)
  const add = (offset: number, message: string) => {
    problems.push({ ...positionOf(offset), message })
  }
  const lines = readLines(source, add)
  const first = lines.next()
  if (first.done === true) {
    add(0, 'The file is empty: its first line has to name the columns.')
    return { header: [], rows: [], problems }
  }
  const names = first.value.values
  checkHeader(names, add)
  const header = names.map(({ text: name }) => name)
  const rows: CsvRow[] = []
  if (problems.length > 0) return { header, rows, problems }
  let count = 0
  for (const { values, line } of lines) {
    if (++count > maxRows) {
      add(values[0]!.offset, `There are more than ${maxRows} rows.`)
      break
    }
    if (values.length === header.length) {
      rows.push({ values: Object.fromEntries(header.map((name, at) => [name, values[at]!.text])), line })
    } else {
      const place = (values[header.length] ?? values[0]!).offset
      const found = `${values.length} ${values.length === 1 ? 'value' : 'values'}`
      const hint = values.length > header.length ? '; a value with a comma needs quotes' : ''
      add(place, `The row has ${found}, but the header ${header.length} columns${hint}.`)
    }
  }
  return { header, rows, problems }
}

/** The lines of values; it ends at a quote that is not closed. */
function* readLines(
  source: string,
  add: (offset: number, message: string) => void,
): Generator<Line, void, undefined> {
  let at = 0
  let line = 1
  while (at < source.length) {
    if (source[at] === '\n') {
      at++
      line++
      continue
    }
    const values: Value[] = []
    const start = line
    for (;;) {
      const field = source[at] === '"' ? quotedField(source, at) : bareField(source, at)
      if (field === undefined) {
        add(at, 'The quote is never closed.')
        return
      }
      values.push({ text: field.text, offset: at })
      line += field.lines
      at = field.end
      const next = source[at]
      if (next !== undefined && next !== ',' && next !== '\n') {
        add(at, 'Text follows the closing quote; a quote in a value is written twice: "".')
        const rest = bareField(source, at)
        at = rest.end
      } else if (field.oddQuote !== undefined) {
        add(
          field.oddQuote,
          'A value with a quote in it has to be in quotes, with the quote written twice: "".',
        )
      } else if (field.oddReturn !== undefined) {
        add(field.oddReturn, 'A carriage return without LF: lines end with LF or CR LF.')
      }
      if (source[at] !== ',') break
      at++
    }
    at++
    line++
    yield { values, line: start }
  }
}

interface Field {
  readonly text: string
  /** The offset behind it. */
  readonly end: number
  /** How many ends of lines are in it. */
  readonly lines: number
  /** The offsets of characters that must not be in it. */
  readonly oddQuote?: number | undefined
  readonly oddReturn?: number | undefined
}

function quotedField(source: string, start: number): Field | undefined {
  let text = ''
  let at = start + 1
  for (;;) {
    const quote = source.indexOf('"', at)
    if (quote === -1) return undefined
    text += source.slice(at, quote)
    at = quote + 1
    if (source[at] !== '"') break
    text += '"'
    at++
  }
  return { text, end: at, lines: text.includes('\n') ? text.split('\n').length - 1 : 0 }
}

const bareEnd = /[,\n]/g

function bareField(source: string, start: number): Field {
  bareEnd.lastIndex = start
  const end = bareEnd.exec(source)?.index ?? source.length
  const text = source.slice(start, end)
  const [quote, carriageReturn] = [text.indexOf('"'), text.indexOf('\r')]
  return {
    text,
    end,
    lines: 0,
    oddQuote: quote === -1 ? undefined : start + quote,
    oddReturn: carriageReturn === -1 ? undefined : start + carriageReturn,
  }
}

function checkHeader(names: readonly Value[], add: (offset: number, message: string) => void): void {
  const [only] = names
  const separator = names.length === 1 ? /[;\t]/.exec(only!.text)?.[0] : undefined
  if (separator !== undefined) {
    add(
      only!.offset,
      `The columns are separated by ${separator === ';' ? 'semicolons' : 'tabs'}; use commas.`,
    )
    return
  }
  if (names.length > maxColumns) {
    add(names[maxColumns]!.offset, `There are more than ${maxColumns} columns.`)
    return
  }
  const seen = new Set<string>()
  for (const [at, { text: name, offset }] of names.entries()) {
    const problem = seen.has(name) ? `The column ${JSON.stringify(name)} is there twice.` : nameProblem(name)
    if (problem !== undefined) add(offset, name === '' ? `Column ${at + 1} has no name.` : problem)
    seen.add(name)
  }
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
