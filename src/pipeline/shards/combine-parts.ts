import { UsageError } from '../../errors.ts'
import { createProblemList } from '../../problems.ts'
import { firstFew } from '../../quantities.ts'
import type { Lock, LockBlock } from '../lock/lock-block.ts'
import { digestOfLock, type Part } from './part.ts'

/** What the parts have to belong to. */
export interface Whole {
  /** SHA-256 of the manifest. */
  readonly manifest: string
  /** The lock that all parts began with. */
  readonly lock: Lock
  /** The instances that a run of the named jobs has, all of them without names. */
  selected(jobs: readonly string[]): Iterable<string>
  /** Where the outputs of a result of an instance belong, relative to the output folder. */
  placesOf(id: string, result: LockBlock): readonly string[]
}

/**
 * Unites the locks of the parts of a run, if they are all of its parts, of one manifest and of one lock. A block under the
 * former name of an instance goes.
 * @throws UsageError `parts_mismatch`, with everything that does not fit, by the folder of the part
 */
export function combineParts(parts: readonly Part[], whole: Whole): Lock {
  const problems = createProblemList()
  const report = (message: string, hint?: string) =>
    problems.add(new UsageError(message, { code: 'parts_mismatch', ...(hint === undefined ? {} : { hint }) }))
  if (parts.length === 0)
    report('There are no parts to merge.', 'Name the folders that the shards have left.')
  checkOrigin(parts, whole, report)
  checkNumbers(parts, report)
  problems.throwIfAny()
  checkInstances(parts, whole, report)
  checkLocks(parts, whole, report)
  problems.throwIfAny()
  const lock = new Map(whole.lock)
  const instances = new Set(whole.selected([]))
  for (const [id, block] of parts.flatMap((part) => [...part.lock])) {
    for (const [former, { key }] of whole.lock) {
      if (key === block.key && !instances.has(former)) lock.delete(former)
    }
    lock.set(id, block)
  }
  return lock
}

type Report = (message: string, hint?: string) => void

function checkOrigin(parts: readonly Part[], { manifest, lock }: Whole, report: Report): void {
  const digest = digestOfLock(lock)
  const [first] = parts
  for (const part of parts) {
    if (part.report.manifest !== manifest) {
      report(
        `${part.folder} was made from another manifest, or from another version of it.`,
        'Check out what the parts were made from.',
      )
    }
    if (part.report.locks.before !== digest) {
      report(
        `${part.folder} began with another lock than the one that is here.`,
        'Check out the lock that the parts began with; after a merge they are part of it already.',
      )
    }
    if (part.report.jobs.join('\0') !== first!.report.jobs.join('\0')) {
      report(`${part.folder} was run for other jobs than ${first!.folder}.`)
    }
  }
}

/** That each number is there once, of one total. */
function checkNumbers(parts: readonly Part[], report: Report): void {
  const [first] = parts
  if (first === undefined) return
  const { total } = first.report.shard
  const found = new Map<number, Part>()
  for (const part of parts) {
    const { index, total: other } = part.report.shard
    const before = found.get(index)
    if (other !== total) {
      report(`${part.folder} is part ${index} of ${other}, but ${first.folder} is one of ${total}.`)
    } else if (before !== undefined) {
      report(`${part.folder} and ${before.folder} are both part ${index} of ${total}.`)
    } else {
      found.set(index, part)
    }
  }
  const missing = Array.from({ length: total }, (_, at) => at + 1).filter((index) => !found.has(index))
  if (missing.length === 0) return
  const are = missing.length === 1 ? 'Part' : 'Parts'
  report(
    `${are} ${listed(missing.map(String))} of ${total} ${missing.length === 1 ? 'is' : 'are'} missing.`,
    'A shard without work leaves a part as well: name the folders of all.',
  )
}

/** That each instance is in one part, which came to its end. */
function checkInstances(parts: readonly Part[], whole: Whole, report: Report): void {
  const missing = new Set(whole.selected(parts[0]?.report.jobs ?? []))
  const found = new Map<string, Part>()
  for (const part of parts) {
    const ids = part.report.instances.map(({ id }) => id)
    const foreign = ids.filter((id) => !missing.has(id) && !found.has(id))
    const shared = ids.filter((id) => found.has(id))
    const left = part.report.instances.flatMap(({ id, outcome }) => (outcome === 'left' ? [id] : []))
    if (foreign.length > 0) report(`${part.folder} has ${listed(foreign)}, which the manifest does not have.`)
    if (shared.length > 0) {
      report(`${part.folder} has ${listed(shared)}, which ${found.get(shared[0]!)!.folder} has as well.`)
    }
    if (left.length > 0) {
      const { index, total } = part.report.shard
      report(
        `${part.folder} was stopped early: ${listed(left)} did not run.`,
        `Resume it where it ran, with --shard ${index}/${total}, then merge.`,
      )
    }
    for (const id of ids) {
      missing.delete(id)
      found.set(id, part)
    }
  }
  if (missing.size > 0) report(`No part has ${listed([...missing])}.`)
}

/** That what a part changes in the lock belongs to it, and that its outputs are those of the manifest. */
function checkLocks(parts: readonly Part[], whole: Whole, report: Report): void {
  for (const part of parts) {
    const own = new Set(part.report.instances.flatMap(({ id, outcome }) => (outcome === 'left' ? [] : [id])))
    const foreign = [...part.lock.keys()].filter((id) => !own.has(id))
    const misplaced = [...part.lock].flatMap(([id, block]) => {
      const places = own.has(id) ? whole.placesOf(id, block) : null
      return block.outputs.flatMap(({ path }, at) => (places === null || places[at] === path ? [] : path))
    })
    if (foreign.length > 0) report(`${part.folder} locks ${listed(foreign)}, which it does not report.`)
    if (misplaced.length > 0) {
      report(`${part.folder} locks ${listed(misplaced)}, where the manifest has no such output.`)
    }
  }
}

const maxListed = 5

const listed = (names: readonly string[]) => firstFew(names, maxListed)
