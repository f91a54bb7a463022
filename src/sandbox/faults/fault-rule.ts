import { type Fields, checkBody } from '../../contract/field.ts'
import { UsageError } from '../../errors.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { type FaultAction, type Parameters, faultActionNames, faultPoints } from './actions.ts'
import { isObject, mapped, objectOf } from '../json-value.ts'
import { seededRandom, type Random } from '../seeded-random.ts'

export const endpointNames = [
  'generate-content',
  'responses',
  'response-lookup',
  'response-cancel',
  'models',
  'image-generations',
  'image-edits',
  'image-files',
  'video-operations',
  'operation-lookup',
  'video-create',
  'video-remix',
  'video-lookup',
  'video-content',
  'video-files',
  // Whatever else is recorded or replayed.
  'other',
] as const
export type EndpointName = (typeof endpointNames)[number]

const count = { type: 'integer', min: 1 } as const
const anything = ['string', 'number', 'boolean', 'object', 'array'] as const

const fields: Fields = {
  id: { type: 'string', about: 'name in logs and counts; by default rule-1, rule-2, …' },
  endpoint: { type: 'string', values: endpointNames, about: 'applies to this endpoint' },
  model: { type: 'string', about: 'applies to this model' },
  attempt: { ...count, about: 'applies to the n-th request of an Idempotency-Key, or match without' },
  nth: { ...count, about: 'applies to the n-th request that matches' },
  times: { ...count, about: 'applies at most this often' },
  probability: { type: 'number', min: 0, max: 1, about: 'that it applies, drawn with the seed' },
  action: { type: 'string', values: faultActionNames, required: true, about: 'what happens' },
  at: { type: ['string', 'number'], values: faultPoints, min: 0, about: 'a point, or a byte of the body' },
  event: { ...count, about: 'the affected event' },
  status: { type: 'integer', min: 200, max: 999, about: 'HTTP status' },
  headers: { type: 'object', about: 'added to the reply' },
  body: { type: anything, nullable: true, about: 'sent' },
  value: { type: 'string', about: 'of the action' },
  size: { ...count, about: 'bytes per chunk' },
  ms: { type: 'integer', min: 0, about: 'of a stall, or between chunks' },
  accepted: { type: 'boolean', about: 'whether the request counts as a creation, and is carried out' },
}

export interface FaultRule extends Parameters {
  readonly id?: string | undefined
  readonly endpoint?: EndpointName | undefined
  readonly model?: string | undefined
  readonly attempt?: number | undefined
  readonly nth?: number | undefined
  readonly times?: number | undefined
  readonly probability?: number | undefined
  readonly action: FaultAction
  /** By default that depends on the action. What is accepted is carried out, even if the reply is an error. */
  readonly accepted?: boolean | undefined
}

const hint = 'A rule is like { action: reset, at: mid-event }.'

/**
 * @param source of the rules, for messages
 * @throws UsageError with every problem, each naming its rule and field
 */
export function parseFaultRules(value: unknown, source: string): FaultRule[] {
  if (!Array.isArray(value)) throw new UsageError(`${source}: the fault rules must be a list.`, { hint })
  const problems = value.flatMap((rule: unknown, index) =>
    problemsOf(rule).map((problem) => `${source}: rule ${index + 1}: ${problem}.`),
  )
  if (problems.length > 0) throw new UsageError(problems, { hint })
  return value.map((rule: FaultRule) =>
    rule.headers === undefined ? rule : { ...rule, headers: mapped(rule.headers, String) },
  )
}

function problemsOf(rule: unknown): string[] {
  if (!isObject(rule)) return ['must be an object']
  const violations = checkBody({ fields, rules: [] }, rule)
  const wrongHeaders = Object.entries(objectOf(rule['headers'])).filter(
    ([name, text]) => !/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\t\x20-\x7e]*$/.test(String(text)),
  )
  return [
    ...violations.map(({ path, kind, problem }) =>
      kind === 'unknown'
        ? `${path} is not a field of a rule: ${Object.keys(fields).join(', ')}`
        : `${path} ${problem}`,
    ),
    ...wrongHeaders.map(([name]) => `headers.${name} is no header`),
  ]
}

/** Of those whose attempts are counted. */
const keptKeys = 10_000

interface FaultTarget {
  readonly endpoint: EndpointName | undefined
  readonly model: string | undefined
  readonly idempotencyKey: string | undefined
}

export type NamedRule = FaultRule & { readonly id: string }

/**
 * Picks the first rule that matches and is due: the same for a seed and an order of requests.
 * @returns is asked twice for a request, first for the rules that apply before its body is read: they cannot match a
 *   model that the body names
 */
export function createFaultChooser(rules: readonly FaultRule[], seed: number) {
  const trackers = rules.map(
    (rule, index) => new Tracker({ ...rule, id: rule.id ?? `rule-${index + 1}` }, seed),
  )
  return (target: FaultTarget, isEarly: boolean): NamedRule | undefined => {
    const asked = trackers.filter(({ rule }) => (rule.at === 'before-body') === isEarly)
    // Every rule counts the request, even if an earlier one applies.
    const due = asked.map((tracker) => tracker.isDue(target))
    const chosen = asked[due.indexOf(true)]
    if (chosen !== undefined) chosen.fired++
    return chosen?.rule
  }
}

class Tracker {
  readonly rule: NamedRule
  fired = 0
  #seen = 0
  readonly #attempts = createBoundedMap<number>(keptKeys)
  readonly #random: Random

  constructor(rule: NamedRule, seed: number) {
    this.rule = rule
    this.#random = seededRandom(seed, 'fault', rule.id)
  }

  isDue({ endpoint, model, idempotencyKey }: FaultTarget): boolean {
    const { rule } = this
    if ((rule.endpoint ?? endpoint) !== endpoint || (rule.model ?? model) !== model) return false
    const seen = ++this.#seen
    const attempt = idempotencyKey === undefined ? seen : (this.#attempts.get(idempotencyKey) ?? 0) + 1
    if (idempotencyKey !== undefined) this.#attempts.set(idempotencyKey, attempt)
    const isChosen = rule.probability === undefined || this.#random() < rule.probability
    return (
      (rule.nth ?? seen) === seen &&
      (rule.attempt ?? attempt) === attempt &&
      this.fired < (rule.times ?? Infinity) &&
      isChosen
    )
  }
}
