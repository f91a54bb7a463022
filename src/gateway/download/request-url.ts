import { ContractError, ModelgateError } from '../../errors.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { exchange, type Reply } from '../exchange.ts'
import type { Gateway } from '../gateway.ts'
import { readErrorText } from '../reply-body.ts'
import { refuseEncoding, wireRequest, type Trace } from '../send-request.ts'
import { isOwnOrigin, maxRedirects, redirectStatuses } from '../url.ts'
import { statusError } from '../gateway-errors.ts'
import { refused, type UrlPolicy } from './url-policy.ts'
import { Failure, judgeFailure } from '../retry.ts'

interface Tools {
  readonly policy: UrlPolicy
  readonly trace: Trace
  readonly mayAppear: boolean
}

/**
 * Follows redirects. The key is sent as long as every URL so far has been at the gateway's own origin: once another host has
 * redirected, even back to the gateway, it is not.
 * @throws Failure for an HTTP error, ContractError for what the policy refuses, ExchangeError
 */
export async function requestUrl(
  gateway: Gateway,
  url: URL,
  { policy, trace, mayAppear }: Tools,
): Promise<Reply> {
  let current = url
  let isKeyless = false
  for (let hops = 0; hops <= maxRedirects.download; hops++) {
    await policy.check(current)
    isKeyless ||= !isOwnOrigin(gateway, current)
    const asked = { method: 'GET', url: current, kind: 'read', accept: '*/*', isKeyless } as const
    const request = wireRequest(gateway, asked)
    if (isOwnOrigin(gateway, current)) await gateway.beforeSend?.('read')
    trace.request(request)
    const reply = await exchange(request, { ...gateway, lookup: policy.lookup })
    trace.reply(reply)
    if (redirectStatuses.has(reply.status)) {
      reply.close()
      current = redirectTarget(reply, current)
    } else if (reply.status === 200) {
      refuseEncoding(reply)
      return reply
    } else throw failureOf(gateway, await refusalOf(gateway, reply, asked), mayAppear)
  }
  throw refused(`it redirects more than ${maxRedirects.download} times.`)
}

/** @throws ContractError `url_refused` */
export function redirectTarget({ headers }: Reply, from: URL): URL {
  const location: string | undefined = headers['location']
  const target = location ? URL.parse(location, from) : null
  if (target === null) throw refused('it redirects without a Location.')
  return target
}

function failureOf({ policy }: Gateway, error: ModelgateError, mayAppear: boolean): Failure {
  const { httpStatus } = error.facts
  // A result that is not found may still appear (fault F12).
  if (error.code !== 'url_expired' && (httpStatus === 202 || httpStatus === 404))
    return new Failure(error, mayAppear, true)
  return httpStatus === 206 ? new Failure(error, true) : judgeFailure(error, 'read', policy)
}

async function refusalOf(
  gateway: Gateway,
  reply: Reply,
  { url, isKeyless }: { readonly url: URL; readonly isKeyless: boolean },
): Promise<ModelgateError> {
  const { status, headers } = reply
  if (status >= 200 && status < 300) {
    reply.close()
    return withoutContent(url, status)
  }
  const text = await readErrorText(reply, gateway.clock)
  const error = statusError(status, headers, text, 'read', gateway.clock.now())
  // Some gateways report an expired result only in the message.
  const saysSo =
    error.exit === 'rejected' && /(?:\b|_)expired(?:\b|_)/i.test(`${error.code} ${error.message}`)
  const isGone = status === 403 || status === 410 || (status === 401 && isKeyless) || saysSo
  return isGone ? expired(url, error) : error
}

function expired(url: URL, { facts: { httpStatus, shouldRetry } }: ModelgateError): ModelgateError {
  const message = `${url.host} no longer serves this URL, or never did (HTTP ${httpStatus}).`
  const hint = `The URL of a result is valid for ${urlLifetimeMinutes} minutes.`
  const facts = { phase: 'result', httpStatus, shouldRetry, billed: 'no', hint } as const
  return new ModelgateError('rejected', 'url_expired', message, facts)
}

/** A success without the whole content: not ready yet (202), a part that nobody asked for (206), or nothing. */
function withoutContent({ host }: URL, httpStatus: number): ModelgateError {
  const facts = { phase: 'result', httpStatus, billed: 'no', hint: 'Run it again later.' } as const
  if (httpStatus === 202) {
    const message = `${host} says that the content is not ready yet (HTTP 202).`
    return new ModelgateError('later', 'not_ready', message, facts)
  }
  if (httpStatus === 206) {
    const message = `${host} sent a part of the content (HTTP 206), though all of it was requested.`
    return new ModelgateError('later', 'connection_lost', message, facts)
  }
  const message = `${host} answered with HTTP ${httpStatus} and no content.`
  return new ContractError('reply_not_understood', message, { httpStatus, billed: 'no' })
}
