import { creatingCommands } from '../../contract/commands.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { isObject } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import type { CommandField } from './manifest-fields.ts'
import type { Found, InputFiles } from './input-files.ts'
import type { JobDefinition, WrittenField } from './job-definition.ts'
import type { FieldValue, InputFile, Lane, Reference } from './manifest.ts'
import type { Mistakes } from './mistakes.ts'
import { resolveReference } from './references.ts'
import { substitute, type Scope } from './substitute.ts'
import { memberOf, valueOf, type YamlNode } from './yaml-nodes.ts'

export interface Reading extends Omit<Scope, 'columns'> {
  readonly mistakes: Mistakes
  readonly files: InputFiles
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly families: ModelFamilies
  readonly now: number
}

/** Where a field is resolved: for one row of a job. */
export interface Place extends Reading, Scope {
  readonly job: JobDefinition
  /** Its id. */
  readonly instance: string
}

type FilesField = Extract<CommandField, { kind: 'files' }>
type PlainField = Extract<CommandField, { kind: 'value' | 'text' }>

/** What a field is for one row; undefined when something is wrong with it, which is reported. */
export async function resolveField(
  place: Place,
  { field, node }: WrittenField,
): Promise<FieldValue | undefined> {
  if (field.kind === 'files') return await resolveFiles(place, field, node)
  if (field.kind === 'source') return resolveSource(place, node)
  if (field.kind === 'text') return await resolveText(place, field, node)
  if (field.kind === 'value') return resolveValue(place, field, node)
  const value = await readSchema(place, field.name, node)
  return value === undefined ? undefined : { kind: 'value', value }
}

type Reporting = Pick<Reading, 'mistakes'> & { readonly instance?: string }

/** Reports a mistake in a value; of one that is the same in every row none is named. */
export function report(place: Reporting, { at, isTemplated }: YamlNode, message: string): undefined {
  return place.mistakes.report(at, message, isTemplated ? place.instance : undefined)
}

/** A text with its columns and variables; undefined for a mistake. @param escape changes what is put in */
export function resolveString(
  place: Place,
  name: string,
  node: YamlNode,
  escape?: (value: string) => string,
): string | undefined {
  if (typeof node.value !== 'string') return report(place, node, `${name} must be text.`)
  const { value, problems } = substitute(node.value, place, escape)
  for (const message of problems) report(place, node, message)
  if (problems.length > 0) return undefined
  const secret = value === node.value ? undefined : place.mistakes.secretIn(value)
  return secret === undefined ? value : report(place, node, `${name} has ${secret} in it.`)
}

/** Reports what is wrong with the words in a value that depends on columns which are not known yet. */
export function checkWords(place: Place, name: string, node: YamlNode): undefined {
  if (typeof node.value === 'string') resolveString(place, name, node)
  for (const entry of node.entries) checkWords(place, name, entry.node)
}

function referenceAt(place: Place, node: YamlNode, text: string, wanted: Lane | null): Reference | undefined {
  const reference = resolveReference(text, place.jobs, place.job, wanted)
  return typeof reference === 'string' ? report(place, node, reference) : reference
}

/** What a path of the manifest leads to; undefined for a mistake in the path, or in the file. */
async function fileAt<Value>(
  place: Reporting,
  node: YamlNode,
  path: string,
  read: (path: string) => Promise<Found<Value>>,
): Promise<Value | undefined> {
  const problem = inputPathProblem(path)
  if (problem !== undefined) return report(place, node, problem)
  const found = await read(path)
  if (found.problem === undefined) return found.value
  // A mistake inside a file has its place there, and is not that of a row.
  if (found.at !== undefined) return place.mistakes.report(found.at, found.problem)
  return report(place, node, found.problem)
}

