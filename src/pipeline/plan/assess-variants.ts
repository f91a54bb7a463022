import type { InstanceKeys } from './instance-key.ts'
import type { Assessment } from './assessment.ts'
import { examineVariant, type VariantState } from './examine-variant.ts'
import { explainKey } from './explain-key.ts'
import { placeOutputs } from './output-places.ts'
import { obstaclesOf } from './result-files.ts'
import { inTheWay, type Subject } from './subject.ts'

interface Examined {
  /** From 1. */
  readonly number: number
  readonly key: string
  readonly found: VariantState
}

/** What is locked, if anything, is not what is wanted: what there is of the wanted variants decides. */
export async function assessVariants(subject: Subject, known: InstanceKeys): Promise<Assessment> {
  const { instance, world } = subject
  const picked = instance.pick
  const keys = picked === null ? known.keys.slice(0, instance.variants) : [known.keys[picked - 1]!]
  const variants: Examined[] = []
  for (const [at, key] of keys.entries()) {
    variants.push({ number: picked ?? at + 1, key, found: await examineVariant(instance, key, world) })
  }
  const [first] = variants
  const result = variants.length === 1 && first?.found.kind === 'there' ? first.found.result : null
  const outputs = result && placeOutputs(instance, result, world.now)
  const obstacles = world.forced.force ? [] : await obstaclesOf(instance, outputs, world)
  if (obstacles.length > 0) return inTheWay(subject, obstacles)
  const base = { ...subject.base, key: keys[0]! }
  const elsewhere = variants.flatMap(({ found }) => (found.kind === 'elsewhere' ? found : []))[0]
  if (elsewhere !== undefined) {
    return { ...base, state: 'unknown', reasons: [givenTo(elsewhere.queueAt)], isElsewhere: true }
  }
  const unknown = variants.flatMap(({ found }) => (found.kind === 'unknown' ? found.reason : []))
  if (unknown.length > 0) return { ...base, state: 'unknown', reasons: [...new Set(unknown)] }
  const lost = variants.flatMap(({ found }) => (found.kind === 'lost' ? found.reason : []))
  if (lost.length > 0) return { ...base, state: 'lost', reasons: lost }
  if (result !== null && outputs !== null) {
    const wasRejected = Boolean(world.history.of(keys[0]!)?.result?.rejected)
    const reason = wasRejected ? 'It was rejected, and is accepted now.' : 'Its result was made before.'
    const restore = { result: { ...result, outputs }, picked }
    return { ...base, state: 'restorable', reasons: [reason], restore }
  }
  return await assessMissing({ ...subject, base }, known, variants)
}

const givenTo = (queueAt: string | null) =>
  queueAt === null
    ? 'A request was sent to another queue: run it with that --queue to learn its outcome.'
    : `A request was sent to the queue at ${queueAt}: run it with that --queue to learn its outcome.`

/** At least one of the wanted variants is missing, or none can be the output as it is. */
async function assessMissing(
  subject: Subject,
  known: InstanceKeys,
  variants: readonly Examined[],
): Promise<Assessment> {
  const { found, base } = subject
  const numbered = (one: Examined, reason: string) =>
    variants.length === 1 ? reason : `Candidate ${one.number}: ${reason}`
  const reasonsOf = (one: Examined) =>
    'reasons' in one.found ? one.found.reasons.map((reason) => numbered(one, reason)) : []
  const missing = variants.flatMap((one) =>
    one.found.kind === 'missing' ? { ...one, found: one.found } : [],
  )
  const there = variants.filter((one) => one.found.kind === 'there')
  const toMake = missing.map(({ number, key }) => ({ number, key }))
  if (missing.length > 0) {
    const hold = await firstHold(subject)
    if (hold !== null) return { ...base, state: 'blocked', reasons: [hold] }
  }
  if (there.length > 0) {
    const numbers = there.map(({ number }) => number).join(', ')
    const reasons = [`Candidates to pick from: ${numbers}.`, ...variants.flatMap(reasonsOf)]
    return { ...base, state: 'awaiting', reasons, toMake }
  }
  const details = variants.flatMap(reasonsOf)
  if (missing.length === 0) return { ...base, state: 'rejected', reasons: details }
  if (missing.every(({ found: { isMade = false } }) => isMade)) {
    return { ...base, state: 'unfetched', reasons: details, toMake }
  }
  const why = found === null ? [] : whyStale(subject, known)
  return { ...base, state: found === null ? 'new' : 'stale', reasons: [...why, ...details], toMake }
}

/** Why nothing can be generated although the upstreams are known. */
async function firstHold({ upstreams }: Subject): Promise<string | null> {
  for (const upstream of upstreams) {
    const hold = upstream.state === 'known' ? await upstream.hold() : upstream.reason
    if (hold !== null) return hold
  }
  return null
}

function whyStale({ instance, world, found }: Subject, known: InstanceKeys): readonly string[] {
  if (world.forced.regenerate.has(instance.id)) return ['It is to be generated again.']
  const changes = explainKey(instance, found!.block.fields, known.fields)
  if (changes.length > 0) return changes
  if (found!.variant === null) return ['What is locked is another variant.']
  return instance.pick === null ? ['It is being generated again.'] : [`\`pick\` is ${instance.pick} now.`]
}
