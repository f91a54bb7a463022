import type { FamilyId } from '../../contract/families.ts'
import type { Endpoint } from '../../contract/field.ts'
import { checkBody } from '../../contract/check.ts'
import type { Violation } from '../../contract/check.ts'
import type { JsonObject } from '../json-value.ts'

export interface ProblemFacts {
  /** The field at fault, in the request's own names. */
  readonly param?: string
  /** The type of the OpenAI envelope, where it is not the one of the HTTP status. */
  readonly type?: string
  /** The code of the OpenAI envelope. */
  readonly code?: string
  /** The status word of the Google envelope, where it is not the one of the HTTP status. */
  readonly word?: string
  /** Entries of the Google envelope's `details`. */
  readonly details?: readonly JsonObject[]
  readonly headers?: Readonly<Record<string, string>>
}

/** A request the sandbox turns down. The endpoint's family decides which envelope tells it. */
export class RequestProblem extends Error {
  override readonly name = 'RequestProblem'
  readonly status: number
  readonly facts: ProblemFacts

  constructor(status: number, message: string, facts: ProblemFacts = {}) {
    super(message)
    this.status = status
    this.facts = facts
  }
}

const codes: Readonly<Record<Violation['kind'], string>> = {
  required: 'missing_required_parameter',
  value: 'invalid_value',
  unknown: 'unknown_parameter',
  exclusive: 'mutually_exclusive_parameters',
  requires: 'invalid_value',
  family: 'unknown_parameter',
}

/** Told of one request; a list of a million wrong entries has a million. */
const mostViolations = 100
/** Characters told of the name of a field, which the request may have made up. */
const longestField = 200

/**
 * Holds a body against the endpoint's table, the same one the commands use.
 * @throws RequestProblem 400 with the first violation as the message and all of them as Google field violations
 */
export function assertValid(endpoint: Endpoint, body: JsonObject, family?: FamilyId): void {
  const violations = checkBody(endpoint, body, family)
  const first = violations[0]
  if (first === undefined) return
  const fieldViolations = violations.slice(0, mostViolations).map((violation) => ({
    field: fieldOf(violation.path),
    description: sentenceOf(violation),
  }))
  throw new RequestProblem(400, sentenceOf(first), {
    param: fieldOf(first.path),
    code: codes[first.kind],
    details: [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }],
  })
}

function sentenceOf({ path, problem, kind }: Violation): string {
  const field = fieldOf(path)
  if (kind === 'required') return `Missing required parameter: '${field}'.`
  if (kind === 'unknown') return `Unknown parameter: '${field}'.`
  return `Invalid '${field}': ${problem}.`
}

/** `contents.0.parts` as both public services write it: `contents[0].parts`. */
function fieldOf(path: string): string {
  return path.slice(0, longestField).replace(/\.(\d+)(?=\.|$)/g, '[$1]')
}