async function resolveText(place: Place, field: PlainField, node: YamlNode): Promise<FieldValue | undefined> {
  const { name } = field
  if (typeof node.value === 'string') {
    const text = resolveString(place, name, node)
    return text === undefined ? undefined : { kind: 'text', text: trimmed(text), source: null }
  }
  const file = fileOf(node)
  if (file === undefined) {
    if (field.field.type !== 'string' || node.kind === 'scalar') return resolveValue(place, field, node)
    return report(place, node, `${name} takes a text, { file: PATH } or { file: "@job" }.`)
  }
  const path = resolveString(place, 'file', file)
  if (path === undefined) return undefined
  if (path.startsWith('@')) {
    const reference = referenceAt(place, file, path, 'text')
    return reference && { kind: 'text', text: null, source: { reference } }
  }
  const text = await fileAt(place, file, path, place.files.text)
  return text === undefined ? undefined : { kind: 'text', text: trimmed(text), source: { path } }
}

function fileOf(node: YamlNode): YamlNode | undefined {
  return node.entries.length === 1 ? memberOf(node, 'file')?.node : undefined
}

/** A text of `vars:`, which nothing is put into; undefined for a mistake. */
export async function readSharedText(
  place: Pick<Reading, 'mistakes' | 'files'>,
  name: string,
  node: YamlNode,
): Promise<string | undefined> {
  if (typeof node.value === 'string') return trimmed(node.value)
  const file = fileOf(node)
  if (typeof file?.value !== 'string') {
    return report(place, node, `${name} of vars must be a text, or { file: PATH }.`)
  }
  const text = await fileAt(place, file, file.value, place.files.text)
  return text === undefined ? undefined : trimmed(text)
}

/** Files end with an end of line, and blocks of YAML, too: without it a prompt is the same wherever it is written. */
function trimmed(text: string): string {
  return canonicalText(text).replace(/\n+$/, '')
}

function resolveValue(place: Place, { name, field }: PlainField, node: YamlNode): FieldValue | undefined {
  let isWhole = true
  const resolve = (part: YamlNode): unknown => {
    if (!part.isTemplated) return valueOf(part)
    if (part.kind === 'list') return part.entries.map((entry) => resolve(entry.node))
    if (part.kind === 'mapping') {
      return Object.fromEntries(part.entries.map((entry) => [entry.name, resolve(entry.node)]))
    }
    const text = resolveString(place, name, part)
    isWhole &&= text !== undefined
    return text
  }
  const value = resolve(node)
  if (!isWhole) return undefined
  return { kind: 'value', value: node.isTemplated ? converted(value, field.type) : value }
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
): Promise<FieldValue | undefined> {
  const isList = node.kind === 'list'
  if (isList && !input.isList) return report(place, node, `${name} takes one file, not a list.`)
  const items = isList ? node.entries.map((entry) => entry.node) : [node]
  if (items.length === 0) return report(place, node, `${name} is an empty list.`)
  const files: InputFile[] = []
  for (const item of items) {
    const text = resolveString(place, name, item)
    const file = text === undefined ? undefined : await resolveFile(place, input, text, item)
    if (file !== undefined) files.push(file)
  }
  return files.length === items.length ? { kind: 'files', files } : undefined
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
    const reference = referenceAt(place, node, path, media)
    return reference && { source: { reference }, role }
  }
  const type = await fileAt(place, node, path, place.files.mediaType)
  if (type === undefined) return undefined
  if (media === null || type?.startsWith(`${media}/`) === true) return { source: { path }, role }
  const actual = type === null ? '' : ` but ${type}`
  const noun = media === 'image' ? 'picture' : 'video'
  return report(place, node, `${JSON.stringify(path)} is not a ${noun}${actual}.`)
}

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
  if (text?.startsWith('@') === true) {
    const reference = referenceAt(place, node, text, creatingCommands['video remix'].creates)
    return reference && { kind: 'files', files: [{ source: { reference }, role: null }] }
  }
  if (text?.trim() === '') return report(place, node, 'source is the id of a finished video, or @job.')
  return text === undefined ? undefined : { kind: 'value', value: text }
}

export async function readSchema(place: Place, name: string, node: YamlNode): Promise<unknown> {
  if (node.kind !== 'scalar') {
    return report(place, node, `${name} takes the path of a JSON Schema, not the schema itself.`)
  }
  const path = resolveString(place, name, node)
  const schema = path === undefined ? undefined : await fileAt(place, node, path, place.files.json)
  if (schema === undefined || isObject(schema) || typeof schema === 'boolean') return schema
  return report(place, node, `${JSON.stringify(path)} is not a JSON Schema: it must be an object.`)
}
