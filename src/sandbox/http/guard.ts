import type { IncomingHttpHeaders } from 'node:http'
import { RequestProblem } from './problem.ts'

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
