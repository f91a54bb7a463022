import { yieldToEventLoop } from '../../context.ts'
import type { Cost, KnownCost } from '../../cost/estimate.ts'
import { UsageError } from '../../errors.ts'
import { countStates } from '../../events/run-document.ts'
import { nearestName } from '../../nearest-name.ts'
import { createProblemList } from '../../problems.ts'
import { isOfWaiting, type Instance, type Manifest } from '../manifest/manifest.ts'
import { assess } from './assess.ts'
import { requestsLeft, type Assessment, type ProjectState } from './project-state.ts'

export type Plan = Readonly<Awaited<ReturnType<typeof planRun>>>

/** What one request of an instance is estimated to cost; null without prices. */
type CostOf = (instance: Instance) => Cost | null

/** After this many instances, pending signals are handled. */
const stride = 200

/**
 * Assesses instances and says what a run of them comes to; nothing is changed.
 * @param selected ids, with everything that they refer to
 * @throws FileError; the signal's reason
 */
export async function planRun(
  project: ProjectState,
  selected: ReadonlySet<string>,
  { costs = () => null, signal }: { readonly costs?: CostOf; readonly signal: AbortSignal },
) {
  /** By their ids, each after those that it refers to. */
  const assessments = new Map<string, Assessment>()
  // One after another: most time goes into reading files, and small ones are fastest read at once.
  for (const [id, instance] of project.manifest.instances) {
    if (!selected.has(id)) continue
    const assessment = await assess(instance, project, assessments)
    assessments.set(id, assessment)
    if (assessments.size % stride === 0) await yieldToEventLoop()
    signal.throwIfAborted()
  }
  return {
    assessments,
    states: countStates(assessments.values()),
    ...creationsOf(assessments.values(), project, costs),
    /** Locked ids that no instance of the manifest has or takes over, in the order of the lock. */
    orphans: orphansOf(assessments.values(), project),
  }
}

function creationsOf(assessments: Iterable<Assessment>, { history }: ProjectState, costOf: CostOf) {
  const makers = new Map<string, string>()
  /** Instances to be made that get the result of another one, whose request is equal: their ids, and its. */
  const shared = new Map<string, string>()
  const costs: Cost[] = []
  /** Results of identical keys once, and those of pending instances as well, but for fan-outs that wait for elements. */
  let creates = 0
  for (const assessment of assessments) {
    const { instance, state, toMake } = assessment
    // What was started before is only waited for.
    const requests = toMake.filter(({ key }) => !makers.has(key) && !history.isStarted(key))
    for (const { key } of toMake) {
      const maker = makers.get(key)
      if (maker === undefined) makers.set(key, instance.id)
      else shared.set(instance.id, maker)
    }
    const count = state === 'pending' ? requestsLeft(assessment) : requests.length
    // How many elements there are is not known yet.
    if (count === 0 || instance.waiting !== undefined) continue
    creates += count * instance.count
    const cost = costOf(instance)
    if (cost !== null) costs.push(...Array.from({ length: count }, () => cost))
  }
  return { creates, cost: sumOf(costs), shared }
}

/** The known part of the costs; unknown only if all are. */
function sumOf(costs: readonly Cost[]): Cost | null {
  const known = costs.filter((cost): cost is KnownCost => cost.amount !== null)
  const [first] = known
  if (first === undefined) return costs[0] ?? null
  const amount = known.reduce((sum, cost) => sum + cost.amount, 0n)
  const left = costs.flatMap((cost) => (cost.amount === null ? cost.reason : (cost.without ?? [])))
  const without = left.length === 0 ? {} : { without: [...new Set(left)].join(', ') }
  return { amount, currency: first.currency, ...without }
}

/** A former name of an instance that was not assessed is among them; of a fan-out that waits nothing is. */
function orphansOf(assessments: Iterable<Assessment>, { lock, manifest }: ProjectState): readonly string[] {
  const taken = new Set(Array.from(assessments, ({ lockedAs }) => lockedAs))
  const isKept = (id: string) => taken.has(id) || manifest.instances.has(id) || isOfWaiting(manifest, id)
  return [...lock.keys()].filter((id) => !isKept(id))
}

/**
 * @param patterns names of jobs or ids of instances, with `*` and `?` as wildcards; none for everything
 * @throws UsageError `unknown_id` that lists every name that means nothing
 */
export function matchInstances(manifest: Manifest, patterns: readonly string[]): Set<string> {
  const { jobs, instances } = manifest
  if (patterns.length === 0) return new Set(instances.keys())
  const chosen = new Set<string>()
  const problems = createProblemList()
  for (const pattern of patterns) {
    const matches = matcherOf(pattern)
    const found = jobs.filter((job) => matches(job.name) || job.instances.some(matches))
    if (found.length === 0) problems.add(unknownName(pattern, manifest))
    for (const job of found) {
      for (const id of job.instances) if (matches(job.name) || matches(id)) chosen.add(id)
    }
  }
  problems.throwIfAny()
  return chosen
}

/** With all that they refer to. @throws UsageError as `matchInstances` does */
export function selectInstances(manifest: Manifest, patterns: readonly string[]): ReadonlySet<string> {
  return withNeeds(manifest, matchInstances(manifest, patterns))
}

/** Instances with all that they refer to, in the manifest's order. */
export function withNeeds({ instances }: Manifest, ids: Iterable<string>): ReadonlySet<string> {
  const needed = new Set(ids)
  // Each instance comes after those that it refers to: from the last to the first all that is needed is known.
  for (const [id, { references }] of [...instances].toReversed()) {
    if (!needed.has(id)) continue
    for (const { instance } of references) needed.add(instance)
  }
  return new Set([...instances.keys()].filter((id) => needed.has(id)))
}

/** Brackets are literal: `photos[shoe-*]`. */
function matcherOf(pattern: string): (name: string) => boolean {
  if (!/[*?]/.test(pattern)) return (name) => name === pattern
  const source = pattern
    .replaceAll(/[\\^$.+()[\]{}|/]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '[^]*')
    .replaceAll('?', '[^]')
  const expression = new RegExp(`^${source}$`, 'u')
  return (name) => expression.test(name)
}

/** Commands of other tools, and the flags of `run` that do the same. */
const flagsForWords: Readonly<Record<string, string>> = {
  plan: '--plan',
  diff: '--plan',
  check: '--check',
  status: '--check',
  frozen: '--frozen',
  generate: '--generate',
}

function unknownName(pattern: string, { jobs, instances }: Manifest): UsageError {
  const refusal = (message: string, hint?: string) => new UsageError(message, { code: 'unknown_id', hint })
  const shown = JSON.stringify(pattern)
  if (/[*?]/.test(pattern)) return refusal(`No job matches ${shown}.`)
  const flag = flagsForWords[pattern]
  if (flag !== undefined) return refusal(`There is no job ${shown}. Did you mean the flag ${flag}?`)
  const name = pattern.replace(/\[.*/s, '')
  const waiting = instances.get(name)
  if (waiting?.waiting !== undefined) {
    const source = waiting.references[0]!.text
    const message = `${shown} is not known yet: the instances of ${name} are the elements of ${source}.`
    return refusal(message, `Run ${source.slice(1)} first.`)
  }
  const job = jobs.find((one) => one.name === name)
  const what = job === undefined ? `There is no job ${shown}.` : `The job ${name} has no instance ${shown}.`
  const near = nearestName(pattern, job?.instances ?? jobs.map((one) => one.name))
  return refusal(near === undefined ? what : `${what} Did you mean ${near}?`)
}
