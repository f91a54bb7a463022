import { creatingCommands } from '../../contract/commands.ts'
import { literalTemplate } from '../../files/output-plan.ts'
import { checkInstance } from './check-instance.ts'
import type { JobDefinition } from './job-definition.ts'
import type { Asserts, FieldValue, InputFile, Instance, Reference } from './manifest.ts'
import { memberOf, nodeAt } from './manifest-source.ts'
import type { Reading } from './reading.ts'
import { isTemplated, readSchema, resolveField, resolveString, type Place } from './resolve-field.ts'
import type { Targets } from './resolve-reference.ts'
import type { Row } from './rows.ts'
import type { Scope } from './substitute.ts'

/** An instance that holds no mistake by itself. */
export interface ReadInstance {
  readonly instance: Instance
  readonly warnings: readonly string[]
}

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
  const found: ReadInstance[] = []
  const constants = new Map<string, unknown>()
  for (const row of rows ?? [undefined]) {
    const id = row === undefined ? job.name : `${job.name}[${row.id}]`
    const scope: Scope = { columns: row?.columns ?? null, ...reading.variables }
    const place: Place = { reading, job, scope, targets, instance: row === undefined ? undefined : id }
    const instance = await readInstance(place, id, constants, now)
    if (instance !== undefined) found.push(instance)
  }
  return found
}

async function readInstance(
  place: Place,
  id: string,
  constants: Map<string, unknown>,
  now: number,
): Promise<ReadInstance | undefined> {
  const { reading, job } = place
  const { own, command } = job
  /** What does not depend on the row is read, and told, once for all. */
  const once = async <Value>(name: string, depends: boolean, read: (at: Place) => Promise<Value>) => {
    if (depends) return read(place)
    if (!constants.has(name)) constants.set(name, await read({ ...place, instance: undefined }))
    return constants.get(name) as Value
  }
  const fields: Record<string, FieldValue> = {}
  let isWhole = true
  let depends = false
  for (const [name, written] of job.fields) {
    const isOfRow = isTemplated(written.node)
    depends ||= isOfRow
    const value = await once(`field ${name}`, isOfRow, (at) => resolveField(at, written))
    if (value === undefined) isWhole = false
    else fields[name] = value
  }
  const own1 = (name: string) => memberOf(job.node, name)?.node
  const text = async (name: string, at: Place): Promise<string | null | undefined> => {
    const node = own1(name)
    return node === undefined || own[name] === undefined ? null : resolveString(at, name, node)
  }
  const output = await text('out', withLiteralBraces(place))
  const alt = await text('alt', place)
  const assertNode = own1('assert')
  const asserts = await once('assert', assertNode !== undefined && isTemplated(assertNode), (at) =>
    readAsserts(at),
  )
  const pick = typeof own['pick'] === 'number' ? own['pick'] : null
  const variants = typeof own['variants'] === 'number' ? own['variants'] : 1
  if (pick !== null && pick > variants) {
    const at = reading.placeOf(own1('pick')!.at)
    reading.mistakes.add(at, `pick is ${pick}, but variants is ${variants}.`)
  }
  const { creates } = creatingCommands[command]
  const model = fields['model']?.kind === 'value' ? fields['model'].value : undefined
  const onUnknown = own['on_unknown']
  const instance: Instance = {
    id,
    job: job.name,
    command,
    lane: creates,
    model: typeof model === 'string' ? model : null,
    fields,
    references: referencesIn(fields),
    output: output ?? '',
    count: 1,
    variants,
    pick,
    alt: alt ?? null,
    asserts,
    isFrozen: own['frozen'] === true,
    onUnknown:
      onUnknown === 'stop' || onUnknown === 'retry' ? onUnknown : creates === 'text' ? 'retry' : 'stop',
    at: reading.placeOf(job.at),
  }
  const named = depends ? place.instance : undefined
  for (const problem of isWhole ? await reading.checkSources(instance) : []) {
    const field = job.fields.get(problem.startsWith('mask ') ? 'mask' : 'image')
    reading.mistakes.add(reading.placeOf(field?.node.at ?? job.commandAt), problem, named)
  }
  const { count, warnings } = checkInstance(reading, job, instance, { isWhole, named, now })
  return isWhole && typeof output === 'string' ? { instance: { ...instance, count }, warnings } : undefined
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
  const found = new Map<string, Reference>()
  for (const value of Object.values(fields)) {
    const references =
      value.kind === 'text of'
        ? [value.reference]
        : value.kind === 'files'
          ? value.files.flatMap(referenceOf)
          : []
    for (const reference of references) found.set(reference.text, reference)
  }
  return [...found.values()]
}

function referenceOf({ source }: InputFile): Reference[] {
  return 'reference' in source ? [source.reference] : []
}

/** The assertions of a job for one row; those with mistakes are left out. */
async function readAsserts(place: Place): Promise<Asserts> {
  const { reading, job } = place
  const node = memberOf(job.node, 'assert')?.node
  const found: Record<string, unknown> = {}
  if (node === undefined) return found
  for (const [name, value] of Object.entries(job.asserts)) {
    const inner = nodeAt(node, [name])
    if (name === 'schema') {
      const read = await readSchema(place, name, inner)
      if (read !== undefined) found[name] = read.schema
      continue
    }
    const text = typeof value === 'string' ? resolveString(place, name, inner) : undefined
    const problem = name === 'matches' && text !== undefined ? patternProblem(text) : undefined
    if (problem !== undefined) reading.mistakes.add(reading.placeOf(inner.at), problem, place.instance)
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
