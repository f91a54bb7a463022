import { creatingCommands } from '../../contract/commands.ts'
import { isObject } from '../../json.ts'
import { nearestName } from '../../nearest-name.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { nouns, type CommandField } from './command-fields.ts'
import type { FileProblem } from './input-files.ts'
import type { JobDefinition, WrittenField } from './job-definition.ts'
import type { FieldValue, InputFile, Lane, Reference } from './manifest.ts'
import type { Reading } from './reading.ts'
import { substitute, substituteAll, type Scope } from './substitute.ts'
import { memberOf, nodeAt, valueOf, type YamlNode } from './yaml-nodes.ts'

/** Where a field is resolved: for one row of a job. */
export interface Place {
  readonly reading: Reading
  readonly job: JobDefinition
  readonly scope: Scope
  readonly targets: Targets
  /** Named in mistakes that are not those of every row. */
  readonly instance: string | undefined
}

type FilesField = Extract<CommandField, { kind: 'files' }>

/** What a field is for one row; undefined when something is wrong with it, which is reported. */
export async function resolveField(place: Place, written: WrittenField): Promise<FieldValue | undefined> {
  const { field, node } = written
  switch (field.kind) {
    case 'files': {
      const files = await resolveFiles(place, field, node)
      return files && { kind: 'files', files }
    }
    case 'schema': {
      const value = await readSchema(place, field.name, node)
      return value && { kind: 'value', value: value.schema }
    }
    case 'source':
      return resolveSource(place, node)
    case 'text':
      return resolveText(place, field, node)
    case 'value':
      return resolveValue(place, field, node)
  }
}

function report({ reading, instance }: Place, at: number, message: string): undefined {
  reading.mistakes.add(reading.placeOf(at), message, instance)
}

/** A text with its columns and variables; undefined for anything that is no text, and for mistakes in it. */
export function resolveString(place: Place, name: string, node: YamlNode): string | undefined {
  if (node.kind !== 'scalar' || typeof node.value !== 'string') {
    return report(place, node.at, `${name} must be text.`)
  }
  const { value, problems } = substitute(node.value, place.scope)
  for (const { message } of problems) report(place, node.at, message)
  if (problems.length > 0) return undefined
  const secret = value === node.value ? undefined : place.reading.secretIn(value)
  return secret === undefined ? value : report(place, node.at, `${name} has ${secret} in it.`)
}

async function resolveText(
  place: Place,
  field: Extract<CommandField, { kind: 'value' | 'text' }>,
  node: YamlNode,
): Promise<FieldValue | undefined> {
  const { name } = field
  if (node.kind === 'scalar' && typeof node.value === 'string') {
    const text = resolveString(place, name, node)
    return text === undefined ? undefined : { kind: 'text', text: trimmed(canonicalText(text)), path: null }
  }
  const file = node.kind === 'mapping' && node.entries.length === 1 ? memberOf(node, 'file') : undefined
  if (file === undefined) {
    if (field.field.type !== 'string' || node.kind === 'scalar') return resolveValue(place, field, node)
    return report(place, node.at, `${name} takes a text, { file: PATH } or { file: "@job" }.`)
  }
  const path = resolveString(place, 'file', file.node)
  if (path === undefined) return undefined
  if (path.startsWith('@')) {
    const reference = resolveReference(path, place.targets, place.job, 'text')
    if (typeof reference === 'string') return report(place, file.node.at, reference)
    return { kind: 'text of', reference }
  }
  const problem = inputPathProblem(path)
  if (problem !== undefined) return report(place, file.node.at, problem)
  const found = await place.reading.files.text(path)
  if (found.problem !== undefined) return reportFile(place, path, file.node, found)
  if (await hasSecret(place, path, file.node)) return undefined
  return { kind: 'text', text: trimmed(found.value), path }
}

/** Whether a file has a secret in its text, which is reported. */
async function hasSecret(place: Place, path: string, node: YamlNode): Promise<boolean> {
  const found = await place.reading.files.text(path)
  const secret = found.problem === undefined ? place.reading.secretIn(found.value) : undefined
  if (secret === undefined) return false
  report(place, node.at, `${JSON.stringify(path)} has ${secret} in it.`)
  return true
}

/** Files end with an end of line, and blocks of YAML, too: without it a prompt is the same wherever it is written. */
function trimmed(text: string): string {
  return text.replace(/\n+$/, '')
}

