import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { isDeviceName } from '../../files/file-name.ts'
import { parseJson } from '../../files/parse-json.ts'
import { dangerousNames, isObject, numberOf } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { JobDefinition } from './job-definition.ts'
import { usualElements } from './manifest-fields.ts'
import type { FanOut } from './manifest.ts'
import { createLocator, type TextPosition } from './mistakes.ts'
import { foldedPath } from './output-paths.ts'
import {
  parseReference,
  resolveReference,
  type Columns,
  type JobsWithRows,
  type JobWithRows,
  type Rows,
} from './references.ts'
import type { Reading } from './resolve-field.ts'
import { substitute, type Column } from './substitute.ts'
import { memberOf, nodeAt, type YamlNode } from './yaml-nodes.ts'

interface RowProblem extends TextPosition {
  readonly message: string
}

export interface FoundRows {
  readonly rows: Rows
  /** Every mistake; a row with one is left out. In a list, `line` is the number of the item. */
  readonly problems: readonly RowProblem[]
}

const maxInstances = 100_000

const tooMany = `There are more than ${maxInstances} rows.`

/**
 * Finds the rows of all jobs. Each file is read once. Mistakes are reported; a row with one is left out.
 * @param texts what fan-outs take their elements from, by the instances that made them
 */
export async function readRows(
  definitions: ReadonlyMap<string, JobDefinition>,
  reading: Pick<Reading, 'mistakes' | 'files' | 'variables'>,
  texts: ReadonlyMap<string, string>,
): Promise<JobsWithRows> {
  const { mistakes } = reading
  const jobs = new Map<string, JobWithRows>()
  for (const [name, definition] of definitions) {
    const rows = memberOf(definition.node, 'each') === undefined ? null : 'waiting'
    jobs.set(name, { definition, rows, fanOut: null, problem: null })
  }
  const files = new Map<string, Promise<Rows>>()
  let count = 0
  for (const [name, job] of jobs) {
    const found = await rowsOfJob(job.definition, jobs, reading, texts, files)
    const before = count
    count += found.rows === null || found.rows === 'waiting' ? 1 : found.rows.size
    if (count > maxInstances && before <= maxInstances) {
      mistakes.report(job.definition.at, `With this job there are more than ${maxInstances} instances.`)
    }
    jobs.set(name, { ...job, ...(count > maxInstances ? { rows: new Map<string, Columns>() } : found) })
  }
  return jobs
}

async function rowsOfJob(
  definition: JobDefinition,
  jobs: JobsWithRows,
  { mistakes, files, variables }: Pick<Reading, 'mistakes' | 'files' | 'variables'>,
  texts: ReadonlyMap<string, string>,
  known: Map<string, Promise<Rows>>,
): Promise<Pick<JobWithRows, 'rows'> & Partial<JobWithRows>> {
  const { each } = definition.own
  const written = memberOf(definition.node, 'each')?.node
  if (written !== undefined && typeof each === 'string' && each.startsWith('@')) {
    const fanOut = readFanOut(mistakes, definition, written, jobs)
    const elements = elementsOf(fanOut, texts)
    for (const { message, ...place } of elements.problems) {
      mistakes.report({ file: each, ...place }, message)
    }
    return { ...elements, fanOut }
  }
  const limit = memberOf(definition.node, 'max_instances')
  if (limit !== undefined) mistakes.report(limit.at, 'max_instances is for `each: "@job"`.')
  if (written === undefined) return { rows: null }
  if (Array.isArray(each)) {
    const { rows, problems } = rowsOfItems(each.map(itemOfList), 'item')
    for (const { line, message } of problems) mistakes.report(nodeAt(written, [`${line - 1}`]).at, message)
    return { rows }
  }
  const { value: path, problems } = substitute(typeof each === 'string' ? each : '', {
    columns: null,
    ...variables,
  })
  for (const message of problems) mistakes.report(written.at, message)
  if (path === '' || problems.length > 0) return { rows: new Map() }
  const read = async (): Promise<Rows> => {
    const source = await files.rows(path)
    if (source.problem !== undefined) {
      mistakes.report(source.at ?? written.at, source.problem)
      return new Map()
    }
    const found = rowsOf(path, source.value)
    for (const { message, ...place } of found.problems) {
      mistakes.report({ file: files.shown(path), ...place }, message)
    }
    return found.rows
  }
  const rows = known.get(path) ?? read()
  known.set(path, rows)
  return { rows: await rows }
}

