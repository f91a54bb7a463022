import { creatingCommands } from '../../contract/commands.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { isObject } from '../../json.ts'
import { canonicalText } from '../lock/canonical-form.ts'
import { jobName, type CommandField } from './manifest-fields.ts'
import type { Found, InputFiles } from './input-files.ts'
import type { JobDefinition, WrittenField } from './job-definition.ts'
import type { FieldValue, InputFile, Lane, Reference } from './manifest.ts'
import type { Mistakes } from './mistakes.ts'
import { resolveReference } from './references.ts'
import { substitute, type Scope } from './substitute.ts'
import { entriesOf, memberOf, valueOf, type YamlNode } from './yaml-nodes.ts'

/** What the fields of all jobs are read with. */
export interface Reading extends Omit<Scope, 'columns'> {
  readonly mistakes: Mistakes
  readonly files: InputFiles
  readonly jobs: ReadonlyMap<string, JobDefinition>
  readonly families: ModelFamilies
  readonly now: number
}

type FilesField = Extract<CommandField, { kind: 'files' }>
type PlainField = Extract<CommandField, { kind: 'value' | 'text' }>

/** Reads the fields of a job for one row. What is wrong with one is reported, and it is undefined. */
export class FieldReader {
  readonly reading: Reading
  readonly job: JobDefinition
  /** The id of the instance. */
  readonly instance: string
  readonly #scope: Scope

  constructor(reading: Reading, job: JobDefinition, columns: Scope['columns'], instance = job.name) {
    this.reading = reading
    this.job = job
    this.instance = instance
    this.#scope = { ...reading, columns }
  }

  get isWaiting(): boolean {
    return this.#scope.columns === 'waiting'
  }

  /** Reports a mistake in a value; of one that is the same in every row none is named. */
  report({ at, isTemplated }: YamlNode, message: string): undefined {
    return this.reading.mistakes.report(at, message, isTemplated ? this.instance : undefined)
  }

  /** Reports a mistake of this row where a field is written, else where the command is. */
  reportField(name: string, message: string): undefined {
    const at = this.job.fields.get(name)?.node.at ?? this.job.commandAt
    return this.reading.mistakes.report(at, message, this.instance)
  }

  async field({ field, node }: WrittenField): Promise<FieldValue | undefined> {
    if (field.kind === 'files') return await this.#files(field, node)
    if (field.kind === 'source') return this.#source(node)
    if (field.kind === 'text') return await this.#text(field, node)
    if (field.kind === 'value') return this.#value(field, node)
    const value = await this.schema(field.name, node)
    return value === undefined ? undefined : { kind: 'value', value }
  }

  /** A text with its columns and variables. @param escape changes what is put in */
  string(name: string, node: YamlNode, escape?: (value: string) => string): string | undefined {
    if (typeof node.value !== 'string') return this.report(node, `${name} must be text.`)
    const { value, problems } = substitute(node.value, this.#scope, escape)
    for (const message of problems) this.report(node, message)
    if (problems.length > 0) return undefined
    const secret = value === node.value ? undefined : this.reading.mistakes.secretIn(value)
    return secret === undefined ? value : this.report(node, `${name} has ${secret} in it.`)
  }

  /** Reports what is wrong with the words in a value that depends on columns which are not known yet. */
  checkWords(name: string, node: YamlNode): undefined {
    if (typeof node.value === 'string') this.string(name, node)
    for (const entry of node.entries) this.checkWords(name, entry.node)
  }

  async schema(name: string, node: YamlNode): Promise<unknown> {
    if (node.kind !== 'scalar') {
      return this.report(node, `${name} takes the path of a JSON Schema, not the schema itself.`)
    }
    const path = this.string(name, node)
    const schema = path === undefined ? undefined : await this.#file(node, path, this.reading.files.json)
    if (schema === undefined || isObject(schema) || typeof schema === 'boolean') return schema
    return this.report(node, `${JSON.stringify(path)} is not a JSON Schema: it must be an object.`)
  }

  async #text(field: PlainField, node: YamlNode): Promise<FieldValue | undefined> {
    const { name } = field
    if (typeof node.value === 'string') {
      const text = this.string(name, node)
      return text === undefined ? undefined : { kind: 'text', text: trimmed(text), source: null }
    }
    const file = fileOf(node)
    if (file === undefined) {
      if (field.field.type !== 'string' || node.kind === 'scalar') return this.#value(field, node)
      return this.report(node, `${name} takes a text, { file: PATH } or { file: "@job" }.`)
    }
    const path = this.string('file', file)
    if (path === undefined) return undefined
    if (path.startsWith('@')) {
      const reference = this.#reference(file, path, 'text')
      return reference && { kind: 'text', text: null, source: { reference } }
    }
    const text = await this.#file(file, path, this.reading.files.text)
    return text === undefined ? undefined : { kind: 'text', text: trimmed(text), source: { path } }
  }

