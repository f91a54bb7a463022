import type { IncomingHttpHeaders } from 'node:http'
import { RequestProblem, type Envelope } from './request-problem.ts'

/** The one key that is refused, so that a refusal can be tried. */
const refusedKey = 'invalid'

/**
 * Accepts any key but `invalid`. The specification asks for `Authorization: Bearer`; Google's own clients send
 * `x-goog-api-key` or `?key=` and are served as well. Keys are compared and forgotten, never kept or echoed.
 * @throws RequestProblem 401
 */
export function authenticate(headers: IncomingHttpHeaders, query: URLSearchParams, envelope: Envelope): void {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const google = envelope === 'google' ? (headers['x-goog-api-key'] ?? query.get('key')) : undefined
  const key = bearer ?? (google || undefined)
  const refusal = (message: string, reason: string, code?: string) =>
    new RequestProblem(401, message, {
      headers: { 'www-authenticate': 'Bearer realm="modelgate sandbox"' },
      details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'modelgate.sandbox' }],
      ...(code !== undefined && { code }),
    })
  if (key === undefined) {
    const message = 'You did not provide an API key. Send it as "Authorization: Bearer API_KEY".'
    throw refusal(message, 'CREDENTIALS_MISSING')
  }
  if (key === refusedKey) throw refusal('Incorrect API key provided.', 'API_KEY_INVALID', 'invalid_api_key')
}

/**
 * Keeps web pages out: a page of another site could reach a server on loopback by itself (`Origin`)
 * or by a host name that resolves to it (DNS rebinding, `Host`). No reply carries CORS headers either.
 * @throws RequestProblem 403
 */
export function assertLocal(headers: IncomingHttpHeaders): void {
  if (headers.origin !== undefined) {
    throw new RequestProblem(403, 'The sandbox does not answer web pages (the request has an Origin header).')
  }
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
    throw new RequestProblem(403, 'The sandbox answers only as 127.0.0.1 or localhost.')
  }
}
