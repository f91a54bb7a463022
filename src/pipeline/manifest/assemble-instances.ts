import { posix } from 'node:path'
import { tuneForLongWork, type FileContext } from '../../context.ts'
import { fieldsOf } from './command-fields.ts'
import type { JobDefinition } from './job-definition.ts'
import { readInstances } from './job-instances.ts'
import { promptOf, type Instance, type Manifest } from './manifest.ts'
import { outputProblems, type TakenPath } from './output-paths.ts'
import type { Reading } from './reading.ts'
import type { Targets } from './resolve-field.ts'
import { createRowReader, maxInstances, type Row } from './rows.ts'
import { memberOf } from './yaml-nodes.ts'

interface Parts {
  readonly jobs: readonly JobDefinition[]
  /** The manifest's own path, relative to its folder. */
  readonly manifest: string
}

/** The instances of all jobs in the order of what they need; what is wrong with them together is reported. */
export async function assembleInstances(
  context: FileContext,
  reading: Reading,
  { jobs, manifest }: Parts,
): Promise<Pick<Manifest, 'jobs' | 'instances' | 'warnings'>> {
  const rows = await readAllRows(reading, jobs)
  const targetOf = (definition: JobDefinition) => {
    const own = rows.get(definition.name) ?? null
    return { definition, rows: own === null ? null : new Set(own.map(({ id }) => id)) }
  }
  const targets: Targets = new Map(jobs.map((job) => [job.name, targetOf(job)]))
  const instances = new Map<string, Instance>()
  const warnings = new Set<string>()
  for (const job of jobs) {
    context.signal.throwIfAborted()
    const now = context.clock.now()
    for (const read of await readInstances(reading, job, rows.get(job.name) ?? null, { targets, now })) {
      instances.set(read.instance.id, read.instance)
      for (const warning of read.warnings) warnings.add(warning)
    }
  }
  const whole: Whole = { reading, instances, jobs: new Map(jobs.map((job) => [job.name, job])) }
  reportSeveral(whole)
  reportOutputs(whole, manifest)
  const order = orderOf(whole)
  return {
    jobs: jobs.map(({ name, at }) => ({
      name,
      at: reading.placeOf(at),
      instances: rows.get(name)?.map(({ id }) => `${name}[${id}]`) ?? [name],
    })),
    instances: new Map(order.map((id) => [id, instances.get(id)!])),
    warnings: [...warnings],
  }
}

/** A run of more takes so long that its memory counts. */
const manyInstances = 1_000

/** By the names of their jobs; null for a job without `each`. */
async function readAllRows(
  reading: Reading,
  jobs: readonly JobDefinition[],
): Promise<ReadonlyMap<string, readonly Row[] | null>> {
  const found = new Map<string, readonly Row[] | null>()
  const readRows = createRowReader(reading)
  let count = 0
  for (const job of jobs) {
    const rows = await readRows(job)
    const before = count
    count += rows?.length ?? 1
    const isFirstOver = count > maxInstances && before <= maxInstances
    if (isFirstOver) {
      reading.mistakes.add(
        reading.placeOf(job.at),
        `With this job there are more than ${maxInstances} instances.`,
      )
    }
    found.set(job.name, count > maxInstances ? [] : rows)
  }
  if (count > manyInstances) tuneForLongWork()
  return found
}

interface Whole {
  readonly reading: Reading
  readonly instances: ReadonlyMap<string, Instance>
  readonly jobs: ReadonlyMap<string, JobDefinition>
}

/** Reports references to several outputs where one is taken. */
function reportSeveral({ reading, instances, jobs }: Whole): void {
  const countOf = (id: string) => instances.get(id)?.count ?? 1
  for (const { id, job, fields } of instances.values()) {
    const definition = jobs.get(job)!
    for (const [name, value] of Object.entries(fields)) {
      const field = fieldsOf(definition.command).get(name)
      if (value.kind !== 'files' || (field?.kind === 'files' && field.input.isList)) continue
      for (const { source } of value.files) {
        if (!('reference' in source)) continue
        const { reference } = source
        const count = countOf(reference.instance)
        if (count === 1) continue
        const at = reading.placeOf(definition.fields.get(name)!.node.at)
        reading.mistakes.add(
          at,
          `${JSON.stringify(reference.text)} is ${count} files; ${name} takes one.`,
          id,
        )
      }
    }
  }
}