/** What `each: '@job'` says. Mistakes in it are reported. */
function readFanOut(
  mistakes: Reading['mistakes'],
  definition: JobDefinition,
  written: YamlNode,
  jobs: JobsWithRows,
): FanOut {
  const { name, node, own } = definition
  const each = String(own['each'])
  const { job = name, row, candidate = null } = parseReference(each) ?? {}
  const isOneText = row === undefined && candidate === null && jobs.get(job)?.rows === null
  const found =
    job === name || (jobs.has(job) && !isOneText)
      ? `${JSON.stringify(each)} is not one text: each takes @job, the JSON array that a text job without \`each\` writes.`
      : resolveReference(each, jobs, definition, 'text')
  if (typeof found === 'string') mistakes.report(written.at, found)
  if (typeof own['out'] === 'string' && !/(?<!\$)\$\{(?!env:|var:)/.test(own['out'])) {
    const message = 'out needs a column such as ${id}: each element has a file of its own.'
    mistakes.report(memberOf(node, 'out')!.node.at, message)
  }
  const { max_instances: most } = own
  return {
    job: name,
    source: { text: each, instance: job, candidate: null },
    most: numberOf(most) ?? usualElements,
    isBounded: most !== undefined,
  }
}

function elementsOf(
  { source, most, job }: FanOut,
  texts: ReadonlyMap<string, string>,
): Pick<JobWithRows, 'rows' | 'problem'> & Pick<FoundRows, 'problems'> {
  const text = texts.get(source.instance)
  if (text === undefined) return { rows: 'waiting', problem: null, problems: [] }
  const count = arrayIn(parseJson(text).value)?.length ?? 0
  if (count > most) {
    const problem = `${source.text} has ${count} elements, more than max_instances of ${job} (${most}).`
    return { rows: 'waiting', problem, problems: [] }
  }
  return { ...rowsOfJson(text, 'The text', elementIds), problem: null }
}

/** The rows of a text, in the form that the ending of its file says: a JSON array, JSON lines, else CSV. */
export function rowsOf(path: string, text: string): FoundRows {
  const ending = extname(path).toLowerCase()
  if (ending === '.json') return rowsOfJson(text, 'The file')
  return ending === '.jsonl' || ending === '.ndjson' ? rowsOfJsonLines(text) : rowsOfCsv(text)
}

/**
 * The rows of a JSON array of objects, or of an object with exactly one array in it.
 * @param subject what the text is, for messages
 */
function rowsOfJson(text: string, subject: string, ids?: IdRule): FoundRows {
  const { value, problem } = parseJson(text)
  const fault = (one: RowProblem): FoundRows => ({ rows: new Map(), problems: [one] })
  if (problem !== undefined) return fault(jsonProblem(subject, problem))
  const list = arrayIn(value)
  if (list === undefined || list.length > maxInstances) {
    const none = `${subject} is neither a JSON array nor an object with exactly one array in it.`
    return fault({ line: 1, column: 1, message: list === undefined ? none : tooMany })
  }
  const items = list.map((item, at): SourceItem => [at + 1, item])
  const { rows, problems } = rowsOfItems(items, 'element', ids)
  if (problems.length === 0) return { rows, problems }
  const [offsets, positionOf] = [elementOffsets(text), createLocator(text)]
  return { rows, problems: problems.map((one) => ({ ...one, ...positionOf(offsets[one.line - 1]!) })) }
}

function arrayIn(value: unknown): readonly unknown[] | undefined {
  if (Array.isArray(value)) return value
  const arrays = isObject(value) ? Object.values(value).filter(Array.isArray) : []
  return arrays.length === 1 ? arrays[0] : undefined
}

/** Where the elements of the array of `arrayIn` begin, in UTF-16 units. */
function elementOffsets(text: string): number[] {
  const arrayDepth = text.trimStart().startsWith('[') ? 1 : 2
  const offsets: number[] = []
  let depth = 0
  let isInside = false
  for (const { 0: mark, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{},]/g)) {
    if (mark === '[' || mark === '{') depth++
    if (mark === '[' && depth === arrayDepth) isInside = true
    if ((mark === '[' || mark === ',') && isInside && depth === arrayDepth) {
      offsets.push(index + 1 + /^\s*/.exec(text.slice(index + 1, index + 1000))![0].length)
    }
    if (mark !== ']' && mark !== '}') continue
    if (isInside && depth === arrayDepth) break
    depth--
  }
  return offsets
}

