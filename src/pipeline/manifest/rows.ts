import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { parseJson } from '../../files/parse-json.ts'
import { dangerousNames, isObject } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { JobDefinition } from './job-definition.ts'
import type { TextPosition } from './mistakes.ts'
import type { Reading } from './reading.ts'
import { substitute } from './substitute.ts'
import { memberOf, valueOf } from './yaml-nodes.ts'

/** A row of `each`. */
export interface Row {
  /** In brackets behind the job's name: the column `id`, in Unicode's form NFC, else a digest of the row. */
  readonly id: string
  /** The values as texts, by the names of their columns. */
  readonly columns: Readonly<Record<string, string>>
  /** The line that it begins in; in a list, its number. From 1. */
  readonly line: number
}

interface Rows {
  readonly rows: readonly Row[]
  /** Every mistake; a row with one is left out. In a list, `line` is the number of the item, and `column` 1. */
  readonly problems: readonly TextProblem[]
}

/** Most instances of a manifest. */
export const maxInstances = 100_000

/** Files with a JSON object a line; every other one is CSV. */
const jsonLines = new Set(['.jsonl', '.ndjson'])

/** Reads the rows of jobs, each file once. Mistakes are reported; a row with one is left out. */
export function createRowReader(reading: Reading): (job: JobDefinition) => Promise<readonly Row[] | null> {
  const { files, mistakes, placeOf, placeIn, variables } = reading
  const known = new Map<string, Rows>()

  /** What a path leads to, which has been reported if it is nothing. */
  const fileRows = async (path: string, at: number): Promise<readonly Row[]> => {
    const read = known.get(path)
    if (read !== undefined) return read.rows
    const found = await files.text(path)
    if (found.problem !== undefined) {
      const { line, column = 1, problem } = found
      mistakes.add(line === undefined ? placeOf(at) : placeIn(path, line, column), problem)
      return []
    }
    const rows = jsonLines.has(extname(path).toLowerCase())
      ? rowsOfJsonLines(found.value, maxInstances)
      : rowsOfCsv(found.value, maxInstances)
    known.set(path, rows)
    for (const { line, column, message } of rows.problems) {
      mistakes.add(placeIn(path, line, column), message)
    }
    return rows.rows
  }

  return async ({ node, own }) => {
    const each = memberOf(node, 'each')?.node
    if (each === undefined) return null
    if (own['each'] === undefined) return []
    if (each.kind === 'scalar') {
      const { value: path, problems } = substitute(String(each.value), { columns: null, ...variables })
      for (const { message } of problems) mistakes.add(placeOf(each.at), message)
      return problems.length > 0 ? [] : fileRows(path, each.at)
    }
    const { rows, problems } = rowsOfList(valueOf(each) as unknown[])
    for (const { line, message } of problems) {
      mistakes.add(placeOf(each.kind === 'list' ? each.items[line - 1]!.at : each.at), message)
    }
    return rows
  }
}

/** The rows of a CSV file. */
export function rowsOfCsv(text: string, maxRows = Infinity): Rows {
  const { header, rows, problems } = parseCsv(text, maxRows)
  return identified(rows, header.includes('id'), problems, 'line')
}

/** The rows of a file with a JSON object a line; empty lines are no rows. */
export function rowsOfJsonLines(text: string, maxRows = Infinity): Rows {
  const source = canonicalText(text)
  const problems: TextProblem[] = []
  const rows: CsvRow[] = []
  let count = 0
  for (const [at, line] of source.split('\n').entries()) {
    if (line.trim() === '') continue
    if (++count > maxRows) {
      problems.push({ line: at + 1, column: 1, message: `There are more than ${maxRows} rows.` })
      break
    }
    const { value, problem } = parseJson(line)
    if (problem !== undefined) {
      const [place, column = '1'] = /line 1, column (\d+): /.exec(problem) ?? ['']
      problems.push({
        line: at + 1,
        column: Number(column),
        message: `The line ${problem.replace(place, '')}.`,
      })
      continue
    }
    const values = isObject(value) ? valuesOf(value) : 'The line is not a JSON object.'
    if (typeof values === 'string') problems.push({ line: at + 1, column: 1, message: values })
    else rows.push({ values, line: at + 1 })
  }
  return identified(rows, hasId(rows), problems, 'line')
}

