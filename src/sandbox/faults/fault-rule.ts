import * as v from 'valibot'
import { UsageError } from '../../errors.ts'
import { nearestName } from '../../nearest-name.ts'

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

/** The actions of fault rules. The descriptions are the documentation of the rule file. */
export const faultActions = {
  status: 'answers with `status` (503), `headers` and `body` instead of accepting the request',
  html: 'answers with an HTML page, as a proxy or a captive portal does (`status` 200)',
  'error-200': 'answers with an error object under status 200',
  empty: 'answers with no body at all (`status` 200)',
  reset: 'resets the connection `at` a point (before-headers)',
  close: 'closes the connection `at` a point without ending the message (mid-event)',
  cut: 'ends the message properly, but too early, `at` a point (mid-event)',
  stall: 'falls silent `at` a point (mid-event), for `ms` or for good',
  split: 'sends `size` (1) bytes at a time',
  drip: 'sends `size` (16) bytes every `ms` (20)',
  'content-type': 'sends `value` (text/plain) as the content type',
  headers: 'adds or replaces `headers`',
  malformed: 'breaks the JSON of one `event`',
  'drop-terminal': 'leaves out the event that completes the reply',
  'duplicate-terminal': 'sends the event that completes the reply twice',
  'late-event': 'sends one more event after the one that completes the reply',
  'comments-only': 'sends nothing but comments, one every `ms` (1000), for good',
  comments: 'sends a comment before every event',
  'error-event': 'breaks off with the error of the service before an `event`',
  'done-marker': 'adds `data: [DONE]` at the end',
  'line-endings': 'ends the lines with `value`: lf, crlf or cr',
  bom: 'begins with a byte order mark',
  'no-blank-line': 'leaves out the blank line after the last event',
  'keep-open': 'leaves the connection open after the whole reply',
  'ignore-stream': 'answers a stream request with one JSON document',
  'not-http': 'answers with something that is not HTTP',
  'huge-headers': 'answers with 64 KiB of headers',
  'bad-chunk': 'sends a chunk whose size is not a number',
  'short-length': 'announces more bytes than it sends, then closes',
} as const

export type FaultAction = keyof typeof faultActions
export const faultActionNames = Object.keys(faultActions) as readonly FaultAction[]

/** Where a reset, close, cut or stall occurs; a number is a byte of the body. */
export const faultPoints = [
  'before-body',
  'before-headers',
  'after-headers',
  'mid-event',
  'mid-character',
  'before-terminal',
  'after-terminal',
] as const
export type FaultPoint = (typeof faultPoints)[number] | number

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
        v.minValue(0, 'must be from 0 to 1'),
        v.maxValue(1, 'must be from 0 to 1'),
      ),
    ),
    action: oneOf(faultActionNames, 'an action'),
    at: v.optional(
      v.lazy((value): v.GenericSchema<FaultPoint> =>
        typeof value === 'number' ? whole(0) : oneOf(faultPoints, 'a point or a byte number'),
      ),
    ),
    /** The affected event, counted from 1 (default 3, or the last one if there are fewer). */
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
    /** Sent unchanged if it is text, otherwise as JSON. */
    body: v.optional(v.unknown()),
    value: v.optional(text),
    /** Bytes per chunk. */
    size: v.optional(whole(1)),
    /** Milliseconds of a stall or between chunks. */
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

/** Where a problem is; empty if the message is sufficient. */
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
  const problems: string[] = []
  const hints = new Set<string>()
  const rules = value.flatMap((entry: unknown, index): FaultRule[] => {
    const result = v.safeParse(ruleSchema, entry)
    if (result.success) return [result.output]
    for (const issue of result.issues) {
      const path = v.getDotPath(issue)
      const hint = hintFor(issue)
      if (hint !== undefined) hints.add(hint)
      problems.push(`${source}: rule ${index + 1}: ${path === null ? '' : `${path} `}${issue.message}.`)
    }
    return []
  })
  if (problems.length > 0) {
    throw new UsageError(problems, {
      code: 'invalid_fault_rules',
      ...(hints.size === 0 ? {} : { hint: [...hints].join('\n') }),
    })
  }
  return rules
}
