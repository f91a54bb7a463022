import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { parseJson } from '../../files/parse-json.ts'
import { dangerousNames, isObject, type JsonObject } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { InputFiles } from './input-files.ts'
import type { JobDefinition } from './job-definition.ts'
import type { Mistakes, TextPosition } from './mistakes.ts'
import { substitute, type Scope } from './substitute.ts'
import { memberOf, nodeAt } from './yaml-nodes.ts'

/** A row of `each`. */
export interface Row {
  /** In brackets behind the job's name: the column `id`, in Unicode's form NFC, else a digest of the row. */
  readonly id: string
  /** The values as texts, by the names of their columns. */
  readonly columns: Readonly<Record<string, string>>
}

interface Rows {
  readonly rows: readonly Row[]
  /** Every mistake; a row with one is left out. In a list, `line` is the number of the item, and `column` 1. */
  readonly problems: readonly TextProblem[]
}

interface TextProblem extends TextPosition {
  readonly message: string
}

/** The values of a row, and the line that it begins in; in a list its number. */
interface SourceRow {
  readonly values: Readonly<Record<string, string>>
  readonly line: number
}

/** Most instances of a manifest. */
const maxInstances = 100_000

const tooMany = `There are more than ${maxInstances} rows.`

/** Files with a JSON object a line; every other one is CSV. */
const jsonLines = new Set(['.jsonl', '.ndjson'])

/**
 * The rows of all jobs, by their names; null for a job without `each`. Each file is read once. Mistakes are reported; a row
 * with one is left out.
 * @param variables what the path of a file may use
 */
export async function readRows(
  jobs: readonly JobDefinition[],
  mistakes: Mistakes,
  files: InputFiles,
  variables: Omit<Scope, 'columns'>,
): Promise<ReadonlyMap<string, readonly Row[] | null>> {
  const known = new Map<string, readonly Row[]>()
  const found = new Map<string, readonly Row[] | null>()
  const readEach = async ({ node, own }: JobDefinition): Promise<readonly Row[] | null> => {
    const written = memberOf(node, 'each')?.node
    if (written === undefined) return null
    const { each } = own
    if (Array.isArray(each)) {
      const { rows, problems } = rowsOfList(each)
      for (const { line, message } of problems) mistakes.report(nodeAt(written, [line - 1]).at, message)
      return rows
    }
    if (typeof each !== 'string') return []
    const { value: path, problems } = substitute(each, { columns: null, ...variables })
    for (const message of problems) mistakes.report(written.at, message)
    if (problems.length > 0) return []
    const rows = known.get(path) ?? (await readFile(mistakes, files, path, written.at))
    known.set(path, rows)
    return rows
  }
  let count = 0
  for (const job of jobs) {
    const rows = await readEach(job)
    const before = count
    count += rows?.length ?? 1
    if (count > maxInstances && before <= maxInstances) {
      mistakes.report(job.at, `With this job there are more than ${maxInstances} instances.`)
    }
    found.set(job.name, count > maxInstances ? [] : rows)
  }
  return found
}

async function readFile(
  mistakes: Mistakes,
  files: InputFiles,
  path: string,
  at: number,
): Promise<readonly Row[]> {
  const found = await files.rows(path)
  if (found.problem !== undefined) {
    mistakes.report(found.at ?? at, found.problem)
    return []
  }
  const isJsonLines = jsonLines.has(extname(path).toLowerCase())
  const { rows, problems } = isJsonLines ? rowsOfJsonLines(found.value) : rowsOfCsv(found.value)
  const file = files.shown(path)
  for (const { line, column, message } of problems) mistakes.report({ file, line, column }, message)
  return rows
}

/** The rows of a file with a JSON object a line; empty lines are no rows. */
export function rowsOfJsonLines(text: string): Rows {
  const problems: TextProblem[] = []
  const objects: [line: number, value: JsonObject][] = []
  let count = 0
  for (const [at, written] of canonicalText(text).split('\n').entries()) {
    if (written.trim() === '') continue
    const line = at + 1
    const add = (message: string, column = 1) => problems.push({ line, column, message })
    if (++count > maxInstances) {
      add(tooMany)
      break
    }
    const { value, problem } = parseJson(written)
    if (problem !== undefined) {
      const [place, column = '1'] = /line 1, column (\d+): /.exec(problem) ?? ['']
      add(`The line ${problem.replace(place, '')}.`, Number(column))
    } else if (isObject(value)) objects.push([line, value])
    else add('The line is not a JSON object.')
  }
  return rowsOfObjects(objects, problems, 'line')
}

/** The rows of a list in the manifest: objects, or single values, each of which is the column `id` of its row. */
export function rowsOfList(list: readonly unknown[]): Rows {
  const objects = list.map((item, at) => [at + 1, isObject(item) ? item : { id: item }] as const)
  return rowsOfObjects(objects, [], 'item')
}

/** @param objects each with its line, or its number in a list */
function rowsOfObjects(
  objects: readonly (readonly [line: number, value: JsonObject])[],
  problems: TextProblem[],
  unit: 'line' | 'item',
): Rows {
  const source: SourceRow[] = []
  for (const [line, value] of objects) {
    const values = valuesOf(value)
    if (typeof values === 'string') problems.push({ line, column: 1, message: values })
    else source.push({ values, line })
  }
  return identified(source, problems, unit)
}

/** The values as texts, or what is wrong with them. */
function valuesOf(row: JsonObject): Record<string, string> | string {
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

/** @param unit what a row is in its source, for messages */
function identified(
  source: readonly SourceRow[],
  problems: readonly TextProblem[],
  unit: 'line' | 'item',
): Rows {
  const hasIds = source.some(({ values }) => Object.hasOwn(values, 'id'))
  const all = [...problems]
  const rows: Row[] = []
  const lines = new Map<string, number>()
  for (const { values, line } of source) {
    const id = hasIds ? (values['id']?.normalize('NFC') ?? '') : digestOf(values)
    const first = lines.get(id)
    const problem = hasIds ? idProblem(id) : undefined
    if (problem !== undefined) all.push({ line, column: 1, message: problem })
    else if (first !== undefined) {
      const message = hasIds
        ? `The id ${JSON.stringify(id)} is taken by ${unit} ${first}.`
        : `The row is the same as that of ${unit} ${first}; give each a column \`id\`, or leave one out.`
      all.push({ line, column: 1, message })
    } else {
      lines.set(id, line)
      rows.push({ id, columns: values })
    }
  }
  return { rows, problems: all.toSorted((a, b) => a.line - b.line) }
}

const maxIdLength = 120

/** Control characters, ends of lines, and marks that turn the direction of what is shown. */
const hidden = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

function idProblem(id: string): string | undefined {
  if (id === '') return 'The row has no `id`, which the other rows have.'
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

const maxColumns = 1000

/**
 * The rows of CSV of RFC 4180: a header, commas, quotes around what holds a comma, a quote or an end of line. A byte-order
 * mark is taken off, CR LF is LF (in values, too), and empty lines are no rows. Nothing after a wrong quote is read, and
 * nothing at all with a mistake in the header.
 */
export function rowsOfCsv(text: string): Rows {
  const rows: SourceRow[] = []
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
    } else if (++count > maxInstances) add(tooMany)
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
      // The header, and one to see that there are too many.
      to: maxInstances + 2,
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
  if (header === undefined && problems.length === 0) {
    add('The file is empty: its first line has to name the columns.')
  }
  return identified(isNamed ? rows : [], problems, 'line')
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
