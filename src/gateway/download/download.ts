import { requestUrl } from './request-url.ts'
import { Transfer, type DownloadSink, type TransferOptions } from './transfer.ts'
import { createUrlPolicy, refused, type Network, type UrlPolicy } from './url-policy.ts'
import { ExchangeError } from '../exchange-error.ts'
import type { ExitName, ModelgateError } from '../../errors.ts'
import type { Gateway } from '../gateway.ts'
import { maxResultBytes } from '../base64.ts'
import { readBody } from '../reply-body.ts'
import { brokenError } from '../gateway-errors.ts'
import { judgeFailure, withRetries } from '../retry.ts'
import { startTotalLimit } from '../time-limits.ts'
import { createTrace } from '../send-request.ts'
import { rootOf, type Roots } from '../url.ts'

export interface DownloadOptions extends Partial<Omit<TransferOptions, 'sink'>> {
  /** Whether addresses that are not public are allowed. */
  readonly allowPrivate?: boolean
  readonly network?: Network | undefined
  /** Whether the content has expired: then it is not waited for. */
  readonly isExpired?: (() => boolean) | undefined
}

/**
 * Fetches a result into a writer, which the caller ends. `data:` is decoded here. What breaks off, or ends in order and
 * is not whole by its container, is requested again from its beginning.
 * @param url absolute, or relative to the base URL
 * @returns whether the transport showed where the content ends
 * @throws ContractError (8) for a URL that is refused, content over the limit, and content that came whole and is
 *   damaged; ModelgateError 4 for an expired URL, 5 for a server that keeps failing or content that stays cut, 6 for one
 *   that cannot be reached
 */
export function download(
  gateway: Gateway,
  url: string,
  sink: DownloadSink,
  options: DownloadOptions = {},
): Promise<boolean> {
  return createDownload(gateway, sink, options).from(url)
}

export type Download = ReturnType<typeof createDownload>

/** The same, for content that may be at several URLs. After one that failed, another may be given: it begins again. */
export function createDownload(
  gateway: Gateway,
  sink: DownloadSink,
  { maxBytes = maxResultBytes, allowPrivate = false, network, isExpired, ...options }: DownloadOptions = {},
) {
  const transfer = new Transfer({ sink, maxBytes, ...options })
  const { proxies, clock } = gateway
  return {
    async from(url: string): Promise<boolean> {
      if (/^\s*data:/i.test(url)) return this.fromText(url)
      const address = parseResultUrl(url, gateway)
      if (address === undefined) throw refused('it is not a valid URL.')
      const policy = createUrlPolicy({ gateway, allowPrivate, network, proxied: proxies && clock })
      const limit = startTotalLimit(gateway)
      try {
        const guarded = { ...gateway, signal: limit.signal }
        await fetchAll(guarded, address, transfer, policy, isExpired?.() !== true)
      } finally {
        limit.end?.()
      }
      return transfer.isFramed
    },
    /** Takes content that came in the reply itself, as base64 or a data URL. @throws ContractError `damaged_media` */
    async fromText(text: string): Promise<boolean> {
      await transfer.takeText(text)
      return true
    },
  }
}

/** Takes the whole content, from its beginning with each attempt. */
async function fetchAll(
  gateway: Gateway,
  url: URL,
  transfer: Transfer,
  policy: UrlPolicy,
  mayAppear: boolean,
): Promise<void> {
  const tools = { policy, trace: createTrace(gateway), mayAppear }
  const stalled = (seconds: number) => stalledDownload(url, seconds)
  await withRetries(gateway, gateway.signal, async () => {
    try {
      const reply = await requestUrl(gateway, url, tools)
      await transfer.take({ ...reply, body: readBody(gateway, reply, { stalled }) })
    } catch (error) {
      if (!(error instanceof ExchangeError)) throw error
      if (policy.refusal !== undefined) throw policy.refusal
      throw judgeFailure(brokenError(error, 'read'), 'read', gateway.policy)
    }
  })
}

/** After this error the download begins again. */
function stalledDownload({ host }: URL, seconds: number): ExchangeError {
  const message = `The content from ${host} made no progress for ${seconds} s.`
  return new ExchangeError('body', 'timeout', message)
}

/** Maximum length of a URL, except a `data:` URL. */
const maxUrlLength = 65_536

/** Relays send URLs without an origin (quirk 14): these belong below the base URL. Undefined for an invalid URL. */
function parseResultUrl(url: string, roots: Roots): URL | undefined {
  const base = new URL(rootOf(roots, url))
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  return (url.length > maxUrlLength ? null : URL.parse(url.trim(), base)) ?? undefined
}

/**
 * The URL of a result in a form that can be fetched: absolute, and without characters that no URL has.
 * A URL that is both stays as the gateway sent it.
 */
export function absoluteUrl(url: string, roots: Roots): string {
  const plain = url.trim()
  const isWhole = /^[a-z][a-z\d+.-]*:[^\0-\x20\x7f]*$/i.test(plain)
  return isWhole ? plain : (parseResultUrl(plain, roots)?.href ?? plain.replaceAll(/[\0-\x1f\x7f]/g, ''))
}

/** Whether what an address named is gone for good: it says so (HTTP 410), or in words. Another refusal may pass. */
export function isGone({ code, facts: { httpStatus = 0 } }: ModelgateError): boolean {
  return code === 'url_expired' && httpStatus !== 401 && httpStatus !== 403
}

/** Faults of this machine, and signals: they say themselves what they are. */
const ownExits: ReadonlySet<ExitName> = new Set(['bug', 'io', 'interrupt', 'hangup', 'terminate'])

/**
 * The error of a result that is made and billed, and could not be fetched: exit 11, since its address may be asked again,
 * free, until it expires; 4 once it has.
 */
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
