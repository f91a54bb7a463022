import { hash } from 'node:crypto'
import { extname } from 'node:path'
import { CsvError, parse } from 'csv-parse/sync'
import { isDeviceName } from '../../files/file-name.ts'
import { parseJson } from '../../files/parse-json.ts'
import { dangerousNames, isObject, numberOf, type JsonObject } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { JobDefinition, Rows } from './job-definition.ts'
import { usualElements } from './manifest-fields.ts'
import type { FanOut } from './manifest.ts'
import { once, type Found } from './input-files.ts'
import { createLocator, type Position, type TextPosition } from './mistakes.ts'
import { foldedPath } from './output-paths.ts'
import { parseReference, resolveReference } from './references.ts'
import type { Reading } from './resolve-field.ts'
import { substitute } from './substitute.ts'
import { memberOf, type YamlNode } from './yaml-nodes.ts'

export interface FoundRows {
  readonly rows: Rows
  /** Every mistake; a row with one is left out. Without a file it is in that of the rows. */
  readonly problems: readonly ((TextPosition | Position) & { readonly message: string })[]
}

const maxInstances = 100_000

/**
 * Finds the rows of all jobs. Mistakes are reported; a row with one is left out.
 * @param texts what fan-outs take their elements from, by the instances that made them
 * @returns how many instances there are
 */
export async function readRows(reading: Reading, texts: ReadonlyMap<string, string>): Promise<number> {
  const fromFile = once(async (path): Promise<Found<FoundRows>> => {
    const source = await reading.files.rows(path)
    return source.problem === undefined ? { value: rowsOf(path, source.value) } : source
  })
  let count = 0
  for (const job of reading.jobs.values()) {
    await readRowsOf(job, reading, texts, fromFile)
    const before = count
    count += job.rows === null || job.rows === 'waiting' ? 1 : job.rows.size
    if (count <= maxInstances) continue
    const message = `With this job there are more than ${maxInstances} instances.`
    if (before <= maxInstances) reading.mistakes.report(job.at, message)
    job.rows = new Map()
  }
  return count
}

async function readRowsOf(
  job: JobDefinition,
  reading: Reading,
  texts: ReadonlyMap<string, string>,
  fromFile: (path: string) => Promise<Found<FoundRows>>,
): Promise<void> {
  const { mistakes, files } = reading
  const { each } = job.own
  const written = memberOf(job.node, 'each')?.node
  const take = (file: string, { rows, problems }: FoundRows): Rows => {
    for (const { message, ...place } of problems) mistakes.report({ file, ...place }, message)
    return rows
  }
  if (written !== undefined && typeof each === 'string' && each.startsWith('@')) {
    job.fanOut = readFanOut(reading, job, written)
    const text = texts.get(job.fanOut.source.instance)
    if (text === undefined) return
    const found = rowsOfJson(text, 'The text', true)
    const elements = found.rows.size + found.problems.length
    const { most } = job.fanOut
    if (elements <= most) job.rows = take(each, found)
    else job.problem = `${each} has ${elements} elements, more than max_instances of ${job.name} (${most}).`
    return
  }
  const limit = memberOf(job.node, 'max_instances')
  if (limit !== undefined) mistakes.report(limit.at, 'max_instances is for `each: "@job"`.')
  if (written === undefined) return
  if (Array.isArray(each)) {
    const placeOf = (item: number) => mistakes.positionOf(written.entries[item - 1]!.at)
    job.rows = take('', identified(each.map(itemOfList), 'item', placeOf))
    return
  }
  job.rows = new Map()
  if (typeof each !== 'string') return
  const { value: path, problems } = substitute(each, { ...reading, columns: null })
  for (const message of problems) mistakes.report(written.at, message)
  if (problems.length > 0 || path === '') return
  const found = await fromFile(path)
  if (found.problem === undefined) job.rows = take(files.shown(path), found.value)
  else mistakes.report(found.at ?? written.at, found.problem)
}

