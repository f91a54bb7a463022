import { literalTemplate } from '../../files/output-plan.ts'
import { objectOf } from '../../json.ts'
import { checkInstance } from './check-instance.ts'
import type { JobDefinition } from './job-definition.ts'
import { referencesOf, type Asserts, type FieldValue, type Instance } from './manifest.ts'
import {
  checkWords,
  isTemplated,
  readSchema,
  resolveField,
  resolveString,
  type Place,
  type Reading,
} from './resolve-field.ts'
import type { JobRows } from './fan-out.ts'
import type { Row } from './rows.ts'
import type { Scope } from './substitute.ts'
import { memberOf, nodeAt, type YamlNode } from './yaml-nodes.ts'

/** Rows that are read at the same time: most of it is waiting for files. */
const batch = 64

/** What does not depend on the row, by name: it is read, and its mistakes are reported, once. */
type Constants = Map<string, Promise<unknown>>

/** The instances of a job, one a row; those with mistakes are left out. While its rows are not known, one stands for all. */
export async function readInstances(
  reading: Reading,
  job: JobDefinition,
  rows: JobRows,
): Promise<Instance[]> {
  const constants: Constants = new Map()
  if (rows !== null && 'problem' in rows) {
    const scope: Scope = { columns: 'waiting', ...reading.variables }
    const place: Place = { ...reading, job, scope, instance: undefined }
    const instance = await readInstance(place, constants)
    return instance === undefined ? [] : [{ ...instance, output: '', waiting: rows }]
  }
  const readRow = (row: Row | null) => {
    const instance = row === null ? undefined : `${job.name}[${row.id}]`
    const scope: Scope = { columns: row?.columns ?? null, ...reading.variables }
    return readInstance({ ...reading, job, scope, instance }, constants)
  }
  const found: Instance[] = []
  const all = rows ?? [null]
  for (let start = 0; start < all.length; start += batch) {
    const read = await Promise.all(all.slice(start, start + batch).map(readRow))
    found.push(...read.filter((instance) => instance !== undefined))
  }
  return found
}

async function readInstance(place: Place, constants: Constants): Promise<Instance | undefined> {
  const { job, files, mistakes } = place
  const fields: Record<string, FieldValue> = {}
  const isWaiting = place.scope.columns === 'waiting'
  let open = 0
  for (const [name, written] of job.fields) {
    // A mistake in a default is one of the jobs that have it.
    const own = written.isDefault ? { ...place, instance: place.instance ?? job.name } : place
    if (isWaiting && isTemplated(written.node)) {
      open++
      checkWords(own, name, written.node)
      continue
    }
    const value = await oncePerJob(own, constants, name, written.node, (one) => resolveField(one, written))
    if (value !== undefined) fields[name] = value
  }
  const isRead = Object.keys(fields).length + open === job.fields.size
  const isWhole = isRead && open === 0
  // Braces in what is put into an output are no words of its template.
  const output = readOwn(place, 'out', literalTemplate)
  const model = fields['model']?.kind === 'value' ? fields['model'].value : undefined
  const references = Object.values(fields).flatMap(referencesOf)
  const instance: Instance = {
    id: place.instance ?? job.name,
    job: job.name,
    command: job.command,
    model: typeof model === 'string' ? model : null,
    fields,
    references: [...new Map(references.map((reference) => [reference.text, reference])).values()],
    output: output ?? '',
    count: 1,
    alt: readOwn(place, 'alt') ?? null,
    asserts: await readAsserts(place, constants),
    ...job.settings,
  }
  for (const problem of isWhole ? await files.sourceProblems(instance) : []) {
    const field = job.fields.get(problem.startsWith('mask ') ? 'mask' : 'image')
    mistakes.report(field?.node.at ?? job.commandAt, problem, place.instance)
  }
  const count = checkInstance(place, instance, isWhole)
  return isRead && output !== undefined ? { ...instance, count } : undefined
}

/** Reads what depends on the row for this row, and everything else for the first one. */
function oncePerJob<Value>(
  place: Place,
  constants: Constants,
  name: string,
  node: YamlNode,
  read: (place: Place) => Promise<Value>,
): Promise<Value> {
  if (isTemplated(node)) return read(place)
  const found = constants.get(name) ?? read({ ...place, instance: undefined })
  constants.set(name, found)
  return found as Promise<Value>
}

/** A text of the job itself; undefined where there is none, or a mistake in it. */
function readOwn(place: Place, name: string, escape?: (value: string) => string): string | undefined {
  const { own, node } = place.job
  const entry = own[name] === undefined ? undefined : memberOf(node, name)
  return entry && resolveString(place, name, entry.node, escape)
}

async function readAsserts(place: Place, constants: Constants): Promise<Asserts> {
  const node = memberOf(place.job.node, 'assert')?.node
  const found: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(objectOf(place.job.own['assert']))) {
    const inner = nodeAt(node!, [name])
    // No field is named so.
    const read = await oncePerJob(place, constants, `assert:${name}`, inner, async (one) => {
      if (name === 'schema') return readSchema(one, name, inner)
      if (typeof value !== 'string') return value
      const text = resolveString(one, name, inner)
      const problem = name === 'matches' && text !== undefined ? patternProblem(text) : undefined
      if (problem !== undefined) one.mistakes.report(inner.at, problem, one.instance)
      return text
    })
    if (read !== undefined) found[name] = read
  }
  return found
}

function patternProblem(pattern: string): string | undefined {
  try {
    return RegExp(pattern, 'u') && undefined
  } catch (error) {
    return `matches is not a regular expression: ${(error as Error).message}.`
  }
}
