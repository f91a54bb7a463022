import type { OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { findResult } from './result-files.ts'
import type { World } from './world.ts'

/** What there is of one variant of an instance whose key is not the locked one. */
export type VariantState =
  /** Its bytes are there, and it holds its asserts: nothing has to be generated. */
  | { readonly kind: 'there'; readonly result: Result }
  | { readonly kind: 'rejected'; readonly reasons: readonly string[] }
  /** A request was sent, and nobody knows what became of it. */
  | { readonly kind: 'unknown' }
  /** A request was given to a queue that is not the one asked: workers may be at it, or have made it. */
  | { readonly kind: 'elsewhere'; readonly queueAt: string | null }
  /** To be generated, or gone on with. */
  | { readonly kind: 'missing'; readonly reasons: readonly string[] }

/** Looks for the result of a key in journals, candidates and the lock. */
export async function examineVariant(instance: Instance, key: string, world: World): Promise<VariantState> {
  const { history, forced, isSentAgain, inQueue } = world
  if (forced.regenerate.has(instance.id)) return { kind: 'missing', reasons: [] }
  const { result: recorded = null, open = null } = history.of(key) ?? {}
  if (open !== null) {
    if (open.job !== null) return { kind: 'missing', reasons: [`Its job ${open.job.id} was started before.`] }
    if (inQueue.has(key)) return { kind: 'missing', reasons: ['It is with the queue.'] }
    if (isSentAgain) return { kind: 'missing', reasons: [] }
    if (open.queue !== null && open.queue !== world.queue) return { kind: 'elsewhere', queueAt: open.queueAt }
    return instance.onUnknown === 'retry' ? { kind: 'missing', reasons: [] } : { kind: 'unknown' }
  }
  for (const result of await knownResults(key, world)) {
    const files = await findResult(key, result, world)
    if (files === undefined) continue
    const reasons = await failedAsserts(instance, result.outputs, files, world)
    return reasons.length === 0 ? { kind: 'there', result } : { kind: 'rejected', reasons }
  }
  if (recorded !== null && recorded.rejected !== null) {
    return { kind: 'rejected', reasons: [...recorded.rejected, 'Its files are gone.'] }
  }
  const failure = history.failures.get(key)
  return { kind: 'missing', reasons: failure === undefined ? [] : [`It failed before: ${failure.message}`] }
}

/** Results of the same request, whoever asked for it, the newest first. */
async function knownResults(
  key: string,
  { candidates, history, lockedByKey, lock }: World,
): Promise<readonly Result[]> {
  const recorded = history.of(key)
  if (recorded?.isDiscarded) return []
  const found = [(await candidates.get(key))?.result, recorded?.result?.result]
  const locked = (lockedByKey.get(key) ?? []).map((id) => lock.get(id))
  return [...found, ...locked].filter((result) => result !== undefined)
}

/**
 * Why outputs do not hold the asserts of their instance, each a sentence.
 * @param files absolute paths of their bytes
 */
export async function failedAsserts(
  instance: Instance,
  outputs: readonly OutputFacts[],
  files: readonly string[],
  world: World,
): Promise<readonly string[]> {
  // An answer that does not match the schema of its request is a result that is rejected, too.
  if (Object.keys(instance.asserts).length === 0 && instance.fields['schema'] === undefined) return []
  const { instances } = world.manifest
  const duplicateOf = (sha256: string) =>
    world.lockedByDigest.get(sha256)?.find((id) => id !== instance.id && instances.has(id))
  const found = outputs.map((facts, at) => ({ path: files[at]!, facts }))
  return await world.checkAsserts(instance, found, duplicateOf)
}
