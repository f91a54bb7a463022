import type { Creation } from '../cost/creation.ts'
import { ExchangeError } from './exchange-error.ts'
import { requestIdOf, type ExchangeRequest, type Reply, exchange, type RequestBody } from './exchange.ts'
import type { Gateway, GatewayReply, GatewayRequest } from './gateway.ts'
import { ContractError, ModelgateError } from '../errors.ts'
import { Failure, judgeFailure, withRetries } from './retry.ts'
import { endpointUrl, isOwnOrigin, maxRedirects, sameOriginTarget, type Roots } from './url.ts'
import { brokenError, statusError } from './gateway-errors.ts'
import { readErrorText, startTotalLimit } from './time-limits.ts'

export type Trace = ReturnType<typeof createTrace>

const secretHeader = /authorization|cookie|key|token|secret|signature/i
/** Needed to look up a lost request. */
const harmless = new Set(['idempotency-key'])

/** The `--debug` trace, without keys, cookies, query values, prompts and replies: it is what people paste into reports. */
export function createTrace({
  trace,
  clock,
  headers: ownHeaders,
  downloadHeaders,
}: Pick<Gateway, 'trace' | 'clock' | 'headers' | 'downloadHeaders'>) {
  const started = clock.monotonic()
  const hiddenNames = new Set(
    [ownHeaders, ...Object.values(downloadHeaders ?? {})].flatMap((headers) => Object.keys(headers ?? {})),
  )
  const line = (text: string) => trace?.(`${((clock.monotonic() - started) / 1000).toFixed(3)}s ${text}`)
  return {
    request({ method, url, headers, body }: ExchangeRequest): void {
      line(`> ${method} ${hideQuery(url)}`)
      for (const header of headerLines(headers, hiddenNames)) line(`> ${header}`)
      if (body !== undefined) line(`> (${body.length} bytes)`)
    },
    reply({ status, headers }: Pick<Reply, 'status' | 'headers'>): void {
      line(`< HTTP ${status}`)
      for (const header of headerLines(headers)) line(`< ${header}`)
    },
    failure: (error: ExchangeError): void => line(`! ${error.stage}: ${error.fault}: ${error.message}`),
    errorBody: (text: string): void => line(`< ${text.slice(0, 4096).replaceAll(/\s+/g, ' ')}`),
  }
}

function headerLines(headers: Readonly<Record<string, string>>, hidden?: ReadonlySet<string>): string[] {
  return Object.entries(headers).map(
    ([name, value]) => `${name}: ${hidden?.has(name) ? '<hidden>' : hideHeader(name, value)}`,
  )
}

/** Of an authorization the scheme is shown. */
export function hideHeader(name: string, value: string): string {
  if (harmless.has(name)) return value
  if (name === 'authorization')
    return value.replace(/^(?:(\S+) )?.*/s, (_, scheme?: string) =>
      scheme === undefined ? '<hidden>' : `${scheme} <hidden>`,
    )
  if (name === 'location')
    return URL.canParse(value) ? hideQuery(new URL(value)) : value.replace(/\?.*/s, '?<hidden>')
  return secretHeader.test(name) ? '<hidden>' : value
}

/** Values are hidden, except for the one that the contract fixes (`alt=sse`). */
function hideQuery(url: URL): string {
  const shown = new URL(url)
  for (const name of new Set(shown.searchParams.keys())) {
    if (name !== 'alt') shown.searchParams.set(name, 'hidden')
  }
  return shown.href
}

/** Whatever costs money is counted, even if it does not say what it is. */
const nothingKnown: Creation = { model: null, count: 1, of: 'text' }

/**
 * Sends a request, again where that cannot cost twice. @returns a reply of status 200 to 299, which has to be closed:
 * `--timeout` holds until then. @throws ModelgateError for everything that can go wrong
 */
export async function sendRequest(gateway: Gateway, request: GatewayRequest): Promise<GatewayReply> {
  const failed = request.kind === 'read' ? undefined : await gateway.admit?.(request.creation ?? nothingKnown)
  const { signal, end } = startTotalLimit(gateway)
  try {
    const reply = await sendWithRetries(gateway, request, signal, async (opened) => opened)
    const close = () => {
      end?.()
      reply.close()
    }
    return { ...reply, close }
  } catch (error) {
    end?.()
    failed?.(error)
    throw error
  }
}

/** Sends a request that only reads, and reads its whole reply; one that breaks off is asked for again (fault D1). */
export async function requestWhole<Result>(
  gateway: Gateway,
  request: GatewayRequest & { readonly kind: 'read' },
  read: (reply: GatewayReply) => Promise<Result>,
): Promise<Result> {
  const { signal, end } = startTotalLimit(gateway)
  try {
    return await sendWithRetries(gateway, request, signal, read)
  } finally {
    end?.()
  }
}