/** A mistake inside a file is told where it is in that file. */
function reportFile(place: Place, path: string, node: YamlNode, found: FileProblem): undefined {
  const { line, column, problem } = found
  const { placeOf, placeIn, mistakes } = place.reading
  const at = line === undefined ? placeOf(node.at) : placeIn(path, line, column ?? 1)
  mistakes.add(at, problem, line === undefined ? place.instance : undefined)
}

function resolveValue(
  place: Place,
  { field }: Extract<CommandField, { kind: 'value' | 'text' }>,
  node: YamlNode,
): FieldValue | undefined {
  const { value, problems } = substituteAll(valueOf(node), place.scope)
  for (const { path, message } of problems) report(place, nodeAt(node, path).at, message)
  if (problems.length > 0) return undefined
  const secret = isTemplated(node) ? place.reading.secretIn(JSON.stringify(value)) : undefined
  if (secret !== undefined) return report(place, node.at, `The value has ${secret} in it.`)
  return { kind: 'value', value: isTemplated(node) ? converted(value, field.type) : value }
}

/** Columns and variables are texts; a field of another type gets what its text means. */
function converted(value: unknown, type: string | readonly string[]): unknown {
  if (typeof value !== 'string' || type.includes('string')) return value
  if (type.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  const isNumeric = type.includes('integer') || type.includes('number')
  return isNumeric && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}

async function resolveFiles(
  place: Place,
  { name, input }: FilesField,
  node: YamlNode,
): Promise<InputFile[] | undefined> {
  if (node.kind === 'list' && !input.isList) {
    return report(place, node.at, `${name} takes one file, not a list.`)
  }
  const files: InputFile[] = []
  const items = node.kind === 'list' ? node.items : [node]
  if (items.length === 0) return report(place, node.at, `${name} is an empty list.`)
  for (const item of items) {
    const text = resolveString(place, name, item)
    const file = text === undefined ? undefined : await resolveFile(place, input, text, item)
    if (file !== undefined) files.push(file)
  }
  return files.length === items.length ? files : undefined
}

async function resolveFile(
  place: Place,
  { media, roles }: FilesField['input'],
  text: string,
  node: YamlNode,
): Promise<InputFile | undefined> {
  const named = roles?.find((word) => text.endsWith(`=${word}`))
  const path = named === undefined ? text : text.slice(0, -named.length - 1)
  const role = named ?? roles?.[0] ?? null
  if (path.startsWith('@')) {
    const reference = resolveReference(path, place.targets, place.job, media)
    return typeof reference === 'string' ? report(place, node.at, reference) : { source: { reference }, role }
  }
  const problem = inputPathProblem(path)
  if (problem !== undefined) return report(place, node.at, problem)
  const found = await place.reading.files.mediaType(path)
  if (found.problem !== undefined) return reportFile(place, path, node, found)
  if (media !== null && found.value?.startsWith(`${media}/`) !== true) {
    const actual = found.value === null ? '' : ` but ${found.value}`
    const noun = media === 'image' ? 'picture' : 'video'
    return report(place, node.at, `${JSON.stringify(path)} is not a ${noun}${actual}.`)
  }
  if (found.value === 'text/plain' && (await hasSecret(place, path, node))) return undefined
  return { source: { path }, role }
}

/** What is wrong with the path of an input in itself: a sentence. */
function inputPathProblem(path: string): string | undefined {
  const shown = JSON.stringify(path.length > maxShown ? `${path.slice(0, maxShown)}…` : path)
  if (path === '' || path.includes('\0')) return `${shown} is not a file name.`
  if (/^[a-z][a-z\d+.-]+:/i.test(path)) {
    return `${shown} is a URL: download the file, so that its bytes are known, and name it here.`
  }
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) {
    return `${shown} must be relative to the manifest's folder, so that it means the same on every machine.`
  }
  return path.includes('\\') ? `${shown} has a backslash in it: write / on every system.` : undefined
}

const maxShown = 100

function resolveSource(place: Place, node: YamlNode): FieldValue | undefined {
  const text = resolveString(place, 'source', node)
  if (text === undefined) return undefined
  if (!text.startsWith('@')) {
    return text.trim() === ''
      ? report(place, node.at, 'source is the id of a finished video, or @job.')
      : { kind: 'value', value: text }
  }
  const reference = resolveReference(text, place.targets, place.job, creatingCommands['video remix'].creates)
  return typeof reference === 'string'
    ? report(place, node.at, reference)
    : { kind: 'files', files: [{ source: { reference }, role: null }] }
}