  #value({ name, field }: PlainField, node: YamlNode): FieldValue | undefined {
    let isWhole = true
    const resolve = (part: YamlNode): unknown => {
      if (!part.isTemplated) return valueOf(part)
      if (part.kind === 'list') return part.entries.map((entry) => resolve(entry.node))
      if (part.kind === 'mapping') {
        return Object.fromEntries(part.entries.map((entry) => [entry.name, resolve(entry.node)]))
      }
      const text = this.string(name, part)
      isWhole &&= text !== undefined
      return text
    }
    const value = resolve(node)
    if (!isWhole) return undefined
    return { kind: 'value', value: node.isTemplated ? converted(value, field.type) : value }
  }

  async #files({ name, input }: FilesField, node: YamlNode): Promise<FieldValue | undefined> {
    const isList = node.kind === 'list'
    if (isList && !input.isList) return this.report(node, `${name} takes one file, not a list.`)
    const items = isList ? node.entries.map((entry) => entry.node) : [node]
    if (items.length === 0) return this.report(node, `${name} is an empty list.`)
    const files: InputFile[] = []
    for (const item of items) {
      const text = this.string(name, item)
      const file = text === undefined ? undefined : await this.#inputFile(input, text, item)
      if (file !== undefined) files.push(file)
    }
    return files.length === items.length ? { kind: 'files', files } : undefined
  }

  async #inputFile({ media, roles }: FilesField['input'], text: string, node: YamlNode) {
    const named = roles?.find((word) => text.endsWith(`=${word}`))
    const path = named === undefined ? text : text.slice(0, -named.length - 1)
    const role = named ?? roles?.[0] ?? null
    if (path.startsWith('@')) {
      const reference = this.#reference(node, path, media)
      return reference && { source: { reference }, role }
    }
    const type = await this.#file(node, path, this.reading.files.mediaType)
    if (type === undefined) return undefined
    if (media === null || type?.startsWith(`${media}/`) === true) return { source: { path }, role }
    const actual = type === null ? '' : ` but ${type}`
    const noun = media === 'image' ? 'picture' : 'video'
    return this.report(node, `${JSON.stringify(path)} is not a ${noun}${actual}.`)
  }

  #source(node: YamlNode): FieldValue | undefined {
    const text = this.string('source', node)
    if (text?.startsWith('@') === true) {
      const reference = this.#reference(node, text, creatingCommands['video remix'].creates)
      return reference && { kind: 'files', files: [{ source: { reference }, role: null }] }
    }
    if (text?.trim() === '') return this.report(node, 'source is the id of a finished video, or @job.')
    return text === undefined ? undefined : { kind: 'value', value: text }
  }

  #reference(node: YamlNode, text: string, wanted: Lane | null): Reference | undefined {
    const reference = resolveReference(text, this.reading.jobs, this.job, wanted)
    return typeof reference === 'string' ? this.report(node, reference) : reference
  }

  #file<Value>(node: YamlNode, path: string, read: Reader<Value>): Promise<Value | undefined> {
    return readPath(this.reading.mistakes, path, read, (problem) => this.report(node, problem))
  }
}

type Reader<Value> = (path: string) => Promise<Found<Value>>

/** What a path of the manifest leads to; undefined for a mistake in the path, or in the file, where it has its place. */
async function readPath<Value>(
  mistakes: Mistakes,
  path: string,
  read: Reader<Value>,
  report: (problem: string) => undefined,
): Promise<Value | undefined> {
  const problem = inputPathProblem(path)
  if (problem !== undefined) return report(problem)
  const found = await read(path)
  if (found.problem === undefined) return found.value
  return found.at === undefined ? report(found.problem) : mistakes.report(found.at, found.problem)
}

/** The texts of `vars:`, which nothing is put into. A mistake in one is reported once, and not wherever it is used. */
export async function readVars(mistakes: Mistakes, root: YamlNode, files: InputFiles) {
  const vars = new Map<string, string>()
  for (const { name, at, node } of entriesOf(root, 'vars')) {
    if (!jobName.test(name)) mistakes.report(at, `${JSON.stringify(name)} cannot be the name of a text.`)
    const file = fileOf(node)
    let text: string | undefined
    if (typeof node.value === 'string') text = node.value
    else if (typeof file?.value === 'string') {
      text = await readPath(mistakes, file.value, files.text, (problem) => mistakes.report(file.at, problem))
    } else mistakes.report(node.at, `${name} of vars must be a text, or { file: PATH }.`)
    vars.set(name, trimmed(text ?? ''))
  }
  return vars
}

function fileOf(node: YamlNode): YamlNode | undefined {
  return node.entries.length === 1 ? memberOf(node, 'file')?.node : undefined
}

/** Files end with an end of line, and blocks of YAML, too: without it a prompt is the same wherever it is written. */
function trimmed(text: string): string {
  return canonicalText(text).replace(/\n+$/, '')
}

/** Columns and variables are texts; a field of another type gets what its text means. */
function converted(value: unknown, type: string | readonly string[]): unknown {
  if (typeof value !== 'string' || type.includes('string')) return value
  if (type.includes('boolean') && (value === 'true' || value === 'false')) return value === 'true'
  const isNumeric = type.includes('integer') || type.includes('number')
  return isNumeric && value.trim() !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}

const maxShown = 100

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
