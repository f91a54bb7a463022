import type { FaultRule } from './fault-rule.ts'
import type { RequestRecord } from '../request-log.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { seededRandom } from '../seeded-random.ts'

/** Maximum number of idempotency keys whose attempts are counted. */
const keptKeys = 10_000

/** The properties of a request that a rule can match. */
type FaultTarget = Pick<RequestRecord, 'endpoint' | 'model' | 'idempotencyKey'>

export type NamedRule = FaultRule & { readonly id: string }

export type FaultChooser = ReturnType<typeof createFaultChooser>

/**
 * Picks the fault for a request: the first rule that matches and is due. Deterministic for a seed and an order of
 * requests.
 */
export function createFaultChooser(rules: readonly FaultRule[], seed: number) {
  const trackers = rules.map((rule, index) => track({ ...rule, id: rule.id ?? `rule-${index + 1}` }, seed))
  const choose = (target: FaultTarget, early: boolean): NamedRule | undefined => {
    let chosen: (typeof trackers)[number] | undefined
    for (const tracker of trackers) {
      if ((tracker.rule.at === 'before-body') !== early || !matches(tracker.rule, target)) continue
      // Every rule counts the request, even if an earlier one applies.
      const isDue = tracker.meets(target)
      if (isDue) chosen ??= tracker
    }
    chosen?.fire()
    return chosen?.rule
  }
  return {
    /** Rules that apply before the body is read. They cannot match a model that is named in the body. */
    beforeBody: (target: FaultTarget) => choose(target, true),
    afterBody: (target: FaultTarget) => choose(target, false),
  }
}

function matches(rule: FaultRule, { endpoint, model }: FaultTarget): boolean {
  if (rule.endpoint !== undefined && rule.endpoint !== endpoint) return false
  return rule.model === undefined || rule.model === model
}

function track(rule: NamedRule, seed: number) {
  const random = seededRandom(seed, 'fault', rule.id)
  const attempts = createBoundedMap<number>(keptKeys)
  let seen = 0
  let fired = 0
  return {
    rule,
    meets({ idempotencyKey }: FaultTarget): boolean {
      seen++
      const attempt = idempotencyKey === undefined ? seen : (attempts.get(idempotencyKey) ?? 0) + 1
      if (idempotencyKey !== undefined) attempts.set(idempotencyKey, attempt)
      const isChosen = rule.probability === undefined || random() < rule.probability
      return (
        (rule.nth ?? seen) === seen &&
        (rule.attempt ?? attempt) === attempt &&
        fired < (rule.times ?? Infinity) &&
        isChosen
      )
    },
    fire() {
      fired++
    },
  }
}