/** A JSON Schema that a path leads to. */
export async function readSchema(
  place: Place,
  name: string,
  node: YamlNode,
): Promise<{ readonly schema: unknown } | undefined> {
  if (node.kind !== 'scalar') {
    return report(place, node.at, `${name} takes the path of a JSON Schema, not the schema itself.`)
  }
  const path = resolveString(place, name, node)
  if (path === undefined) return undefined
  const problem = inputPathProblem(path)
  if (problem !== undefined) return report(place, node.at, problem)
  const found = await place.reading.files.json(path)
  if (found.problem !== undefined) return reportFile(place, path, node, found)
  if (await hasSecret(place, path, node)) return undefined
  if (isObject(found.value) || typeof found.value === 'boolean') return { schema: found.value }
  return report(place, node.at, `${JSON.stringify(path)} is not a JSON Schema: it must be an object.`)
}

/** Whether a value depends on the row or on variables. */
export function isTemplated(node: YamlNode): boolean {
  if (node.kind === 'scalar') return typeof node.value === 'string' && node.value.includes('${')
  return node.kind === 'list'
    ? node.items.some(isTemplated)
    : node.entries.some(({ node: inner }) => isTemplated(inner))
}

/** The parts of `@job[row]#candidate`. */
interface WrittenReference {
  readonly job: string
  /** The id of a row, in Unicode's form NFC. */
  readonly row?: string
  /** From 1. */
  readonly candidate?: number
}

const reference =
  /^@(?<job>[a-z0-9][a-z0-9_-]{0,63})(?:\[(?<row>[^[\]]+)\])?(?:#(?<candidate>[1-9]\d{0,3}))?$/u

/** Reads a reference to what another job makes; undefined for anything else, a misspelt one, too. */
export function parseReference(text: string): WrittenReference | undefined {
  const parts = reference.exec(text)?.groups
  if (parts === undefined) return undefined
  const { job, row, candidate } = parts
  return {
    job: job!,
    ...(row === undefined ? {} : { row: row.normalize('NFC') }),
    ...(candidate === undefined ? {} : { candidate: Number(candidate) }),
  }
}

/** The jobs that references can lead to, by their names. */
export type Targets = ReadonlyMap<string, TargetJob>

export interface TargetJob {
  readonly definition: JobDefinition
  /** The ids of its rows; null for a job without `each`. */
  readonly rows: ReadonlySet<string> | null
}

/** What a field takes: results of one kind, and of any for null. */
type Wanted = Lane | null

/**
 * What a reference leads to, or what is wrong with it: a sentence.
 * @param text begins with `@`
 * @param own the job that it stands in
 */
function resolveReference(
  text: string,
  jobs: Targets,
  own: JobDefinition,
  wanted: Wanted,
): Reference | string {
  const written = parseReference(text)
  const shown = JSON.stringify(text)
  if (written === undefined) {
    return `${shown} is not a reference: there are @job, @job#2 and @job[id]. A file of another project is named by its path.`
  }
  const { job, row, candidate } = written
  const target = jobs.get(job)
  if (target === undefined) {
    const near = nearestName(job, [...jobs.keys()])
    return `There is no job ${job} for ${shown}${near === undefined ? '.' : `; did you mean @${near}?`}`
  }
  const { rows, definition } = target
  const makes = creatingCommands[definition.command].creates
  if (wanted !== null && makes !== wanted)
    return `${shown} is ${nouns[makes][0]}; expected ${nouns[wanted][0]}.`
  if (rows === null && row !== undefined)
    return `${shown}: the job ${job} has no rows, so it is just @${job}.`
  if (rows !== null && row === undefined) {
    const form = own.own['each'] === undefined ? `@${job}[ID]` : `@${job}[\${id}]`
    return `${shown}: the job ${job} has a result a row; name one, such as ${form}.`
  }
  if (rows !== null && row !== undefined && !rows.has(row)) {
    const near = nearestName(row, [...rows].slice(0, maxCompared))
    return `${shown}: the job ${job} has no row ${row}${near === undefined ? '.' : `; did you mean @${job}[${near}]?`}`
  }
  const variants = Number(definition.own['variants'] ?? 1)
  if (candidate !== undefined && candidate > variants) {
    return `${shown}: the job ${job} has ${variants === 1 ? 'one candidate' : `${variants} candidates`}.`
  }
  const instance = row === undefined ? job : `${job}[${row}]`
  return { text, instance, candidate: candidate ?? null }
}

/** Finding the nearest of many thousands of rows would take long. */
const maxCompared = 1000
