import type { Result } from '../lock/lock-block.ts'
import type { Reference } from '../manifest/manifest.ts'
import type { UpstreamResult } from '../execute/task.ts'
import type { Assessment, State } from './assessment.ts'
import { findResult } from './result-files.ts'
import type { Upstream, World } from './world.ts'

type Assessments = ReadonlyMap<string, Assessment>

/**
 * What a reference stands for while its upstream is as it was assessed: the bytes that are locked, whatever has become of
 * the file.
 * @param assessments of the instances that it may refer to
 */
export async function upstreamOf(
  reference: Reference,
  assessments: Assessments,
  world: World,
): Promise<Upstream> {
  const assessment = assessments.get(reference.instance)!
  const found = await resultOf(reference, assessment, world)
  if (found === undefined) return whyUnknown(reference, assessment)
  const { key, result } = found
  return {
    state: 'known',
    outputs: result.outputs,
    async hold() {
      if (assessment.state === 'rejected') return `It needs ${reference.text}, which was rejected.`
      const files = await findResult(key, result, world)
      return files === undefined ? `It needs ${reference.text}, whose bytes are gone.` : null
    },
  }
}

/**
 * Finds the files that a reference stands for.
 * @returns undefined while it stands for nothing, and when its bytes are gone
 */
export async function upstreamFiles(
  reference: Reference,
  assessments: Assessments,
  world: World,
): Promise<UpstreamResult | undefined> {
  const found = await resultOf(reference, assessments.get(reference.instance)!, world)
  const paths = found && (await findResult(found.key, found.result, world))
  if (found === undefined || paths === undefined) return undefined
  const files = found.result.outputs.map(({ sha256, media_type }, at) => {
    return { path: paths[at]!, sha256, media_type }
  })
  return { files, jobId: found.result.job_id }
}

interface KeyedResult {
  readonly key: string
  readonly result: Result
}

/** The result that is to be used, if there is one. */
async function resultOf(
  { candidate }: Reference,
  { key, keys, block, restore, state }: Assessment,
  world: World,
): Promise<KeyedResult | undefined> {
  // A restored result has the bytes that it had.
  const current = restore?.result ?? (block !== null && block.key === key ? block : undefined)
  const isCurrent = current !== undefined && key !== null && hasResult.has(state)
  if (candidate === null) return isCurrent ? { key, result: current } : undefined
  const wanted = keys[candidate - 1]
  if (wanted === undefined) return undefined
  if (isCurrent && key === wanted) return { key, result: current }
  const result = (await world.results.get(wanted))?.result
  return result && { key: wanted, result }
}

/** States in which the result to use may be known: in the others it is still to be made, or to be chosen. */
const hasResult: ReadonlySet<State> = new Set([
  'fresh',
  'restorable',
  'changed',
  'in_the_way',
  'lost',
  'rejected',
])

function whyUnknown({ text, candidate }: Reference, assessment: Assessment): Upstream {
  const { instance, state, toMake } = assessment
  const hasToBePicked = candidate === null && instance.variants > 1 && instance.pick === null
  const isMade =
    candidate === null
      ? state === 'stale' || state === 'new' || state === 'unfetched'
      : toMake.some(({ number }) => number === candidate)
  if ((isMade || state === 'pending') && !hasToBePicked) {
    return { state: 'pending', reason: `It needs ${text}, which is made first.` }
  }
  if (candidate !== null && !standing.has(state)) return blocked(text, 'a candidate that is not there')
  const mayBePicked = ['awaiting', 'stale', 'new', 'unfetched', 'pending'].includes(state)
  return blocked(text, hasToBePicked && mayBePicked ? obstacles.awaiting : obstacles[state])
}

/** States that hold up the candidates as well. */
const standing: ReadonlySet<State> = new Set(['unknown', 'blocked', 'rejected'])

function blocked(text: string, clause: string): Upstream {
  return { state: 'blocked', reason: `It needs ${text}, ${clause}.` }
}

/** Why nothing can be made of an instance in this state. */
const obstacles: Readonly<Record<State, string>> = {
  fresh: 'which does not exist',
  restorable: 'which does not exist',
  lost: 'which is lost',
  stale: 'which is out of date',
  new: 'which was never made',
  unfetched: 'whose file has not been fetched yet',
  pending: 'which is made first',
  awaiting: 'of which no candidate is picked',
  changed: 'which was changed by hand',
  in_the_way: 'in whose place there is another file',
  rejected: 'which was rejected',
  unknown: 'whose outcome is unknown',
  blocked: 'which is blocked itself',
}