async function sendWithRetries<Result>(
  gateway: Gateway,
  request: GatewayRequest,
  signal: AbortSignal,
  read: (reply: GatewayReply) => Promise<Result>,
): Promise<Result> {
  const trace = createTrace(gateway)
  return await withRetries(gateway, signal, async () => {
    const reply = await attemptOnce(gateway, request, signal, trace)
    return await read(reply).catch((error: unknown) => {
      const isLost =
        error instanceof ModelgateError &&
        (error.exit === 'later' || error.exit === 'unknown') &&
        error.code !== 'deadline'
      throw isLost ? new Failure(error, true) : error
    })
  })
}

/** @throws Failure where the request may be sent again */
async function attemptOnce(
  gateway: Gateway,
  request: GatewayRequest,
  signal: AbortSignal,
  trace: Trace,
  redirected = 0,
): Promise<GatewayReply> {
  const { policy } = gateway
  const wire = wireRequest(gateway, request)
  await gateway.beforeSend?.(request.kind)
  trace.request(wire)
  if (request.kind !== 'read') gateway.onSend?.()
  let reply: Reply
  try {
    reply = await exchange(wire, { ...gateway, signal })
  } catch (error) {
    if (!(error instanceof ExchangeError)) throw error
    trace.failure(error)
    throw judgeFailure(brokenError(error, request.kind), request.kind, policy)
  }
  trace.reply(reply)
  gateway.onReply?.(reply.headers)
  const mayFollow = request.kind === 'read' && redirected < maxRedirects.gateway
  const target = mayFollow ? sameOriginTarget(reply, request.url) : undefined
  if (target !== undefined) {
    reply.close()
    return attemptOnce(gateway, { ...request, url: target }, signal, trace, redirected + 1)
  }
  if (reply.status >= 200 && reply.status < 300) {
    refuseEncoding(reply)
    return { ...reply, requestId: requestIdOf(reply.headers) ?? null }
  }
  const text = await readErrorText(reply, gateway.clock)
  trace.errorBody(text)
  const error = statusError(reply.status, reply.headers, text, request.kind, gateway.clock.now())
  throw judgeFailure(error, request.kind, policy)
}

/** The key and the user's headers go to the base URL's origin and nowhere else, those for a download to its own origin. */
export function wireRequest(
  gateway: Roots & Pick<Gateway, 'key' | 'headers' | 'downloadHeaders'>,
  request: GatewayRequest,
): ExchangeRequest {
  const mayHaveKey = request.isKeyless !== true && isOwnOrigin(gateway, request.url)
  // Nothing to authorize with: an address is being tried out.
  const hasKey = mayHaveKey && gateway.key !== ''
  return {
    method: request.method,
    url: request.url,
    headers: {
      ...(hasKey ? { authorization: `Bearer ${gateway.key}` } : {}),
      accept: request.accept,
      // Compressed bodies can be truncated unnoticed.
      'accept-encoding': 'identity',
      'user-agent': `modelgate/${__VERSION__}`,
      ...(request.contentType === undefined ? {} : { 'content-type': request.contentType }),
      ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
      ...(mayHaveKey ? gateway.headers : gateway.downloadHeaders?.[request.url.origin]),
    },
    ...(request.body === undefined ? {} : { body: request.body }),
    onReplyBytes: request.onReplyBytes,
  }
}

interface JsonPost extends Pick<GatewayRequest, 'kind' | 'creation' | 'idempotencyKey'> {
  readonly body: unknown
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly streamed?: boolean
}

export function jsonRequest(
  roots: Roots,
  path: string,
  { body, query, streamed = false, ...request }: JsonPost,
): GatewayRequest {
  return {
    ...request,
    method: 'POST',
    url: endpointUrl(roots, path, query),
    accept: streamed ? 'text/event-stream' : 'application/json',
    contentType: 'application/json',
    body: jsonBody(body),
  }
}

export function lookUpRequest(
  roots: Roots,
  path: string,
  query?: Readonly<Record<string, string>>,
): GatewayRequest {
  return { method: 'GET', url: endpointUrl(roots, path, query), kind: 'read', accept: 'application/json' }
}

export function jsonBody(value: unknown): RequestBody {
  const bytes = Buffer.from(JSON.stringify(value))
  return { length: bytes.length, chunks: () => [bytes] }
}

/** @throws ContractError */
export function refuseEncoding({ headers, close }: Reply): void {
  const encoding: string = headers['content-encoding'] ?? ''
  // A relay that passes headers on may give one twice (quirk 30).
  if (/^[\s,]*(?:identity[\s,]*)*$/i.test(encoding)) return
  close()
  const message = `The reply is encoded (${encoding.slice(0, 40)}), which was not requested.`
  throw new ContractError('reply_not_understood', message)
}
