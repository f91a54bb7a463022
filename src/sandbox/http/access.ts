import type { IncomingMessage } from 'node:http'
import type { Exchange } from '../sandbox.ts'
import { RequestProblem } from './request-problem.ts'

/** The only key that is rejected, for testing rejections. */
const refusedKey = 'invalid'

/**
 * Accepts any key but `invalid`. The specification requires `Authorization: Bearer`; Google's own clients send
 * `x-goog-api-key` or `?key=` and are supported as well. Keys are never stored or echoed.
 * @throws RequestProblem 401
 */
export function authenticate({ headers, query, envelope }: Exchange): void {
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

/** What a page may embed from other sites: it cannot read these, and their URLs carry a signature or a key. */
const shown = new Set(['document', 'image', 'video'])

/**
 * Rejects requests from web pages: a page of another site could reach a server on loopback directly (`Origin`, or
 * `Sec-Fetch-Site` where a browser sends no origin) or through a host name that resolves to it (DNS rebinding,
 * `Host`). Replies have no CORS headers either.
 * @throws RequestProblem 403; 400 for more than one `Host` (RFC 9112, section 3.2)
 */
export function assertLocal({ headers, headersDistinct }: IncomingMessage): void {
  if (headers.origin !== undefined) throw fromPage('an Origin header')
  const { 'sec-fetch-site': site = 'none', 'sec-fetch-dest': destination } = headers
  if (!['none', 'same-origin'].includes(String(site)) && !shown.has(String(destination)))
    throw fromPage('the Sec-Fetch-Site of another page')
  if ((headersDistinct['host'] ?? []).length > 1)
    throw new RequestProblem(400, 'The request has more than one Host header.')
  const host = (headers.host ?? '').replace(/:\d+$/, '').toLowerCase()
  if (!['127.0.0.1', 'localhost', '[::1]'].includes(host)) {
    throw new RequestProblem(403, 'The sandbox answers only as 127.0.0.1 or localhost.')
  }
}

function fromPage(sign: string): RequestProblem {
  return new RequestProblem(403, `The sandbox does not answer web pages (the request has ${sign}).`)
}
