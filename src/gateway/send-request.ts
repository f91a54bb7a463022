import type { Creation } from '../cost/creation.ts'
import { ExchangeError } from './exchange-error.ts'
import { requestIdOf, type ExchangeRequest, type Reply, exchange, type RequestBody } from './exchange.ts'
import type { Gateway, GatewayReply, GatewayRequest } from './gateway.ts'
import { ContractError, ModelgateError } from '../errors.ts'
import { Failure, judgeFailure, withRetries } from './retry.ts'
import { endpointUrl, isOwnOrigin, maxRedirects, sameOriginTarget, type Roots } from './url.ts'
import { brokenError, statusError } from './gateway-errors.ts'
import type { Clock } from '../context.ts'
import { stalledError } from './reply-errors.ts'
import { createWatchdog, startTotalLimit } from './time-limits.ts'

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

/** Keep-alives do not count. */
interface Progress {
  readonly messages: number
  /** Of content, in messages that are not complete or altogether. */
  readonly bytes: number
}

interface BodyReading {
  /** By default the error of a request that creates something. */
  stalled?(seconds: number): Error
  /** Called after each chunk. Without it every byte counts as progress. */
  progress?(): Progress
  /** How long the body may stay open once everything has arrived: something may still follow (fault E11). */
  graceMs?(): number | undefined
}

/** If the consumer takes longer than this for a chunk, in milliseconds, it has blocked the sender. */
const noticeableMs = 100
/** A body that brings less makes no progress: no line is so slow, and web servers hold their clients to as much. */
const minBytesPerSecond = 256

/**
 * The chunks of a body, as long as it makes progress: within the limit (`--progress-timeout`) a message has to be completed, or
 * 256 bytes for each second of it received. The time that the consumer takes, such as a slow disk, is not counted.
 * @throws what `stalled` returns; ExchangeError when the connection breaks
 */
export async function* readBody(
  { clock, limits }: Pick<Gateway, 'clock'> & { readonly limits: Pick<Gateway['limits'], 'progress'> },
  reply: Pick<Reply, 'body' | 'close'>,
  { stalled = stalledError, progress, graceMs }: BodyReading,
): AsyncGenerator<Uint8Array> {
  const limitS = (limits.progress ?? 0) / 1000
  let stall: Error | undefined
  let isTaken = false
  let known: Progress = { messages: 0, bytes: 0 }
  /** Bytes since the last progress. */
  let received = 0
  const watchdog = createWatchdog(clock)
  const watch = () => watchdog.watch(limits.progress, () => (isTaken ? watch() : giveUp()))
  const giveUp = () => {
    stall = stalled(limitS)
    reply.close()
  }
  const grace = createWatchdog(clock)
  const allow = (ms: number) => grace.watch(ms, () => (isTaken ? allow(ms) : reply.close()))
  watch()
  try {
    for await (const chunk of reply.body) {
      const begun = clock.monotonic()
      isTaken = true
      yield chunk
      isTaken = false
      const before = known
      known = progress?.() ?? { messages: 0, bytes: before.bytes + chunk.length }
      const isCompleted = known.messages > before.messages
      const bytes = Math.max(0, known.bytes - before.bytes)
      received += bytes
      const isEnough = bytes > 0 && received >= limitS * minBytesPerSecond
      if (isCompleted || isEnough || clock.monotonic() - begun > noticeableMs) {
        received = 0
        watchdog.touch()
      }
      const patience = graceMs?.()
      if (patience === undefined) grace.stop()
      // Keep-alives may never end: they do not prolong the grace.
      else if (isCompleted || bytes > 0) allow(patience)
    }
    if (stall !== undefined) throw stall
  } finally {
    watchdog.stop()
    grace.stop()
    reply.close()
  }
}

/** An error body is read up to this size, for at most this long (fault C27). */
const errorBodyBytes = 1_048_576
const errorBodyMs = 5_000

export async function readErrorText(reply: Reply, clock: Clock): Promise<string> {
  const decoder = new TextDecoder()
  const timer = clock.timer(errorBodyMs, () => reply.close())
  let text = ''
  let bytes = 0
  try {
    for await (const chunk of reply.body) {
      text += decoder.decode(chunk, { stream: true })
      if ((bytes += chunk.length) > errorBodyBytes) break
    }
  } catch (error) {
    // The status alone suffices; what was read of the body may help.
    if (!(error instanceof ExchangeError)) throw error
  } finally {
    timer.cancel()
    reply.close()
  }
  return text
}
