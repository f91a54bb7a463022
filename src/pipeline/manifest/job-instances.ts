import { creatingCommands } from '../../contract/commands.ts'
import { literalTemplate } from '../../files/output-plan.ts'
import { checkInstance } from './check-instance.ts'
import type { JobDefinition } from './job-definition.ts'
import { referencesOf, type Asserts, type FieldValue, type Instance, type Reference } from './manifest.ts'
import type { Reading } from './reading.ts'
import {
  isTemplated,
  readSchema,
  resolveField,
  resolveString,
  type Place,
  type Targets,
} from './resolve-field.ts'
import type { Row } from './rows.ts'
import type { Scope } from './substitute.ts'
import { memberOf, nodeAt, type YamlNode } from './yaml-nodes.ts'

/** An instance that holds no mistake by itself. */
export interface ReadInstance {
  readonly instance: Instance
  readonly warnings: readonly string[]
}

/** Rows that are read at the same time: most of it is waiting for files. */
const batch = 64

interface SharedParts {
  /** What does not depend on the row, by name: it is read, and its mistakes are told, once. */
  readonly constants: Map<string, Promise<unknown>>
  readonly settings: Settings
  readonly now: number
}

type Settings = Pick<Instance, 'variants' | 'pick' | 'acceptsMismatch' | 'isFrozen' | 'onUnknown' | 'at'>

/**
 * The instances of a job, one a row; those with mistakes are left out.
 * @param now milliseconds since 1970, for models that retire
 */
export async function readInstances(
  reading: Reading,
  job: JobDefinition,
  rows: readonly Row[] | null,
  { targets, now }: { readonly targets: Targets; readonly now: number },
): Promise<ReadInstance[]> {
  const shared: SharedParts = { constants: new Map(), settings: readSettings(reading, job), now }
  const readRow = (row: Row | null) => {
    const instance = row === null ? undefined : `${job.name}[${row.id}]`
    const scope: Scope = { columns: row?.columns ?? null, ...reading.variables }
    return readInstance({ reading, job, scope, targets, instance }, shared)
  }
  const found: ReadInstance[] = []
  const all = rows ?? [null]
  for (let at = 0; at < all.length; at += batch) {
    const read = await Promise.all(all.slice(at, at + batch).map(readRow))
    found.push(...read.filter((instance) => instance !== undefined))
  }
  return found
}

function readSettings({ mistakes, placeOf }: Reading, { own, node, command, at }: JobDefinition): Settings {
  const {
    variants = 1,
    pick = null,
    on_unknown: onUnknown,
  } = own as {
    variants?: number
    pick?: number
    on_unknown?: Instance['onUnknown']
  }
  if (pick !== null && pick > variants) {
    const place = placeOf(memberOf(node, 'pick')!.node.at)
    mistakes.add(place, `pick is ${pick}, but variants is ${variants}.`)
  }
  const usual = creatingCommands[command].creates === 'text' ? 'retry' : 'stop'
  const isFrozen = own['frozen'] === true
  const acceptsMismatch = own['accept_mismatch'] === true
  return { variants, pick, acceptsMismatch, isFrozen, onUnknown: onUnknown ?? usual, at: placeOf(at) }
}

async function readInstance(place: Place, shared: SharedParts): Promise<ReadInstance | undefined> {
  const { reading, job } = place
  const { fields, isWhole, isOfRow } = await readFields(place, shared)
  const output = readOwn(withLiteralBraces(place), 'out')
  const asserts = await readAsserts(place, shared)
  const alt = readOwn(place, 'alt')
  const model = fields['model']?.kind === 'value' ? fields['model'].value : undefined
  const instance: Instance = {
    id: place.instance ?? job.name,
    job: job.name,
    command: job.command,
    lane: creatingCommands[job.command].creates,
    model: typeof model === 'string' ? model : null,
    fields,
    references: referencesIn(fields),
    output: output ?? '',
    count: 1,
    alt: alt ?? null,
    asserts,
    ...shared.settings,
  }
  const named = isOfRow ? place.instance : undefined
  for (const problem of isWhole ? await reading.checkSources(instance) : []) {
    const field = job.fields.get(problem.startsWith('mask ') ? 'mask' : 'image')
    reading.mistakes.add(reading.placeOf(field?.node.at ?? job.commandAt), problem, named)
  }
  const { count, warnings } = checkInstance(reading, job, instance, { isWhole, named, now: shared.now })
  return isWhole && output !== undefined ? { instance: { ...instance, count }, warnings } : undefined
}

