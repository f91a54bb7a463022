import { UsageError } from '../../errors.ts'
import { nearestName } from '../../nearest-name.ts'
import { createProblemList } from '../../problems.ts'
import type { Job, Manifest } from '../manifest/manifest.ts'

/**
 * The instances that names mean, without what they need.
 * @param patterns names of jobs or ids of instances, with `*` and `?` as wildcards; none for everything
 * @throws UsageError `unknown_job` that lists every name that means nothing
 */
export function matchInstances({ jobs, instances }: Manifest, patterns: readonly string[]): Set<string> {
  if (patterns.length === 0) return new Set(instances.keys())
  const chosen = new Set<string>()
  const problems = createProblemList()
  for (const pattern of patterns) {
    const before = chosen.size
    const matches = matcherOf(pattern)
    let isKnown = false
    for (const job of jobs) {
      const found = matches(job.name) ? job.instances : job.instances.filter(matches)
      isKnown ||= found.length > 0 || matches(job.name)
      for (const id of found) chosen.add(id)
    }
    if (!isKnown && chosen.size === before) problems.add(unknownName(pattern, jobs))
  }
  problems.throwIfAny()
  return chosen
}

/**
 * The same with everything that the instances refer to, in the manifest's order: each behind those that it needs.
 * @throws UsageError as `matchInstances` does
 */
export function selectInstances(manifest: Manifest, patterns: readonly string[]): ReadonlySet<string> {
  return withNeeds(manifest, matchInstances(manifest, patterns))
}

/** Instances with all that they refer to, in the manifest's order. */
export function withNeeds({ instances }: Manifest, ids: Iterable<string>): ReadonlySet<string> {
  const needed = new Set(ids)
  // Each instance is behind those that it refers to: from the last to the first all that is needed is known.
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

function unknownName(pattern: string, jobs: readonly Job[]): UsageError {
  const shown = JSON.stringify(pattern)
  if (/[*?]/.test(pattern)) {
    return new UsageError(`No job matches ${shown}.`, { code: 'unknown_job' })
  }
  const [name] = pattern.split('[', 1)
  const job = jobs.find((job) => job.name === name)
  const near =
    job === undefined
      ? nearestName(
          pattern,
          jobs.map((job) => job.name),
        )
      : nearestName(pattern, job.instances)
  const what = job === undefined ? `There is no job ${shown}.` : `The job ${name} has no instance ${shown}.`
  const suggestion = near === undefined ? '' : ` Did you mean ${near}?`
  return new UsageError(`${what}${suggestion}`, { code: 'unknown_job' })
}
