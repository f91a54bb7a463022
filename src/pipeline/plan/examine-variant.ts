import { mismatchReasons } from '../execute/check-asserts.ts'
import type { OutputFacts, Result } from '../lock/lock-block.ts'
import type { Instance } from '../manifest/manifest.ts'
import { findResult } from './result-files.ts'
import type { World } from './world.ts'

/** What there is of one variant of an instance whose key is not the locked one. */
export type VariantState =
  /** Its bytes are there, and it is what was asked for and asserted: nothing has to be generated. */
  | { readonly kind: 'there'; readonly result: Result }
  | { readonly kind: 'rejected'; readonly reasons: readonly string[] }
  /** A request was sent, or may have been, and its outcome is unknown. */
  | { readonly kind: 'unknown'; readonly reason: string }
  /** A request was given to a queue that is not the one asked: workers may be at it, or have made it. */
  | { readonly kind: 'elsewhere'; readonly queueAt: string | null }
  /** It was made and billed, and could not be fetched before its address expired. */
  | { readonly kind: 'lost'; readonly reason: string }
  /** To be generated, or gone on with: `isMade` where only its files are to be fetched. */
  | { readonly kind: 'missing'; readonly reasons: readonly string[]; readonly isMade?: boolean }

/** The exit code of a reply that breaks the contract, among it a result that came whole and is damaged. */
const damagedExit = 8

const madeNotFetched = 'It was made and billed, and could not be fetched.'

const sent = 'A request was sent, and its outcome is not known.'

/** Looks for the result of a key in its folder, the journals and the lock. */
export async function examineVariant(instance: Instance, key: string, world: World): Promise<VariantState> {
  const { history, forced, isSentAgain, inQueue } = world
  if (forced.regenerate.has(instance.id)) return { kind: 'missing', reasons: [] }
  const { result: recorded = null, open = null } = history.of(key) ?? {}
  if (open !== null) {
    if (open.made !== null) {
      const until = new Date(open.made.expires_at * 1000).toISOString().replace('.000Z', 'Z')
      if (open.made.expires_at * 1000 <= world.now)
        return { kind: 'lost', reason: `${madeNotFetched} Its address was valid until ${until}.` }
      return {
        kind: 'missing',
        reasons: [`${madeNotFetched} It can be fetched until ${until}.`],
        isMade: true,
      }
    }
    if (open.job !== null) return { kind: 'missing', reasons: [`Its job ${open.job.id} was started before.`] }
    if (inQueue.has(key)) return { kind: 'missing', reasons: ['It is with the queue.'] }
    if (isSentAgain) return { kind: 'missing', reasons: [] }
    if (open.queue !== null && open.queue !== world.queue) return { kind: 'elsewhere', queueAt: open.queueAt }
    return instance.onUnknown === 'retry'
      ? { kind: 'missing', reasons: [] }
      : { kind: 'unknown', reason: sent }
  }
  for (const result of await knownResults(key, world)) {
    const files = await findResult(key, result, world)
    if (files === undefined) continue
    const isLocked = world.lockedByKey.has(key)
    const reasons = [
      ...(isLocked ? [] : await mismatchReasons(instance, foundOutputs(result.outputs, files))),
      ...(await failedAsserts(instance, result.outputs, files, world)),
    ]
    return reasons.length === 0 ? { kind: 'there', result } : { kind: 'rejected', reasons }
  }
  if (recorded !== null && recorded.rejected !== null) {
    return { kind: 'rejected', reasons: [...recorded.rejected, 'Its files are gone.'] }
  }
  const failure = history.failures.get(key)
  // What came in the reply itself, and is damaged, cannot be asked for again either.
  const isLost =
    failure?.code === 'result_expired' || (failure?.billed === 'yes' && failure.exit_code === damagedExit)
  if (isLost) return { kind: 'lost', reason: `It was made and billed. ${failure!.message}` }
  const [line] = history.damaged
  const mayBeSent = line !== undefined && failure === undefined && !history.of(key)?.isDiscarded
  if (mayBeSent && instance.onUnknown === 'stop') {
    return { kind: 'unknown', reason: `Its request may have been sent: ${line}, and could be its record.` }
  }
  return { kind: 'missing', reasons: failure === undefined ? [] : [`It failed before: ${failure.message}`] }
}

/** Results of the same request, whoever asked for it, the newest first. */
async function knownResults(
  key: string,
  { results, history, lockedByKey, lock }: World,
): Promise<readonly Result[]> {
  if (history.of(key)?.isDiscarded) return []
  const own = (await results.get(key))?.result
  const locked = (lockedByKey.get(key) ?? []).map((id) => lock.get(id))
  return [own, ...locked].filter((result) => result !== undefined)
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
  return await world.checkAsserts(instance, foundOutputs(outputs, files), duplicateOf)
}

function foundOutputs(outputs: readonly OutputFacts[], files: readonly string[]) {
  return outputs.map((facts, at) => ({ path: files[at]!, facts }))
}