interface ReadFields {
  readonly fields: Readonly<Record<string, FieldValue>>
  /** Whether there is no mistake in any of them. */
  readonly isWhole: boolean
  /** Whether one depends on the row, or on variables. */
  readonly isOfRow: boolean
}

async function readFields(place: Place, shared: SharedParts): Promise<ReadFields> {
  const fields: Record<string, FieldValue> = {}
  let isWhole = true
  let isOfRow = false
  for (const [name, written] of place.job.fields) {
    const depends = isTemplated(written.node)
    isOfRow ||= depends
    // A mistake in a default is one of the jobs that have it.
    const own = written.isDefault ? { ...place, instance: place.instance ?? place.job.name } : place
    const value = depends
      ? await resolveField(own, written)
      : await once(place, shared, name, (at) => resolveField(at, written))
    if (value === undefined) isWhole = false
    else fields[name] = value
  }
  return { fields, isWhole, isOfRow }
}

function once<Value>(
  place: Place,
  { constants }: SharedParts,
  name: string,
  read: (place: Place) => Promise<Value>,
): Promise<Value> {
  const found = constants.get(name) ?? read({ ...place, instance: undefined })
  constants.set(name, found)
  return found as Promise<Value>
}

/** A text of the job itself; undefined where there is none, or a mistake in it. */
function readOwn(place: Place, name: string): string | undefined {
  const { own, node } = place.job
  const entry = own[name] === undefined ? undefined : memberOf(node, name)
  return entry && resolveString(place, name, entry.node)
}

/** Braces in what is put into an output are no words of its template. */
function withLiteralBraces(place: Place): Place {
  const { columns, variables, ...rest } = place.scope
  const literal = (texts: Readonly<Record<string, string | undefined>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([name, text]) => [name, text === undefined ? text : literalTemplate(text)]),
    )
  const scope = {
    ...rest,
    columns: columns === null ? null : (literal(columns) as Record<string, string>),
    variables: literal(variables),
  }
  return { ...place, scope }
}

function referencesIn(fields: Readonly<Record<string, FieldValue>>): Reference[] {
  const all = Object.values(fields).flatMap(referencesOf)
  return [...new Map(all.map((reference) => [reference.text, reference])).values()]
}

/** The assertions of a job for one row; those with mistakes are left out. */
async function readAsserts(place: Place, shared: SharedParts): Promise<Asserts> {
  const node = memberOf(place.job.node, 'assert')?.node
  if (node === undefined) return {}
  // No field is named so.
  return isTemplated(node)
    ? resolveAsserts(place, node)
    : once(place, shared, 'assert:', (at) => resolveAsserts(at, node))
}

async function resolveAsserts(place: Place, node: YamlNode): Promise<Asserts> {
  const { mistakes, placeOf } = place.reading
  const found: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(place.job.asserts)) {
    const inner = nodeAt(node, [name])
    if (name === 'schema') {
      const read = await readSchema(place, name, inner)
      if (read !== undefined) found[name] = read.schema
      continue
    }
    const text = typeof value === 'string' ? resolveString(place, name, inner) : undefined
    const problem = name === 'matches' && text !== undefined ? patternProblem(text) : undefined
    if (problem !== undefined) mistakes.add(placeOf(inner.at), problem, place.instance)
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