/** The rows of a list in the manifest: objects, or single values, each of which is the column `id` of its row. */
export function rowsOfList(list: readonly unknown[]): Rows {
  const problems: TextProblem[] = []
  const rows: CsvRow[] = []
  for (const [at, item] of list.entries()) {
    const values = valuesOf(isObject(item) ? item : { id: item })
    if (typeof values === 'string') problems.push({ line: at + 1, column: 1, message: values })
    else rows.push({ values, line: at + 1 })
  }
  return identified(rows, hasId(rows), problems, 'item')
}

/** The values as texts, or what is wrong with them. */
function valuesOf(row: Readonly<Record<string, unknown>>): Record<string, string> | string {
  const values: Record<string, string> = {}
  for (const [name, value] of Object.entries(row)) {
    const problem = nameProblem(name)
    if (problem !== undefined) return problem
    if (typeof value === 'object' && value !== null) {
      return `The column ${JSON.stringify(name)} is ${Array.isArray(value) ? 'a list' : 'an object'}, not a single value.`
    }
    values[name] = value === null ? '' : String(value)
  }
  return values
}

function hasId(rows: readonly CsvRow[]): boolean {
  return rows.some(({ values }) => Object.hasOwn(values, 'id'))
}

/** @param unit what a row is in its source, for messages */
function identified(
  rows: readonly CsvRow[],
  hasIds: boolean,
  problems: readonly TextProblem[],
  unit: 'line' | 'item',
): Rows {
  const all = [...problems]
  const found: Row[] = []
  const places = new Map<string, number>()
  for (const { values, line } of rows) {
    const given = hasIds ? values['id'] : undefined
    const id = hasIds ? given?.normalize('NFC') : digestOf(values)
    const problem = hasIds ? idProblem(id) : undefined
    const first = id === undefined ? undefined : places.get(id)
    if (id === undefined || problem !== undefined) {
      all.push({ line, column: 1, message: problem! })
    } else if (first !== undefined) {
      const message = hasIds
        ? `The id ${JSON.stringify(id)} is taken by ${unit} ${first}.`
        : `The row is the same as that of ${unit} ${first}; give each a column \`id\`, or leave one out.`
      all.push({ line, column: 1, message })
    } else {
      places.set(id, line)
      found.push({ id, columns: values, line })
    }
  }
  return { rows: found, problems: all.toSorted((a, b) => a.line - b.line) }
}

const maxIdLength = 120

/** Control characters, ends of lines, and marks that turn the direction of what is shown. */
const hidden = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

function idProblem(id: string | undefined): string | undefined {
  if (id === undefined || id === '') return 'The row has no `id`, which the other rows have.'
  const shown = JSON.stringify(id.slice(0, maxIdLength))
  if (/[[\]]/.test(id)) return `The id ${shown} has a bracket in it.`
  if (hidden.test(id) || !id.isWellFormed()) return `The id ${shown} has a control character in it.`
  if (id.trim() !== id) return `The id ${shown} has a space at its beginning or end.`
  return id.length > maxIdLength ? `The id ${shown} … is longer than ${maxIdLength} characters.` : undefined
}

/** Of the values alone: neither the position of the row nor the order of its columns changes it. */
function digestOf(values: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16)
}

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
function nameProblem(name: string): string | undefined {
  const shown = JSON.stringify(name)
  if (name === '') return 'A column has no name.'
  if (name.trim() !== name) return `The column ${shown} has a space at its beginning or end.`
  if (/[{}\p{Cc}]/u.test(name)) return `The column ${shown} has a brace or a control character in its name.`
  if (name.startsWith('env:')) return `A column cannot begin with env:, as ${shown} does.`
  if (dangerousNames.has(name)) return `A column cannot be named ${shown}.`
  return undefined
}
