import { urlLifetimeMinutes } from '../../contract/images.ts'
import { ContractError, ModelgateError, type ExitName } from '../../errors.ts'
import { endsEarly, short, unknownEnd, type Integrity } from '../../files/containers.ts'
import { damagedMedia, type MediaFile } from '../../files/media-file.ts'
import { createMediaDecoder, maxResultBytes } from '../base64.ts'
import { exchange, type Reply, type ReplyHeaders } from '../exchange.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { Gateway } from '../gateway.ts'
import { brokenError, statusError } from '../gateway-errors.ts'
import { startTotalLimit } from '../time-limits.ts'
import {
  readBody,
  readErrorText,
  createTrace,
  refuseEncoding,
  wireRequest,
  type Trace,
} from '../send-request.ts'
import { Failure, judgeFailure, withRetries } from '../retry.ts'
import { isOwnOrigin, maxRedirects, redirectStatuses, rootOf, type Roots } from '../url.ts'
import { createUrlPolicy, refused, type Network, type UrlPolicy } from './url-policy.ts'

/** Where a download goes; what cannot be checked leaves out the rest. */
export type DownloadSink = Pick<MediaFile<unknown>, 'write' | 'restart'> &
  Partial<Pick<MediaFile<unknown>, 'noun' | 'integrity'>>

export interface DownloadOptions {
  readonly maxBytes?: number
  /** Whether addresses that are not public are allowed. */
  readonly allowPrivate?: boolean
  readonly network?: Network | undefined
  /** Whether the content has expired: then it is not waited for. */
  readonly isExpired?: (() => boolean) | undefined
  /** In bytes. */
  readonly onProgress?: ((progress: { received: number; total: number | null }) => void) | undefined
  /** For content that is JSON or HTML, for media that never begin so. @param text its beginning */
  readonly textError?: ((text: string) => ContractError) | undefined
}

/**
 * Fetches a result into a sink that the caller ends. What breaks off, or is not whole by its container, is requested again.
 * @param url absolute, relative to the base URL, or `data:`
 * @returns whether the transport showed where the content ends: else it may have been cut anywhere
 * @throws ContractError 8 for what is refused, too large, or came whole and damaged; ModelgateError 4 for an expired URL,
 *   5 for a server that keeps failing or content that stays cut, 6 for one that cannot be reached
 */
export function download(
  gateway: Gateway,
  url: string,
  sink: DownloadSink,
  options: DownloadOptions = {},
): Promise<boolean> {
  return createDownload(gateway, sink, options).from(url)
}

const sliceLength = 1_048_576

/** The content may be at several URLs: after one that failed, it begins again. */
export function createDownload(gateway: Gateway, sink: DownloadSink, options: DownloadOptions) {
  const { maxBytes = maxResultBytes, textError } = options
  let isFramed = true
  let received = 0
  let total: number | null = null

  const begin = async (framed: boolean, length: number | null) => {
    if (received > 0) await sink.restart()
    isFramed = framed
    total = length
    received = 0
  }

  const add = async (chunk: Uint8Array) => {
    received += chunk.length
    if (received > maxBytes) throw tooLarge(maxBytes)
    await sink.write(chunk)
    options.onProgress?.({ received, total })
  }

  /** @returns why it is not whole, by its container. @throws ContractError when it is empty */
  const end = (): ModelgateError | undefined => {
    if (received === 0) {
      if (isFramed) throw empty()
      return downloadCut('no data arrived')
    }
    const { state, damage } = judge(sink, isFramed, received)
    if (damage === undefined) return undefined
    const isCut = state === 'short' && !isFramed
    return isCut ? downloadCut(damage) : damagedMedia(sink.noun ?? 'image', damage, undefined)
  }

  /** @throws ExchangeError when it breaks off; ContractError when it is too large, empty or a text; Failure */
  const take = async ({ headers, body, close }: Reply) => {
    try {
      const length = lengthOf(headers)
      if ((length ?? 0) > maxBytes) throw tooLarge(maxBytes)
      await begin(isDelimited(headers), length)
      for await (const chunk of body) {
        if (textError !== undefined && received === 0 && beginsText(chunk)) {
          throw textError(await readText(chunk, body))
        }
        await add(chunk)
      }
      const damage = end()
      if (damage !== undefined) throw new Failure(damage, true)
    } finally {
      close()
    }
  }

  const fetchUrl = async (limited: Gateway, url: URL) => {
    const { allowPrivate = false, network, isExpired } = options
    const { proxies, clock, policy: retries, signal } = limited
    const policy = createUrlPolicy({ gateway, allowPrivate, network, proxied: proxies && clock })
    const tools = { policy, trace: createTrace(gateway), mayAppear: isExpired?.() !== true }
    // Not the usual error: it begins again.
    const stalled = (seconds: number) =>
      new ExchangeError(
        'stream',
        'timeout',
        `The content from ${url.host} made no progress for ${seconds} s.`,
      )
    await withRetries(limited, signal, async () => {
      try {
        const reply = await requestUrl(limited, url, tools)
        await take({ ...reply, body: readBody(limited, reply, { stalled }) })
      } catch (error) {
        if (!(error instanceof ExchangeError)) throw error
        if (policy.refusal !== undefined) throw policy.refusal
        throw judgeFailure(brokenError(error, 'read'), 'read', retries)
      }
    })
  }

  /** Base64 or a data URL. @throws ContractError `damaged_media` */
  const fromText = async (text: string): Promise<boolean> => {
    await begin(true, null)
    const decoder = createMediaDecoder(add)
    for (let at = 0; at < text.length; at += sliceLength) {
      await decoder.push(Buffer.from(text.slice(at, at + sliceLength)))
    }
    await decoder.end()
    const damage = end()
    if (damage !== undefined) throw damage
    return true
  }

  return {
    fromText,
    async from(address: string): Promise<boolean> {
      if (/^\s*data:/i.test(address)) return fromText(address)
      const limit = startTotalLimit(gateway)
      try {
        const url = parseResultUrl(address, gateway)
        if (url === undefined) throw refused('it is not a valid URL.')
        await fetchUrl({ ...gateway, signal: limit.signal }, url)
      } finally {
        limit.end?.()
      }
      return isFramed
    },
  }
}

