import type { IncomingHttpHeaders } from 'node:http'
import { type Endpoint, checkBody, type Violation } from '../../contract/field.ts'
import type { Model } from '../../contract/known-models.ts'
import type { JsonObject } from '../json-value.ts'
import { googleReply, jsonReply, type Reply } from './reply.ts'

export type Envelope = Endpoint['envelope']

/**
 * Endpoints below `/v1beta` answer in Google's envelope, all others in OpenAI's. So do `/v1/models/{model}:method`,
 * the operations there and `/v1/files`: Google's own client asks there since its version 3.
 */
export function envelopeOf(path: string, headers: IncomingHttpHeaders): Envelope {
  const isGoogle =
    /^(\/download)?\/v1beta(\/|$)|^\/v1\/models\/[^/]+(:[^/:]+|\/operations\/.*)$|^(\/download)?\/v1\/files\//
  // Both clients ask for the list of models at one path, and Google's for much that is not offered; only it has this header.
  const isOpenai = /^\/v1\/(responses|images|videos)(\/|$)/
  const isGoogleCaller = headers['x-goog-api-key'] !== undefined && !isOpenai.test(path)
  return isGoogleCaller || isGoogle.test(path) ? 'google' : 'openai'
}

/** google/rpc/code.proto, HTTP mapping (wire notes, "Status codes"). */
const googleStatuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
}

interface ProblemFacts {
  /** The invalid field, in the request's own names. */
  readonly param?: string
  /** The type in the OpenAI envelope, if it is not that of the HTTP status. */
  readonly type?: string
  readonly code?: string
  readonly details?: readonly JsonObject[]
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A request that the sandbox rejects. The path determines the error envelope. */
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

/** @param problem a clause that follows the field's name: `must be text` */
export const invalidField = (path: string, problem: string) =>
  fieldProblem([{ path, problem, kind: 'value' }])

export const missingField = (path: string) => fieldProblem([{ path, problem: '', kind: 'required' }])
export const unknownField = (path: string) => fieldProblem([{ path, problem: '', kind: 'unknown' }])

/** For a valid request. */
export function limitExceeded(message: string, headers?: ProblemFacts['headers']): RequestProblem {
  return new RequestProblem(400, message, { code: 'sandbox_limit_exceeded', headers })
}

export const brokeOff = new RequestProblem(500, '[sandbox] Generation broke off.')

/** A rejected prompt, in the words of public practice. */
export function moderationBlocked(type: string): RequestProblem {
  return new RequestProblem(400, '[sandbox] The request was rejected by the safety system.', {
    type,
    code: 'moderation_blocked',
  })
}

export function errorBody(envelope: Envelope, { status, message, facts }: RequestProblem): object {
  const { details } = facts
  if (envelope === 'google')
    return { error: { code: status, message, status: googleStatuses[status] ?? 'UNKNOWN', details } }
  const [usualType, usualCode] =
    status === 429
      ? ['rate_limit_error', 'rate_limit_exceeded']
      : status >= 500
        ? ['server_error', 'server_error']
        : ['invalid_request_error', null]
  const { type = usualType, param = null, code = usualCode } = facts
  return { error: { message, type, param, code } }
}

/**
 * @param asEvents the request wanted `alt=sse`: Google's service then keeps `text/event-stream` around an error body
 *   that is plain JSON (wire notes, section 1, "Errors on this endpoint")
 */
export function problemReply(envelope: Envelope, problem: RequestProblem, asEvents = false): Reply {
  const isGoogle = envelope === 'google'
  const type = isGoogle && asEvents ? { 'content-type': 'text/event-stream' } : {}
  return (isGoogle ? googleReply : jsonReply)(errorBody(envelope, problem), {
    status: problem.status,
    headers: { ...type, ...problem.facts.headers },
  })
}

const codes: Readonly<Record<Violation['kind'], string>> = {
  required: 'missing_required_parameter',
  value: 'invalid_value',
  unknown: 'unknown_parameter',
  exclusive: 'mutually_exclusive_parameters',
  requires: 'invalid_value',
  family: 'unknown_parameter',
}

/** A list of a million invalid entries has a million. */
const maxViolations = 100
/** The request may have made up the name. */
const maxFieldLength = 200

/**
 * Checks a body against the endpoint's table, the same one the commands use.
 * @param at where the body is inside the request: `tools.0.`
 * @throws RequestProblem 400
 */
export function assertValid(endpoint: Endpoint, body: JsonObject, model?: Model, at = ''): void {
  const violations = checkBody(endpoint, body, model)
  if (violations.length > 0) throw fieldProblem(violations.map((one) => ({ ...one, path: at + one.path })))
}

/** Fields that violate the contract: the first is the message, Google's envelope has all of them. */
function fieldProblem(violations: readonly Violation[]): RequestProblem {
  const fieldViolations = violations.slice(0, maxViolations).map((violation) => ({
    field: fieldOf(violation.path),
    description: sentenceOf(violation),
  }))
  const { field, description } = fieldViolations[0]!
  return new RequestProblem(400, description, {
    param: field,
    code: codes[violations[0]!.kind],
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
  return path.slice(0, maxFieldLength).replace(/\.(\d+)(?=\.|$)/g, '[$1]')
}
