import type { Endpoint } from '../../contract/field.ts'
import type { RequestProblem } from './problem.ts'
import type { Reply } from './reply.ts'

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

/** google/rpc/code.proto, HTTP mapping (wire facts, "Status codes"). */
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
 *   that is plain JSON (wire facts, section 1, "Errors on this endpoint")
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
