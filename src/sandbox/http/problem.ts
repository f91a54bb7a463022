import type { Endpoint } from '../../contract/field.ts'
import type { Reply } from './reply.ts'
import type { FamilyId } from '../../contract/families.ts'
import { checkBody, type Violation } from '../../contract/check.ts'
import type { JsonObject } from '../json-value.ts'

export type Family = Endpoint['envelope']

/**
 * Endpoints below `/v1beta` answer in Google's envelope, all others in OpenAI's. So do `/v1/models/{model}:method`,
 * the operations there and `/v1/files`: Google's own client asks there since its version 3.
 */
export function familyOf(path: string): Family {
  const isGoogle =
    /^(\/download)?\/v1beta(\/|$)|^\/v1\/models\/[^/]+(:[^/:]+|\/operations\/.*)$|^(\/download)?\/v1\/files\//
  return isGoogle.test(path) ? 'google' : 'openai'
}

/** google/rpc/code.proto, HTTP mapping (wire notes, "Status codes"). */
const words: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

/** A problem as the family's public error object: `{error: {…}}`. */
export function envelope(family: Family, { status, message, facts }: RequestProblem): object {
  if (family === 'google') {
    const word = facts.word ?? words[status] ?? 'UNKNOWN'
    const details = facts.details === undefined ? {} : { details: facts.details }
    return { error: { code: status, message, status: word, ...details } }
  }
  const { type = typeOf(status), param = null, code = codeOf(status) } = facts
  return { error: { message, type, param, code } }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

function codeOf(status: number): string | null {
  if (status === 429) return 'rate_limit_exceeded'
  return status >= 500 ? 'server_error' : null
}

/**
 * The whole error reply.
 * @param asEvents the request wanted `alt=sse`: Google's service then keeps `text/event-stream` around an error body
 *   that is plain JSON (wire notes, section 1, "Errors on this endpoint")
 */
export function problemReply(family: Family, problem: RequestProblem, asEvents = false): Reply {
  const body = envelope(family, problem)
  const google = family === 'google'
  return {
    status: problem.status,
    headers: {
      'content-type': google && asEvents ? 'text/event-stream' : jsonType(family),
      ...problem.facts.headers,
    },
    frames: [
      {
        text: google ? `${JSON.stringify(body, null, 2)}\n` : JSON.stringify(body),
        pause: 'none',
        role: 'terminal',
      },
    ],
    isWhole: true,
    creates: false,
    breakOff: () => [],
  }
}

export function jsonType(family: Family): string {
  return family === 'google' ? 'application/json; charset=UTF-8' : 'application/json'
}

interface ProblemFacts {
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
