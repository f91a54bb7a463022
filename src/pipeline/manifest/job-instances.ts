import { creatingCommands } from '../../contract/commands.ts'
import type { ModelFamilies } from '../../contract/known-models.ts'
import { literalTemplate } from '../../files/output-plan.ts'
import { objectOf } from '../../json.ts'
import { checkInstance } from './check-instance.ts'
import type { JobDefinition } from './job-definition.ts'
import { referencesOf, type Asserts, type FieldValue, type Instance } from './manifest.ts'
import type { Mistakes } from './mistakes.ts'
import { isTemplated, readSchema, resolveField, resolveString, type Place } from './resolve-field.ts'
import type { Row } from './rows.ts'
import type { Scope } from './substitute.ts'
import { memberOf, nodeAt, type YamlNode } from './yaml-nodes.ts'

/** What the instances of all jobs are read with. */
export type Reading = Omit<Place, 'job' | 'scope' | 'instance'> & {
  readonly variables: Omit<Scope, 'columns'>
  readonly families: ModelFamilies
  /** Milliseconds since 1970, for models that retire. */
  readonly now: number
}

/** An instance that holds no mistake by itself. */
export interface ReadInstance {
  readonly instance: Instance
  readonly warnings: readonly string[]
}

/** Rows that are read at the same time: most of it is waiting for files. */
const batch = 64

/** The instances of a job, one a row; those with mistakes are left out. */
export async function readInstances(
  reading: Reading,
  job: JobDefinition,
  rows: readonly Row[] | null,
): Promise<ReadInstance[]> {
  const shared: Shared = {
    settings: readSettings(reading.mistakes, job),
    isOfRow: [...job.fields.values()].some(({ node }) => isTemplated(node)),
    constants: new Map(),
  }
  const readRow = (row: Row | null) => {
    const instance = row === null ? undefined : `${job.name}[${row.id}]`
    const scope: Scope = { columns: row?.columns ?? null, ...reading.variables }
    return readInstance(reading, { ...reading, job, scope, instance }, shared)
  }
  const found: ReadInstance[] = []
  const all = rows ?? [null]
  for (let at = 0; at < all.length; at += batch) {
    const read = await Promise.all(all.slice(at, at + batch).map(readRow))
    found.push(...read.filter((instance) => instance !== undefined))
  }
  return found
}

/** What is the same for all rows of a job. */
interface Shared {
  readonly settings: ReturnType<typeof readSettings>
  /** Whether a field depends on the row, or on variables. */
  readonly isOfRow: boolean
  /** Fields that do not depend on the row, and the asserts, by name: read, and their mistakes reported, once. */
  readonly constants: Map<string, Promise<unknown>>
}

function readSettings(mistakes: Mistakes, { own, node, command, at }: JobDefinition) {
  const {
    variants,
    pick,
    on_unknown: onUnknown,
  } = own as Partial<Pick<Instance, 'variants' | 'pick'> & { on_unknown: Instance['onUnknown'] }>
  const settings = {
    variants: variants ?? 1,
    pick: pick ?? null,
    acceptsMismatch: own['accept_mismatch'] === true,
    isFrozen: own['frozen'] === true,
    onUnknown: onUnknown ?? (creatingCommands[command].creates === 'text' ? 'retry' : 'stop'),
    at: mistakes.positionOf(at),
  } as const
  if (settings.pick !== null && settings.pick > settings.variants) {
    mistakes.report(
      memberOf(node, 'pick')!.node.at,
      `pick is ${settings.pick}, but variants is ${settings.variants}.`,
    )
  }
  return settings
}

async function readInstance(
  { families, now }: Reading,
  place: Place,
  shared: Shared,
): Promise<ReadInstance | undefined> {
  const { job, files, mistakes } = place
  const fields: Record<string, FieldValue> = {}
  for (const [name, written] of job.fields) {
    // A mistake in a default is one of the jobs that have it.
    const own = written.isDefault ? { ...place, instance: place.instance ?? job.name } : place
    const value = await oncePerJob(own, shared, name, written.node, (at) => resolveField(at, written))
    if (value !== undefined) fields[name] = value
  }
  const isWhole = Object.keys(fields).length === job.fields.size
  // Braces in what is put into an output are no words of its template.
  const output = readOwn(place, 'out', literalTemplate)
  const assertNode = memberOf(job.node, 'assert')?.node
  const asserts =
    assertNode &&
    (await oncePerJob(place, shared, 'assert:', assertNode, (at) => readAsserts(at, assertNode)))
  const model = fields['model']?.kind === 'value' ? fields['model'].value : undefined
  const references = Object.values(fields).flatMap(referencesOf)
  const instance: Instance = {
    id: place.instance ?? job.name,
    job: job.name,
    command: job.command,
    lane: creatingCommands[job.command].creates,
    model: typeof model === 'string' ? model : null,
    fields,
    references: [...new Map(references.map((reference) => [reference.text, reference])).values()],
    output: output ?? '',
    count: 1,
    alt: readOwn(place, 'alt') ?? null,
    asserts: asserts ?? {},
    ...shared.settings,
  }
  const named = shared.isOfRow ? place.instance : undefined
  for (const problem of isWhole ? await files.sourceProblems(instance) : []) {
    const field = job.fields.get(problem.startsWith('mask ') ? 'mask' : 'image')
    mistakes.report(field?.node.at ?? job.commandAt, problem, { instance: named })
  }
  const { count, warnings } = checkInstance(mistakes, job, instance, { isWhole, named, families, now })
  return isWhole && output !== undefined ? { instance: { ...instance, count }, warnings } : undefined
}

/** Reads what depends on the row for this row, and everything else for the first one. */
function oncePerJob<Value>(
  place: Place,
  { constants }: Shared,
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

/** The assertions of a job for one row; those with mistakes are left out. */
async function readAsserts(place: Place, node: YamlNode): Promise<Asserts> {
  const found: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(objectOf(place.job.own['assert']))) {
    const inner = nodeAt(node, [name])
    if (name === 'schema') {
      const schema = await readSchema(place, name, inner)
      if (schema !== undefined) found[name] = schema
      continue
    }
    const text = typeof value === 'string' ? resolveString(place, name, inner) : undefined
    const problem = name === 'matches' && text !== undefined ? patternProblem(text) : undefined
    if (problem !== undefined) place.mistakes.report(inner.at, problem, { instance: place.instance })
    found[name] = text ?? value
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
