import { ContractError, ModelgateError } from '../../errors.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { exchange, type Reply } from '../exchange.ts'
import type { Gateway } from '../gateway.ts'
import { readErrorText } from '../reply-body.ts'
import { refuseEncoding, wireRequest, brokenError, type Trace } from '../send-request.ts'
import { isOwnOrigin, maxRedirects, redirectStatuses } from '../url.ts'
import { statusError } from '../status-error.ts'
import { refused, type UrlPolicy } from './url-policy.ts'
import { ExchangeError } from '../exchange-error.ts'
import { maxWaitS, mayRepeatAnswered, mayRepeatBroken, waitBefore, type RetryPolicy } from '../retry.ts'
import { NotWhole } from './transfer.ts'

/** A response that is neither content nor a redirect. */
class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly error: ModelgateError

  constructor(error: ModelgateError) {
    super(error.message)
    this.error = error
  }
}

/**
 * Requests the content of a URL and follows redirects. The key is sent as long as every URL so far has been at the
 * gateway's own origin: once another host has redirected, even back to the gateway, it is not.
 * @throws Refusal for an HTTP error, ContractError for what the policy refuses, ExchangeError
 */
export async function requestUrl(
  gateway: Gateway,
  url: URL,
  { policy, trace }: { readonly policy: UrlPolicy; readonly trace: Trace },
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
    } else if (reply.status === 200 || reply.status === 206) {
      refuseEncoding(reply)
      return reply
    } else throw await refusalOf(gateway, reply, asked)
  }
  throw refused(`it redirects more than ${maxRedirects.download} times.`)
}

/** @throws ContractError `url_refused` without one */
export function redirectTarget({ headers }: Reply, from: URL): URL {
  const location: string | undefined = headers['location']
  const target = location ? URL.parse(location, from) : null
  if (target === null) throw refused('it redirects without a Location.')
  return target
}

async function refusalOf(
  gateway: Gateway,
  reply: Reply,
  { url, isKeyless }: { readonly url: URL; readonly isKeyless: boolean },
): Promise<Refusal> {
  const { status, headers } = reply
  if (status >= 200 && status < 300) {
    reply.close()
    return new Refusal(status === 202 ? notReady(url) : noContent(url, status))
  }
  const text = await readErrorText(reply, gateway.clock)
  const error = statusError(status, headers, text, 'read', gateway.clock.now())
  // Some gateways report an expired result only in the message.
  const saysSo =
    error.exit === 'rejected' && /(?:\b|_)expired(?:\b|_)/i.test(`${error.code} ${error.message}`)
  const isGone = status === 403 || status === 410 || (status === 401 && isKeyless) || saysSo
  return new Refusal(isGone ? expired(url, error) : error)
}

function expired(url: URL, { facts: { httpStatus, shouldRetry } }: ModelgateError): ModelgateError {
  const message = `${url.host} no longer serves this URL, or never did (HTTP ${httpStatus}).`
  const hint = `The URL of a result is valid for ${urlLifetimeMinutes} minutes.`
  const facts = { phase: 'result', httpStatus, shouldRetry, billed: 'no', hint } as const
  return new ModelgateError('rejected', 'url_expired', message, facts)
}

/** The replies of gateways for a result that is not ready yet. */
function notReady(url: URL): ModelgateError {
  const message = `${url.host} says that the content is not ready yet (HTTP 202).`
  const facts = { phase: 'result', httpStatus: 202, billed: 'no', hint: 'Run it again later.' } as const
  return new ModelgateError('later', 'not_ready', message, facts)
}

function noContent(url: URL, status: number): ContractError {
  return new ContractError(
    'reply_not_understood',
    `${url.host} answered with HTTP ${status} and no content.`,
    {
      httpStatus: status,
      billed: 'no',
    },
  )
}

interface DownloadRetry {
  /** Thrown when the download is given up. */
  readonly error: unknown
  /** Seconds until the next attempt; undefined when there is none. */
  readonly waitS: number | undefined
  readonly attemptsLeft: number
}

/** How often, and for how long, a result that is not found is requested again (fault F12). */
const propagation = { retries: 3, seconds: 5 } as const
/** The waits between these requests, which grow evenly. */
const missingWaitsS: readonly number[] = Array.from(
  { length: propagation.retries },
  (_, index) => (propagation.seconds * 2 * (index + 1)) / (propagation.retries * (propagation.retries + 1)),
)
/** Statuses of a result that may still appear. */
const notThereYet = new Set([202, 404])

/**
 * Counts the failures of one download, and decides after each what to do.
 * @param mayAppear whether content that is not there may still appear
 */
export function createDownloadRetries(policy: RetryPolicy, mayAppear = true) {
  let missing = 0
  let repeated = 0
  let attempt = 0
  const never = policy.mode === 'never'

  const decide = (failure: unknown, random: number): DownloadRetry => {
    const giveUp = (error: unknown) => ({ error, waitS: undefined, attemptsLeft: 0 })
    const repeat = (error: ModelgateError, mayRepeat: boolean) => {
      const asked = error.facts.retryAfterS
      if (!mayRepeat || repeated >= policy.maxRetries || (asked ?? 0) > maxWaitS) return giveUp(error)
      const waitS = waitBefore(repeated++, asked, random)
      return { error, waitS, attemptsLeft: policy.maxRetries - repeated }
    }
    if (failure instanceof NotWhole) return repeat(failure.error, !never && !failure.isSettled)
    if (failure instanceof ExchangeError) {
      return repeat(brokenError(failure, 'read'), mayRepeatBroken(failure, 'read', policy))
    }
    if (!(failure instanceof Refusal)) return giveUp(failure)
    const { error } = failure
    if (error.code === 'url_expired' || !notThereYet.has(error.facts.httpStatus ?? 0))
      return repeat(error, mayRepeatAnswered(error, 'read', policy))
    const waitS = never || !mayAppear ? undefined : missingWaitsS[missing++]
    return { error, waitS, attemptsLeft: missingWaitsS.length - missing }
  }
  return {
    next: (failure: unknown, random: number) => ({ ...decide(failure, random), attempt: ++attempt }),
  }
}
