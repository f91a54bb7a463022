import { nearestName } from '../../nearest-name.ts'
import { nouns } from './manifest-fields.ts'
import type { JobDefinition } from './job-definition.ts'
import type { Lane, Reference } from './manifest.ts'

const pattern = /^@([a-z0-9][a-z0-9_-]{0,63})(?:\[([^[\]]+)\])?(?:#([1-9]\d{0,3}))?$/u

/** A reference to what another job makes; undefined for any other text. */
export function parseReference(text: string) {
  const [, job, row, candidate] = pattern.exec(text) ?? []
  if (job === undefined) return undefined
  // As the ids of rows are.
  return { job, row: row?.normalize('NFC'), candidate: candidate === undefined ? null : Number(candidate) }
}

/** Finding the nearest of many thousands of rows would take long. */
const maxCompared = 1000

/**
 * What a reference leads to, or what is wrong with it: a sentence.
 * @param wanted what the field takes: results of one kind, or of any for null
 */
export function resolveReference(
  text: string,
  jobs: ReadonlyMap<string, JobDefinition>,
  own: JobDefinition,
  wanted: Lane | null,
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
  const { rows, settings } = target
  const { lane: makes, variants } = settings
  if (wanted !== null && makes !== wanted)
    return `${shown} is ${nouns[makes][0]}; expected ${nouns[wanted][0]}.`
  if (rows === null && row !== undefined)
    return `${shown}: the job ${job} has no rows, so it is just @${job}.`
  if (rows !== null && row === undefined) {
    const form = own.own['each'] === undefined ? `@${job}[ID]` : `@${job}[\${id}]`
    return `${shown}: the job ${job} has one result per row; name one, such as ${form}.`
  }
  if (rows !== null && rows !== 'waiting' && row !== undefined && !rows.has(row)) {
    const near = nearestName(row, [...rows.keys().take(maxCompared)])
    return `${shown}: the job ${job} has no row ${row}${near === undefined ? '.' : `; did you mean @${job}[${near}]?`}`
  }
  if (candidate !== null && candidate > variants) {
    return `${shown}: the job ${job} has ${variants === 1 ? 'one candidate' : `${variants} candidates`}.`
  }
  const instance = row === undefined || rows === 'waiting' ? job : `${job}[${row}]`
  return { text, instance, candidate }
}

const maxCycles = 20

/**
 * Puts ids after those that they need, else leaves them as given; with a cycle, not all of that holds.
 * @returns also the cycles, one for all rows of the same jobs; each begins and ends with the same id: `a`, `b`, `a`
 */
export function orderInstances(ids: Iterable<string>, needsOf: (id: string) => readonly string[]) {
  const given = new Set(ids)
  const order: string[] = []
  const cycles = new Map<string, readonly string[]>()
  const done = new Set<string>()
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