/** Reports outputs that are no good places, or in the place of something else. */
function reportOutputs({ reading, instances, jobs }: Whole, manifest: string): void {
  const taken = new Map<string, TakenPath>([[manifest, { path: manifest, what: 'the manifest' }]])
  const lock = manifest.replace(/\.[^./]*$/, '') + '.lock'
  taken.set(lock, { path: lock, what: 'the lock' })
  const take = (path: string, what: string) => {
    const plain = posix.normalize(path)
    if (!taken.has(plain)) taken.set(plain, { path: plain, what })
  }
  for (const { id, fields } of instances.values()) {
    for (const value of Object.values(fields)) {
      if (value.kind === 'text' && value.path !== null) take(value.path, `an input of ${id}`)
      for (const { source } of value.kind === 'files' ? value.files : []) {
        if ('path' in source) take(source.path, `an input of ${id}`)
      }
    }
  }
  for (const { name, node } of jobs.values()) {
    const each = memberOf(node, 'each')?.node
    if (each?.kind === 'scalar' && typeof each.value === 'string') take(each.value, `the rows of ${name}`)
  }
  const planned = [...instances.values()].map((instance) => ({ ...instance, prompt: promptOf(instance) }))
  for (const { instance, message } of outputProblems(planned, [...taken.values()])) {
    const job = jobs.get(instances.get(instance)!.job)!
    reading.mistakes.add(reading.placeOf(memberOf(job.node, 'out')?.node.at ?? job.at), message)
  }
}

/** The ids, each behind those that it needs; reports cycles. */
function orderOf({ reading, instances, jobs }: Whole): readonly string[] {
  const needsOf = (id: string) => (instances.get(id)?.references ?? []).map(({ instance }) => instance)
  const { order, cycles } = orderInstances(instances.keys(), needsOf)
  for (const cycle of cycles) {
    const job = jobs.get(instances.get(cycle[0]!)!.job)!
    const way = cycle.map((id) => `@${id}`).join(' needs ')
    reading.mistakes.add(reading.placeOf(job.at), `The job depends on itself: ${way}.`)
  }
  return order
}

export interface DependencyOrder {
  /** Each behind those that it needs, else as given. With a cycle, not all of that holds. */
  readonly order: readonly string[]
  /** Each begins and ends with the same id: `a`, `b`, `a`. One for all rows of the same jobs. */
  readonly cycles: readonly (readonly string[])[]
}

/** More cycles than anybody reads at once. */
const maxCycles = 20

/**
 * Puts instances behind those that they need. The same ids in the same order always give the same result.
 * @param needsOf the ids that one refers to; those that are not among `ids` are ignored
 */
export function orderInstances(
  ids: Iterable<string>,
  needsOf: (id: string) => readonly string[],
): DependencyOrder {
  const given = new Set(ids)
  const order: string[] = []
  const cycles = new Map<string, readonly string[]>()
  const done = new Set<string>()
  /** The ids that led to the current one, in order, and what is left to look at of each. */
  const path = new Map<string, Iterator<string>>()
  const visit = (id: string) => path.set(id, needsOf(id)[Symbol.iterator]())

  for (const first of given) {
    if (done.has(first)) continue
    const stack = [first]
    visit(first)
    while (stack.length > 0) {
      const id = stack.at(-1)!
      const { value: need, done: isLast } = path.get(id)!.next()
      if (isLast === true) {
        stack.pop()
        path.delete(id)
        done.add(id)
        order.push(id)
      } else if (path.has(need)) {
        if (cycles.size < maxCycles) addCycle(cycles, stack.slice(stack.indexOf(need)))
      } else if (given.has(need) && !done.has(need)) {
        stack.push(need)
        visit(need)
      }
    }
  }
  return { order, cycles: [...cycles.values()] }
}

function addCycle(cycles: Map<string, readonly string[]>, ids: readonly string[]): void {
  const jobs = ids.map((id) => id.replace(/\[.*/s, '')).join(' ')
  if (!cycles.has(jobs)) cycles.set(jobs, [...ids, ids[0]!])
}
