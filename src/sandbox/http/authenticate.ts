import type { IncomingHttpHeaders } from 'node:http'
import type { Family } from './envelope.ts'
import { RequestProblem } from './problem.ts'

/** The one key that is refused, so that a refusal can be tried. */
const refusedKey = 'invalid'

/**
 * Accepts any key but `invalid`. The specification asks for `Authorization: Bearer`; Google's own clients send
 * `x-goog-api-key` or `?key=` and are served as well. Keys are compared and forgotten, never kept or echoed.
 * @throws RequestProblem 401
 */
export function authenticate(headers: IncomingHttpHeaders, query: URLSearchParams, family: Family): void {
  const bearer = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1]
  const google = family === 'google' ? (headers['x-goog-api-key'] ?? query.get('key')) : undefined
  const key = bearer ?? (google || undefined)
  if (key === undefined) {
    throw new RequestProblem(
      401,
      'You did not provide an API key. Send it as "Authorization: Bearer API_KEY".',
      refusal('CREDENTIALS_MISSING'),
    )
  }
  if (key === refusedKey) {
    throw new RequestProblem(401, 'Incorrect API key provided.', {
      ...refusal('API_KEY_INVALID'),
      code: 'invalid_api_key',
    })
  }
}

function refusal(reason: string) {
  return {
    headers: { 'www-authenticate': 'Bearer realm="modelgate sandbox"' },
    details: [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'modelgate.sandbox' }],
  }
}
