import { ModelgateError } from '../../errors.ts'
import { endpointUrl } from '../url.ts'

/** A file of the service that many gateways pass operations on to (wire facts, section 7, "Download"). */
const filePath = /\/v1[a-z]*\/files\/[^/]+$/

/**
 * Where the gateway itself may have a file whose address it has passed on unchanged: there the service wants its own
 * key, which nobody but the gateway has (wire facts, section 7). Undefined for any other address.
 */
export function relayedFile(baseUrl: URL, address: string): URL | undefined {
  const url = URL.parse(address.trim())
  if (url === null || url.origin === baseUrl.origin) return undefined
  const path = filePath.exec(url.pathname)?.[0]
  // Whatever else the query holds is meant for the service.
  return path === undefined ? undefined : endpointUrl(baseUrl, path, { alt: 'media' })
}

/** Whether an address was refused in a way that a key might have helped. */
export function wantsKey(error: unknown): error is ModelgateError {
  if (!(error instanceof ModelgateError) || error.code !== 'url_expired') return false
  return error.facts.httpStatus === 401 || error.facts.httpStatus === 403
}

/** Neither the service nor the gateway in its place has handed over the file: the second may do so later. */
export function nowhereServed(
  { facts }: ModelgateError,
  error: ModelgateError,
  { asked, own }: { readonly asked: string; readonly own: URL },
): ModelgateError {
  const { host } = new URL(asked)
  const message = `${host} does not serve the video without a key of its own (HTTP ${facts.httpStatus}), and ${own.host} does not serve it in its place: ${error.message}`
  if (error.exit === 'later' || error.exit === 'notSent') {
    return new ModelgateError(error.exit, error.code, message, error.facts)
  }
  return new ModelgateError('rejected', 'url_expired', message, {
    ...facts,
    hint: 'The gateway names an address that only its own key opens: ask whoever runs it where the video is.',
  })
}