/**
 * Follows redirects. The key is sent as long as every URL so far has been at the gateway's own origin: once another host has
 * redirected, even back to the gateway, it is not.
 * @throws Failure for an HTTP error, ContractError for what the policy refuses, ExchangeError
 */
async function requestUrl(
  gateway: Gateway,
  url: URL,
  {
    policy,
    trace,
    mayAppear,
  }: { readonly policy: UrlPolicy; readonly trace: Trace; readonly mayAppear: boolean },
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

function downloadCut(damage: string): ModelgateError {
  const message = `The connection was closed before the download was complete: ${damage}.`
  const facts = { phase: 'result', billed: 'no', hint: 'Run it again later.' } as const
  return new ModelgateError('later', 'connection_lost', message, facts)
}

function tooLarge(maxBytes: number): ContractError {
  const message = `The content at the URL is larger than ${maxBytes} bytes.`
  return new ContractError('reply_too_large', message, { billed: 'no' })
}

function empty(): ContractError {
  return new ContractError('damaged_media', 'The content at the URL is empty.', { billed: 'no' })
}

function beginsText(chunk: Uint8Array): boolean {
  // After white space.
  const first = chunk.find((byte) => byte !== 32 && (byte < 9 || byte > 13))
  return first !== undefined && '{[<'.includes(String.fromCharCode(first))
}

const maxTextLength = 65_536

async function readText(beginning: Uint8Array, rest: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder()
  let text = decoder.decode(beginning, { stream: true })
  if (text.length > maxTextLength) return text
  for await (const chunk of rest) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxTextLength) break
  }
  return text
}

/** Fewer bytes than this do not always show what kind of content they begin. */
const headBytes = 64

function judge(sink: DownloadSink, isFramed: boolean, received: number): Integrity {
  try {
    return sink.integrity?.() ?? unknownEnd
  } catch (error) {
    if (isFramed || received >= headBytes || !(error instanceof ContractError)) throw error
    return short(endsEarly)
  }
}

function isDelimited(headers: ReplyHeaders): boolean {
  return 'content-length' in headers || /chunked/i.test(headers['transfer-encoding'] ?? '')
}

function lengthOf(headers: ReplyHeaders): number | null {
  const length = Number(headers['content-length'] ?? Number.NaN)
  return Number.isSafeInteger(length) ? length : null
}

/** A `data:` URL may be longer. */
const maxUrlLength = 65_536

/** Relays send URLs without an origin (quirk 14): these belong below the base URL. */
function parseResultUrl(url: string, roots: Roots): URL | undefined {
  const base = new URL(rootOf(roots, url))
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return (url.length > maxUrlLength ? null : URL.parse(url.trim(), base)) ?? undefined
}

/** What can be fetched is absolute, and has no characters that no URL has; else the URL stays as the gateway sent it. */
export function absoluteUrl(url: string, roots: Roots): string {
  const plain = url.trim()
  const isWhole = /^[a-z][a-z\d+.-]*:[^\0-\x20\x7f]*$/i.test(plain)
  return isWhole ? plain : (parseResultUrl(plain, roots)?.href ?? plain.replaceAll(/[\0-\x1f\x7f]/g, ''))
}

/** Whether what an address named is gone for good: it says so (HTTP 410), or in words. Another refusal may pass. */
export function isGone({ code, facts: { httpStatus = 0 } }: ModelgateError): boolean {
  return code === 'url_expired' && httpStatus !== 401 && httpStatus !== 403
}

/** Faults of this machine, and signals. */
const ownExits: ReadonlySet<ExitName> = new Set(['bug', 'io', 'interrupt', 'hangup', 'terminate'])

/** The error of a result that is made and billed: exit 11, since its address may be asked again, free, until it expires. */
export function notFetched(error: ModelgateError, hasExpired: boolean): ModelgateError {
  const facts = { phase: error.exit === 'io' ? 'output' : 'result', billed: 'yes' } as const
  if (ownExits.has(error.exit)) return error.amend(facts)
  if (hasExpired || isGone(error)) return error.amend({ ...facts, exit: 'rejected', code: 'result_expired' })
  return error.amend({ ...facts, exit: 'running' })
}

/** Other hints suggest to change the request or to run it again, which does not help here. */
export function hintApplies({ exit, code }: ModelgateError): boolean {
  return exit === 'io' || exit === 'key' || code === 'url_expired' || code === 'url_refused'
}