function readFanOut({ mistakes, jobs }: Reading, own: JobDefinition, written: YamlNode): FanOut {
  const { max_instances: most, each, out } = own.own
  const text = String(each)
  const { job = own.name, row, candidate = null } = parseReference(text) ?? {}
  const isOneText = row === undefined && candidate === null && jobs.get(job)?.rows === null
  const found =
    job === own.name || (jobs.has(job) && !isOneText)
      ? `${JSON.stringify(text)} is not one text: each takes @job, the JSON array that a text job without \`each\` writes.`
      : resolveReference(text, jobs, own, 'text')
  if (typeof found === 'string') mistakes.report(written.at, found)
  if (typeof out === 'string' && !/(?<!\$)\$\{(?!env:|var:)/.test(out)) {
    const message = 'out needs a column such as ${id}: each element has a file of its own.'
    mistakes.report(memberOf(own.node, 'out')!.node.at, message)
  }
  return {
    job: own.name,
    source: { text, instance: job, candidate: null },
    most: numberOf(most) ?? usualElements,
    isBounded: most !== undefined,
  }
}

export function rowsOf(path: string, text: string): FoundRows {
  const ending = extname(path).toLowerCase()
  if (ending === '.json') return rowsOfJson(text, 'The file')
  return ending === '.jsonl' || ending === '.ndjson' ? rowsOfJsonLines(text) : rowsOfCsv(text)
}

interface SourceRow {
  /** Or the number of the item or element. */
  readonly line: number
  /** Of a mistake; 1 where there is none. */
  readonly column?: number
  /** Or what is wrong with it, a sentence. */
  readonly columns: JsonObject | string
}

/** Of an array of objects, or an object with exactly one array in it. @param isMade by a model */
function rowsOfJson(text: string, subject: string, isMade = false): FoundRows {
  const { value, problem } = parseJson(text)
  const arrays = isObject(value) ? Object.values(value).filter(Array.isArray) : []
  const list: unknown = Array.isArray(value) || arrays.length !== 1 ? value : arrays[0]
  if (problem !== undefined) return identified([jsonProblem(subject, problem, 1)], 'line')
  if (!Array.isArray(list)) {
    const none = `${subject} is neither a JSON array nor an object with exactly one array in it.`
    return identified([{ line: 1, columns: none }], 'line')
  }
  let places: readonly TextPosition[] | undefined
  const placeOf = (element: number) => (places ??= elementPlaces(text))[element - 1]!
  const rows = list.map((item, at) => rowOfJson(item, at + 1, 'element'))
  return identified(rows, 'element', placeOf, isMade)
}

/** Where the elements of the one array begin. Looked for only when there is a mistake in one. */
function elementPlaces(text: string): TextPosition[] {
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
  return offsets.map(createLocator(text))
}

function rowsOfJsonLines(text: string): FoundRows {
  const lines = canonicalText(text).split('\n')
  const rows = lines.flatMap((written, at) => {
    if (written.trim() === '') return []
    const { value, problem } = parseJson(written)
    return problem === undefined ? rowOfJson(value, at + 1, 'line') : jsonProblem('The line', problem, at + 1)
  })
  return identified(rows, 'line')
}

type Unit = 'line' | 'item' | 'element'

function jsonProblem(subject: string, problem: string, first: number): SourceRow {
  const [place, line = '1', column = '1'] = /line (\d+), column (\d+): /.exec(problem) ?? ['']
  const columns = `${subject} ${problem.replace(place, '')}.`
  return { line: first + Number(line) - 1, column: Number(column), columns }
}

function rowOfJson(value: unknown, line: number, unit: Unit): SourceRow {
  if (!isObject(value)) return { line, columns: `The ${unit} is not a JSON object.` }
  const [problem] = Object.keys(value).flatMap((name) => nameProblem(name) ?? [])
  return { line, columns: problem ?? value }
}

/** Of a list in the manifest: an object, or a single value, which is the column `id` of its row. */
function itemOfList(item: unknown, at: number): SourceRow {
  return rowOfJson(isObject(item) || Array.isArray(item) ? item : { id: item }, at + 1, 'item')
}

/**
 * Gives each row its id: the column `id`, where one has it, else a digest.
 * @param isMade by a model: then each id becomes a part of the name of a file on any system
 */
function identified(
  source: readonly SourceRow[],
  unit: Unit,
  placeOf: (line: number) => TextPosition = (line) => ({ line, column: 1 }),
  isMade = false,
): FoundRows {
  const hasIds = source.some(({ columns }) => typeof columns === 'object' && Object.hasOwn(columns, 'id'))
  const rows = new Map<string, JsonObject>()
  const lines = new Map<string, number>()
  const problems: FoundRows['problems'][number][] = []
  for (const { line, column, columns } of source.slice(0, maxInstances)) {
    const report = (message: string) => {
      problems.push({ ...(column === undefined ? placeOf(line) : { line, column }), message })
    }
    if (typeof columns === 'string') {
      report(columns)
      continue
    }
    const id = hasIds ? textOf(columns['id'] ?? '').normalize('NFC') : digestOf(columns)
    const folded = isMade ? foldedPath(id) : id
    const first = lines.get(folded)
    const problem = hasIds ? idProblem(id, unit, isMade) : undefined
    if (problem !== undefined) report(problem)
    else if (first === undefined) {
      lines.set(folded, line)
      rows.set(id, columns)
    } else if (hasIds) report(`The id ${JSON.stringify(id)} is taken by ${unit} ${first}.`)
    else
      report(`The row is the same as that of ${unit} ${first}; give each a column \`id\`, or leave one out.`)
  }
  const next = source[maxInstances]
  if (next !== undefined) {
    problems.push({ ...placeOf(next.line), message: `There are more than ${maxInstances} rows.` })
  }
  return { rows, problems }
}

const maxIdLength = 120

/** Brackets, control characters, ends of lines, and marks that turn the direction of what is shown. */
const noneInId = /[[\]\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

function idProblem(id: string, unit: Unit, isMade: boolean): string | undefined {
  if (id === '') return `The ${unit === 'element' ? unit : 'row'} has no \`id\`, which the others have.`
  const shown = JSON.stringify(id.length > maxIdLength ? `${id.slice(0, maxIdLength)}…` : id)
  if (isMade && isDeviceName(id)) return `The id ${shown} is reserved on Windows.`
  if (isMade && !/^[\w-][\w.-]{0,63}$/.test(id)) {
    return `The id ${shown} cannot name a file: it has letters, digits, ".", "_" and "-", at most 64, and no dot at the beginning.`
  }
  const isPlain = id.length <= maxIdLength && id.trim() === id && id.isWellFormed() && !noneInId.test(id)
  return isPlain
    ? undefined
    : `The id ${shown} cannot be one: it has at most ${maxIdLength} characters, no brackets or control characters, and no space at its ends.`
}

/** Of the values alone: neither the position of the row nor the order of its columns changes it. */
function digestOf(columns: JsonObject): string {
  const texts = Object.entries(columns).map(([name, value]) => [name, textOf(value)])
  const sorted = texts.toSorted(([a], [b]) => (a! < b! ? -1 : 1))
  return hash('sha256', JSON.stringify(sorted)).slice(0, 16)
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? (value === null ? '' : JSON.stringify(value)) : String(value)
}

const maxColumns = 1000

/**
 * The rows of CSV of RFC 4180. A byte-order mark is taken off, CR LF is LF (in values, too), and empty lines are no rows.
 * Nothing after a wrong quote is read, and nothing at all with a mistake in the header.
 */
function rowsOfCsv(text: string): FoundRows {
  const records: (readonly [line: number, values: readonly string[]])[] = []
  const problems: SourceRow[] = []
  // Of the next record, without empty lines.
  let line = 1
  try {
    parse(canonicalText(text), {
      record_delimiter: '\n',
      relax_column_count: true,
      skip_empty_lines: true,
      // The header, and one to see that there are too many.
      to: maxInstances + 2,
      on_record(values: readonly string[], info) {
        records.push([line + info.empty_lines, values])
        line += values.join('').split('\n').length
        return null
      },
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const columns = quoteProblems[error.code] ?? `${error.message}.`
    problems.push({ line: line + Number(error['empty_lines']), columns })
  }
  const [first, ...rest] = records
  if (first === undefined) {
    const message = 'The file is empty: its first line has to name the columns.'
    return identified(problems.length > 0 ? problems : [{ line: 1, columns: message }], 'line')
  }
  const [headerLine, header] = first
  const wrong = headerProblems(header).map((columns): SourceRow => ({ line: headerLine, columns }))
  if (wrong.length > 0) return identified([...wrong, ...problems], 'line')
  const rows = rest.map(([line, values]): SourceRow => {
    if (values.length !== header.length) return { line, columns: widthProblem(values.length, header.length) }
    return { line, columns: Object.fromEntries(header.map((name, at) => [name, values[at]!])) }
  })
  return identified([...rows, ...problems], 'line')
}

const quoteProblems: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: 'The quote is never closed.',
  CSV_INVALID_CLOSING_QUOTE: 'Text follows the closing quote; a quote in a value is written twice: "".',
  INVALID_OPENING_QUOTE: 'A value with a quote in it has to be in quotes, with the quote written twice: "".',
}

function widthProblem(found: number, columns: number): string {
  const hint = found > columns ? '; a value with a comma needs quotes' : ''
  return `The row has ${found} ${found === 1 ? 'value' : 'values'}, but the header ${columns} columns${hint}.`
}

function headerProblems(names: readonly string[]): string[] {
  if (names.length === 1 && /[;\t]/.test(names[0]!)) {
    return ['The columns are separated by semicolons or tabs; use commas.']
  }
  if (names.length > maxColumns) return [`There are more than ${maxColumns} columns.`]
  return names.flatMap((name, at) => {
    if (name === '') return [`Column ${at + 1} has no name.`]
    const isTwice = names.indexOf(name) < at
    return (isTwice ? `The column ${JSON.stringify(name)} appears twice.` : nameProblem(name)) ?? []
  })
}

/** A column has to have a name that `${name}` can name. */
function nameProblem(name: string): string | undefined {
  const isPlain = name !== '' && name.trim() === name && !/^(?:env|var):|[{}\p{Cc}]/u.test(name)
  return isPlain && !dangerousNames.has(name)
    ? undefined
    : `A column cannot be named ${JSON.stringify(name)}: a name has no braces or control characters, no space at its ends, and does not begin with env: or var:.`
}
