import * as v from 'valibot'
import { UsageError } from '../../errors.ts'
import { nearestName } from '../../nearest-name.ts'
import { faultActionNames, faultPoints, type FaultPoint } from './actions.ts'

/** The names of the sandbox's endpoints in fault rules and counts. */
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

/** Maximum number of rules in one file. */
const maxRules = 1000

const oneOf = <const Names extends readonly string[]>(names: Names, what: string) =>
  v.picklist(names, (issue) => {
    const given = String(issue.input)
    const near = nearestName(given, names)
    return `is not ${what}: ${given}${near === undefined ? '' : ` (did you mean "${near}"?)`}`
  })
const whole = (least: number) =>
  v.pipe(
    v.number('must be a number'),
    v.integer('must be a whole number'),
    v.minValue(least, `must be at least ${least}`),
  )
const text = v.string('must be text')

const ruleSchema = v.strictObject(
  {
    /** The name of the rule in logs and counts; by default `rule-1`, `rule-2`, … */
    id: v.optional(text),
    endpoint: v.optional(oneOf(endpointNames, 'an endpoint')),
    model: v.optional(text),
    /** Applies only to the n-th request with the same `Idempotency-Key`, or the n-th match of requests without one. */
    attempt: v.optional(whole(1)),
    /** Applies only to the n-th request that matches. */
    nth: v.optional(whole(1)),
    /** Maximum number of times that it applies. */
    times: v.optional(whole(1)),
    /** Probability that it applies, drawn with the sandbox's seed. */
    probability: v.optional(
      v.pipe(
        v.number('must be a number'),
        v.check((value) => value >= 0 && value <= 1, 'must be from 0 to 1'),
      ),
    ),
    action: oneOf(faultActionNames, 'an action'),
    at: v.optional(
      v.lazy((value): v.GenericSchema<FaultPoint> =>
        typeof value === 'number' ? whole(0) : oneOf(faultPoints, 'a point or a byte number'),
      ),
    ),
    event: v.optional(whole(1)),
    status: v.optional(v.pipe(whole(200), v.maxValue(999, 'must be at most 999'))),
    headers: v.optional(
      v.record(
        v.pipe(text, v.regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'is not a header name')),
        v.pipe(
          v.union([v.string(), v.number()]),
          v.transform(String),
          v.regex(/^[\t\x20-\x7e]*$/, 'is not a header value'),
        ),
      ),
    ),
    body: v.optional(v.unknown()),
    value: v.optional(text),
    size: v.optional(whole(1)),
    ms: v.optional(whole(0)),
    /**
     * Whether the request counts as a creation; by default that depends on the action. What is accepted is carried out,
     * also behind an error.
     */
    accepted: v.optional(v.boolean('must be true or false')),
  },
  (issue) =>
    issue.expected === 'never'
      ? 'is not a field of a rule'
      : issue.expected === 'Object'
        ? 'must be an object'
        : 'is required',
)

/** A fault to inject: which requests it applies to, how often, and what it does to the reply. */
export type FaultRule = Readonly<v.InferOutput<typeof ruleSchema>>

const sampleRule = 'A rule is like { action: reset, at: mid-event }.'

/** What would be right; undefined if the message is sufficient. */
function hintFor({ type, path, expected }: v.BaseIssue<unknown>): string | undefined {
  if (path === undefined) return sampleRule
  if (expected === 'never') return `Fields are: ${Object.keys(ruleSchema.entries).join(', ')}.`
  const field = path[0].key
  if (field === 'action') return `Actions are: ${faultActionNames.join(', ')}.`
  if (type !== 'picklist') return undefined
  return field === 'at'
    ? `Points are: ${faultPoints.join(', ')}, or a number of bytes.`
    : `Endpoints are: ${endpointNames.join(', ')}.`
}

/**
 * Validates a list of fault rules from a YAML or JSON file.
 * @param source where the list comes from, for messages
 * @throws UsageError with every problem, each naming its rule and field
 */
export function parseFaultRules(value: unknown, source: string): FaultRule[] {
  if (!Array.isArray(value)) {
    throw new UsageError(`${source}: the fault rules must be a list.`, { hint: sampleRule })
  }
  if (value.length > maxRules) throw new UsageError(`${source}: more than ${maxRules} fault rules.`)
  const results = value.map((entry: unknown) => v.safeParse(ruleSchema, entry))
  const problems = results.flatMap(({ issues = [] }, index) =>
    issues.map((issue) => {
      const path = v.getDotPath(issue)
      return `${source}: rule ${index + 1}: ${path === null ? '' : `${path} `}${issue.message}.`
    }),
  )
  if (problems.length === 0) return results.map(({ output }) => output as FaultRule)
  const hints = results.flatMap(({ issues = [] }) => issues.flatMap((issue) => hintFor(issue) ?? []))
  throw new UsageError(problems, {
    code: 'invalid_fault_rules',
    ...(hints.length > 0 && { hint: [...new Set(hints)].join('\n') }),
  })
}
