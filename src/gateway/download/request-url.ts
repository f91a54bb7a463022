import { ContractError, ModelgateError } from '../../errors.ts'
import { urlLifetimeMinutes } from '../../contract/images.ts'
import { exchange, type Reply } from '../exchange.ts'
import type { Gateway } from '../gateway.ts'
import { readErrorText, refuseEncoding, wireRequest } from '../send-request.ts'
import { redirectStatuses } from '../redirect.ts'
import { statusError } from '../status-error.ts'
import type { Trace } from '../trace.ts'
import { refused, type UrlPolicy } from './url-policy.ts'

/** More redirects than this lead nowhere (faults, S6). */
const maxRedirects = 5

/** An answer that is neither content nor a redirect. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  readonly error: ModelgateError
  readonly headers: Reply['headers']

  constructor(error: ModelgateError, headers: Reply['headers']) {
    super(error.message)
    this.error = error
    this.headers = headers
  }
}

/**
 * Asks for the content of a URL, over redirects. The key goes with it as long as every address so far has been at the
 * gateway's own origin: where another host leads, even back to the gateway, is that host's choice.
 * @throws Refusal for an HTTP error, ContractError for what the policy refuses, ExchangeError
 */
export async function requestUrl(
  gateway: Gateway,
  url: URL,
  headers: Readonly<Record<string, string>>,
  { policy, trace }: { readonly policy: UrlPolicy; readonly trace: Trace },
): Promise<Reply> {
  let current = url
  let isKeyless = false
  for (let hops = 0; hops <= maxRedirects; hops++) {
    await policy.check(current)
    isKeyless ||= current.origin !== gateway.baseUrl.origin
    const asked = { method: 'GET', url: current, kind: 'read', accept: '*/*', isKeyless } as const
    const wire = wireRequest(gateway, asked)
    const request = { ...wire, headers: { ...wire.headers, ...headers } }
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
  throw refused(`it leads over more than ${maxRedirects} redirects.`)
}

function redirectTarget({ headers }: Reply, from: URL): URL {
  const location: string | undefined = headers['location']
  const target = location ? URL.parse(location, from) : null
  if (target === null) throw refused('it leads to a redirect without an address.')
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
    return new Refusal(status === 202 ? notReady(url) : noContent(url, status), headers)
  }
  const text = await readErrorText(reply, gateway.clock)
  const error = statusError(status, headers, text, 'read', gateway.clock.now())
  // Some say in words alone that a result is kept no longer.
  const saysSo =
    error.exit === 'rejected' && /(?:\b|_)expired(?:\b|_)/i.test(`${error.code} ${error.message}`)
  const isGone = status === 403 || status === 410 || (status === 401 && isKeyless) || saysSo
  return new Refusal(isGone ? expired(url, status) : error, headers)
}

function expired(url: URL, status: number): ModelgateError {
  return new ModelgateError(
    'rejected',
    'url_expired',
    `${url.host} does not serve this URL, or not any more (HTTP ${status}).`,
    {
      phase: 'result',
      httpStatus: status,
      billed: 'no',
      hint: `The URL of a result holds for ${urlLifetimeMinutes} minutes.`,
    },
  )
}

/** What a gateway says of a result that it still puts together. */
function notReady(url: URL): ModelgateError {
  return new ModelgateError('later', 'not_ready', `${url.host} says that it is not ready yet (HTTP 202).`, {
    phase: 'result',
    httpStatus: 202,
    billed: 'no',
    hint: 'Run it again later.',
  })
}

function noContent(url: URL, status: number): ContractError {
  return new ContractError('unexpected_status', `${url.host} answered with HTTP ${status} and no content.`, {
    httpStatus: status,
    billed: 'no',
  })
}