/** @param subject what is no JSON: `The line` */
function jsonProblem(subject: string, problem: string): RowProblem {
  const [place, line = '1', column = '1'] = /line (\d+), column (\d+): /.exec(problem) ?? ['']
  return { line: Number(line), column: Number(column), message: `${subject} ${problem.replace(place, '')}.` }
}

/** The rows of a file with a JSON object a line; empty lines are no rows. */
function rowsOfJsonLines(text: string): FoundRows {
  const lines = [...canonicalText(text).split('\n').entries()].filter(([, written]) => written.trim() !== '')
  const problems: RowProblem[] = []
  const items: SourceItem[] = []
  for (const [at, written] of lines.slice(0, maxInstances)) {
    const { value, problem } = parseJson(written)
    if (problem === undefined) items.push([at + 1, value])
    else problems.push({ ...jsonProblem('The line', problem), line: at + 1 })
  }
  const next = lines[maxInstances]
  if (next !== undefined) problems.push({ line: next[0] + 1, column: 1, message: tooMany })
  return rowsOfItems(items, 'line', rowIds, problems)
}

/** Of a list in the manifest: objects, or single values, each of which is the column `id` of its row. */
const itemOfList = (item: unknown, at: number): SourceItem => [at + 1, isObject(item) ? item : { id: item }]

type Unit = 'line' | 'item' | 'element'
type SourceItem = readonly [line: number, value: unknown]
type SourceRow = readonly [line: number, columns: Columns]

function rowsOfItems(
  items: readonly SourceItem[],
  unit: Unit,
  ids = rowIds,
  others: readonly RowProblem[] = [],
): FoundRows {
  const problems = [...others]
  const source: SourceRow[] = []
  for (const [line, value] of items) {
    const columns = isObject(value) ? columnsOf(value) : `The ${unit} is not a JSON object.`
    if (typeof columns === 'string') problems.push({ line, column: 1, message: columns })
    else source.push([line, columns])
  }
  return identified(source, problems, unit, ids)
}

/** The columns of a row, or what is wrong with the name of one. */
function columnsOf(row: object): Columns | string {
  const columns: Record<string, Column> = {}
  for (const [name, value] of Object.entries(row) as [string, unknown][]) {
    const problem = nameProblem(name)
    if (problem !== undefined) return problem
    // Rows have more in them than what a job uses.
    if (value === null) columns[name] = { what: 'null', json: '' }
    else if (typeof value !== 'object') columns[name] = String(value)
    else columns[name] = { what: Array.isArray(value) ? 'a list' : 'an object', json: JSON.stringify(value) }
  }
  return columns
}

function identified(
  source: readonly SourceRow[],
  problems: readonly RowProblem[],
  unit: Unit,
  ids: IdRule = rowIds,
): FoundRows {
  const hasIds = source.some(([, columns]) => Object.hasOwn(columns, 'id'))
  const all = [...problems]
  const rows = new Map<string, Columns>()
  const lines = new Map<string, number>()
  for (const [line, columns] of source) {
    const { id: given = '' } = columns
    const id = !hasIds ? digestOf(columns) : typeof given === 'string' ? given.normalize('NFC') : ''
    const first = lines.get(ids.folded(id))
    const taken = hasIds
      ? `The id ${JSON.stringify(id)} is taken by ${unit} ${first}.`
      : `The row is the same as that of ${unit} ${first}; give each a column \`id\`, or leave one out.`
    const absent = `The ${unit === 'element' ? unit : 'row'} has no \`id\`, which the others have.`
    const problem = !hasIds ? undefined : id === '' ? absent : ids.problemOf(id)
    const message = problem ?? (first === undefined ? undefined : taken)
    if (message === undefined) {
      lines.set(ids.folded(id), line)
      rows.set(id, columns)
    } else all.push({ line, column: 1, message })
  }
  return { rows, problems: all.toSorted((a, b) => a.line - b.line) }
}

