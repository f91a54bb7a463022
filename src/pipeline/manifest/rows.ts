import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { isDeviceName } from '../../files/file-name.ts'
import { parseJson } from '../../files/parse-json.ts'
import { dangerousNames, isObject, numberOf, type JsonObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { InputFiles } from './input-files.ts'
import type { JobDefinition } from './job-definition.ts'
import { usualElements } from './manifest-fields.ts'
import type { FanOut } from './manifest.ts'
import { createLocator, type Mistakes, type TextPosition } from './mistakes.ts'
import { foldedPath } from './output-paths.ts'
import { parseReference } from './references.ts'
import { substitute, type Column, type Scope } from './substitute.ts'
import { memberOf, nodeAt } from './yaml-nodes.ts'

export interface Row {
  /** In brackets behind the job's name: the column `id`, in Unicode's form NFC, else a digest of the row. */
  readonly id: string
  readonly columns: Readonly<Record<string, Column>>
}

export interface Rows {
  readonly rows: readonly Row[]
  /** Every mistake; a row with one is left out. In a list, `line` is the number of the item. */
  readonly problems: readonly TextProblem[]
}

interface TextProblem extends TextPosition {
  readonly message: string
}

interface SourceRow {
  readonly values: Readonly<Record<string, Column>>
  readonly line: number
}

const maxInstances = 100_000

const tooMany = `There are more than ${maxInstances} rows.`

const jsonLines = new Set(['.jsonl', '.ndjson'])

/**
 * The rows of jobs, by their names; null for a job without `each`. Each file is read once. Mistakes are reported; a row with one is left out.
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
  const { rows, problems } = readerOf(path)(found.value)
  const file = files.shown(path)
  for (const { line, column, message } of problems) mistakes.report({ file, line, column }, message)
  return rows
}

function readerOf(path: string): (text: string) => Rows {
  const ending = extname(path).toLowerCase()
  return ending === '.json' ? rowsOfJson : jsonLines.has(ending) ? rowsOfJsonLines : rowsOfCsv
}

/**
 * The rows of a JSON array of objects, or of an object with exactly one array in it.
 * @param subject what the text is, for messages
 */
export function rowsOfJson(text: string, ids: IdRule = rowIds, subject = 'The file'): Rows {
  const { value, problem } = parseJson(text)
  if (problem !== undefined) return { rows: [], problems: [jsonProblem(subject, problem)] }
  const list = arrayIn(value)
  const fault = (message: string): Rows => ({ rows: [], problems: [{ line: 1, column: 1, message }] })
  if (list === undefined)
    return fault(`${subject} is neither a JSON array nor an object with exactly one array in it.`)
  if (list.length > maxInstances) return fault(tooMany)
  const isRow = (item: unknown): item is JsonObject => isObject(item)
  const others = list.flatMap((item, at) =>
    isRow(item) ? [] : [{ line: at + 1, column: 1, message: 'The element is not a JSON object.' }],
  )
  const objects = list.flatMap((item, at) => (isRow(item) ? [[at + 1, item] as const] : []))
  const { rows, problems } = rowsOfObjects(objects, others, 'element', ids)
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
function jsonProblem(subject: string, problem: string): TextProblem {
  const [place, line = '1', column = '1'] = /line (\d+), column (\d+): /.exec(problem) ?? ['']
  return { line: Number(line), column: Number(column), message: `${subject} ${problem.replace(place, '')}.` }
}

/** The rows of a file with a JSON object a line; empty lines are no rows. */
export function rowsOfJsonLines(text: string): Rows {
  const problems: TextProblem[] = []
  const objects: [line: number, value: JsonObject][] = []
  let count = 0
  for (const [at, written] of canonicalText(text).split('\n').entries()) {
    if (written.trim() === '') continue
    const line = at + 1
    const add = (message: string) => problems.push({ line, column: 1, message })
    if (++count > maxInstances) {
      add(tooMany)
      break
    }
    const { value, problem } = parseJson(written)
    if (problem !== undefined) problems.push({ ...jsonProblem('The line', problem), line })
    else if (isObject(value)) objects.push([line, value])
    else add('The line is not a JSON object.')
  }
  return rowsOfObjects(objects, problems, 'line')
}

/** The rows of a list in the manifest: objects, or single values, each of which is the column `id` of its row. */
export function rowsOfList(list: readonly unknown[]): Rows {
  const objects = list.map((item, at) => [at + 1, isObject(item) ? item : { id: item }] as const)
  return rowsOfObjects(objects, [], 'item')
}

function rowsOfObjects(
  objects: readonly (readonly [line: number, value: JsonObject])[],
  problems: TextProblem[],
  unit: 'line' | 'item' | 'element',
  ids: IdRule = rowIds,
): Rows {
  const source: SourceRow[] = []
  for (const [line, value] of objects) {
    const values = valuesOf(value)
    if (typeof values === 'string') problems.push({ line, column: 1, message: values })
    else source.push({ values, line })
  }
  return identified(source, problems, unit, ids)
}

function valuesOf(row: JsonObject): Record<string, Column> | string {
  const values: Record<string, Column> = {}
  for (const [name, value] of Object.entries(row)) {
    const problem = nameProblem(name)
    if (problem !== undefined) return problem
    // Rows have more in them than what a job uses.
    if (value === null) values[name] = { what: 'null', json: '' }
    else if (typeof value !== 'object') values[name] = String(value)
    else values[name] = { what: Array.isArray(value) ? 'a list' : 'an object', json: JSON.stringify(value) }
  }
  return values
}

function identified(
  source: readonly SourceRow[],
  problems: readonly TextProblem[],
  unit: 'line' | 'item' | 'element',
  ids: IdRule = rowIds,
): Rows {
  const hasIds = source.some(({ values }) => Object.hasOwn(values, 'id'))
  const all = [...problems]
  const rows: Row[] = []
  const lines = new Map<string, number>()
  for (const { values, line } of source) {
    const { id: given = '' } = values
    const id = !hasIds ? digestOf(values) : typeof given === 'string' ? given.normalize('NFC') : ''
    const first = lines.get(ids.folded(id))
    const problem = hasIds ? ids.problemOf(id) : undefined
    if (problem !== undefined) all.push({ line, column: 1, message: problem })
    else if (first !== undefined) {
      const message = hasIds
        ? `The id ${JSON.stringify(id)} is taken by ${unit} ${first}.`
        : `The row is the same as that of ${unit} ${first}; give each a column \`id\`, or leave one out.`
      all.push({ line, column: 1, message })
    } else {
      lines.set(ids.folded(id), line)
      rows.push({ id, columns: values })
    }
  }
  return { rows, problems: all.toSorted((a, b) => a.line - b.line) }
}

interface IdRule {
  problemOf(id: string): string | undefined
  /** Two that are equal so are the same. */
  folded(id: string): string
}

const rowIds: IdRule = { problemOf: idProblem, folded: (id) => id }

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
function digestOf(values: Readonly<Record<string, Column>>): string {
  const texts = Object.entries(values).map(([name, value]) => [
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
export function rowsOfCsv(text: string): Rows {
  const rows: SourceRow[] = []
  const problems: TextProblem[] = []
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
  if (/^(?:env|var):/.test(name)) return `A column cannot begin with ${name.slice(0, 4)}, as ${shown} does.`
  if (dangerousNames.has(name)) return `A column cannot be named ${shown}.`
  return undefined
}

/** The elements of a fan-out whose text is not there, or has too many: then with the problem, a sentence. */
interface WaitingRows extends FanOut {
  readonly problem: string | null
}

/** The rows of a job; null without `each`. */
export type JobRows = readonly Row[] | WaitingRows | null

/**
 * A model has written them, and each becomes a part of the name of a file on any system.
 *
 * `[A-Za-z0-9._-]{1,64}`, without a leading dot, not reserved on Windows, unique whatever the case.
 */
const elementIds: IdRule = {
  problemOf(id) {
    const shown = JSON.stringify(id.slice(0, 64))
    if (isDeviceName(id)) return `The id ${shown} is reserved on Windows.`
    if (id === '') return 'The element has no `id`, which the other elements have.'
    return /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$/.test(id)
      ? undefined
      : `The id ${shown}${id.length > 64 ? ' …' : ''} cannot name a file: it has letters, digits, ".", "_" and "-", at most 64, and no dot at the beginning.`
  },
  folded: foldedPath,
}

/** What `each: '@job'` of a job says, or undefined for any other `each`. Mistakes in it are reported. */
export function fanOutOf(
  mistakes: Mistakes,
  { name, node, own }: JobDefinition,
  jobs: readonly JobDefinition[],
): FanOut | undefined {
  const { each, max_instances: most } = own
  const written = memberOf(node, 'each')?.node
  if (written === undefined || typeof each !== 'string' || !each.startsWith('@')) {
    const limit = memberOf(node, 'max_instances')
    if (limit !== undefined) mistakes.report(limit.at, 'max_instances is for `each: "@job"`.')
    return undefined
  }
  const { job, row, candidate } = parseReference(each) ?? {}
  const source = jobs.find((other) => other.name === job)
  const near = nearestName(
    job ?? each.slice(1),
    jobs.map((other) => other.name),
  )
  const problem =
    job === undefined || row !== undefined || candidate !== undefined
      ? `${JSON.stringify(each)} is not a job: each takes @job, the JSON array that a text job writes.`
      : source === undefined
        ? `There is no job ${job} for ${JSON.stringify(each)}${near === undefined ? '.' : `; did you mean @${near}?`}`
        : source.settings.lane !== 'text'
          ? `${JSON.stringify(each)} is not a text, and each takes the JSON array of one.`
          : memberOf(source.node, 'each') !== undefined
            ? `${JSON.stringify(each)} has \`each\` itself: elements come from one text.`
            : undefined
  if (problem !== undefined) mistakes.report(written.at, problem)
  const out = memberOf(node, 'out')
  if (typeof own['out'] === 'string' && !/(?<!\$)\$\{(?!env:|var:)/.test(own['out'])) {
    mistakes.report(out!.node.at, 'out needs a column such as ${id}: each element has a file of its own.')
  }
  return {
    job: name,
    source: { text: each, instance: job ?? name, candidate: null },
    most: numberOf(most) ?? usualElements,
    isBounded: most !== undefined,
  }
}

/**
 * The elements of a fan-out, as far as its text is known. Mistakes in the text are reported: nothing is made of it.
 * @param texts by the instances that made them
 */
export function readElements(
  mistakes: Mistakes,
  fanOut: FanOut,
  texts: ReadonlyMap<string, string>,
): readonly Row[] | WaitingRows {
  const { source, most } = fanOut
  const text = texts.get(source.instance)
  if (text === undefined) return { ...fanOut, problem: null }
  const count = arrayIn(parseJson(text).value)?.length ?? 0
  if (count > most) {
    const problem = `${source.text} has ${count} elements, more than max_instances of ${fanOut.job} (${most}).`
    return { ...fanOut, problem }
  }
  const { rows, problems } = rowsOfJson(text, elementIds, 'The text')
  for (const { line, column, message } of problems) {
    mistakes.report({ file: source.text, line, column }, message)
  }
  return rows
}