interface IdRule {
  problemOf(id: string): string | undefined
  /** Two that are equal so are the same. */
  folded(id: string): string
}

const maxIdLength = 120

/** Control characters, ends of lines, and marks that turn the direction of what is shown. */
const hidden = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

const rowIds: IdRule = {
  problemOf(id) {
    const shown = JSON.stringify(id.slice(0, maxIdLength))
    if (/[[\]]/.test(id)) return `The id ${shown} has a bracket in it.`
    if (hidden.test(id) || !id.isWellFormed()) return `The id ${shown} has a control character in it.`
    if (id.trim() !== id) return `The id ${shown} has a space at its beginning or end.`
    return id.length > maxIdLength ? `The id ${shown} … is longer than ${maxIdLength} characters.` : undefined
  },
  folded: (id) => id,
}

/** A model has written them, and each becomes a part of the name of a file on any system. */
const elementIds: IdRule = {
  problemOf(id) {
    const shown = JSON.stringify(id.slice(0, 64))
    if (isDeviceName(id)) return `The id ${shown} is reserved on Windows.`
    if (/^[\w-][\w.-]{0,63}$/.test(id)) return undefined
    return `The id ${shown}${id.length > 64 ? ' …' : ''} cannot name a file: it has letters, digits, ".", "_" and "-", at most 64, and no dot at the beginning.`
  },
  folded: foldedPath,
}

/** Of the values alone: neither the position of the row nor the order of its columns changes it. */
function digestOf(columns: Columns): string {
  const texts = Object.entries(columns).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : value.json,
  ])
  const sorted = texts.toSorted(([a], [b]) => (a! < b! ? -1 : 1))
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16)
}

const maxColumns = 1000

/**
 * The rows of CSV of RFC 4180: a header, commas, quotes around what holds a comma, a quote or an end of line. A byte-order
 * mark is taken off, CR LF is LF (in values, too), and empty lines are no rows. Nothing after a wrong quote is read, and
 * nothing at all with a mistake in the header.
 */
function rowsOfCsv(text: string): FoundRows {
  const rows: SourceRow[] = []
  const problems: RowProblem[] = []
  let header: readonly string[] | undefined
  let isNamed = false
  let count = 0
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
      rows.push([line + emptyLines, Object.fromEntries(header.map((name, at) => [name, values[at]!]))])
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
  if (names.length === 1 && /[;\t]/.test(names[0]!)) {
    return ['The columns are separated by semicolons or tabs; use commas.']
  }
  if (names.length > maxColumns) return [`There are more than ${maxColumns} columns.`]
  return names.flatMap((name, at) => {
    if (name === '') return [`Column ${at + 1} has no name.`]
    const isTwice = names.indexOf(name) < at
    return (isTwice ? `The column ${JSON.stringify(name)} is there twice.` : nameProblem(name)) ?? []
  })
}

/** What is wrong with the name of a column; it has to be one that `${name}` can name. */
function nameProblem(name: string): string | undefined {
  const shown = JSON.stringify(name)
  if (name === '') return 'A column has no name.'
  if (name.trim() !== name) return `The column ${shown} has a space at its beginning or end.`
  if (/[{}\p{Cc}]/u.test(name)) return `The column ${shown} has a brace or a control character in its name.`
  if (/^(?:env|var):/.test(name)) return `A column cannot begin with ${name.slice(0, 4)}, as ${shown} does.`
  if (dangerousNames.has(name)) return `A column cannot be named ${shown}.`
  return undefined
}
