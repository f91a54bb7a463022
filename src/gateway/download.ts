import { sleep } from '../context.ts'
import { ModelgateError } from '../errors.ts'
import { readDataUrl } from './download/data-url.ts'
import { createDownloadRetries, type DownloadRetry } from './download/download-retries.ts'
import { requestUrl } from './download/request-url.ts'
import { createTransfer, type Transfer } from './download/transfer.ts'
import { createUrlPolicy, refused, type Network, type UrlPolicy } from './download/url-policy.ts'
import { DeadlinePassed, ExchangeError } from './exchange-error.ts'
import type { Gateway } from './gateway.ts'
import type { ImageWriter } from './images/image-receiver.ts'
import { startTotalLimit } from './total-limit.ts'
import { createTrace } from './trace.ts'

export interface DownloadOptions {
  /** Larger content is refused; 2 GiB when left out (faults, section 1.5). */
  readonly maxBytes?: number
  /** Whether addresses that are not public may be fetched from. */
  readonly allowPrivate?: boolean
  readonly network?: Network
}

export interface Downloaded {
  readonly bytes: number
  /** As the server declares it; empty when it does not. */
  readonly contentType: string
}

const defaultMaxBytes = 2 ** 31
/** No address is longer, but for one that holds its content itself. */
const longestUrl = 65_536

/**
 * Fetches a result into a writer, which the caller ends. Rules for addresses: faults, S6; `data:` is decoded here.
 * What breaks off is resumed where the server can do that, else compared with what has been written.
 * @param url absolute, or relative to the base URL
 * @throws ContractError (8) for a URL that is refused and content over the limit; ModelgateError 4 for an expired
 *   URL, 5 for a server that keeps failing, 6 for one that cannot be reached
 */
export async function download(
  gateway: Gateway,
  url: string,
  sink: ImageWriter,
  { maxBytes = defaultMaxBytes, allowPrivate = false, network }: DownloadOptions = {},
): Promise<Downloaded> {
  const write = (bytes: Uint8Array) => sink.write(bytes)
  if (/^\s*data:/i.test(url)) return readDataUrl(url.trim(), write, maxBytes)
  const policy = createUrlPolicy({ baseUrl: gateway.baseUrl, allowPrivate, network })
  const transfer = createTransfer(write, maxBytes)
  const limit = startTotalLimit(gateway)
  try {
    await fetchAll({ ...gateway, signal: limit.signal }, absolute(url, gateway.baseUrl), transfer, policy)
  } finally {
    limit.end()
  }
  return { bytes: transfer.received, contentType: transfer.contentType }
}

/** Relays give addresses without an origin (quirk 14): these belong below the base URL. */
function absolute(url: string, baseUrl: URL): URL {
  const base = new URL(baseUrl)
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  const found = url.length > longestUrl ? null : URL.parse(url.trim(), base)
  if (found === null) throw refused('it is not a valid URL.')
  return found
}

async function fetchAll(gateway: Gateway, url: URL, transfer: Transfer, policy: UrlPolicy): Promise<void> {
  const tools = { policy, trace: createTrace(gateway) }
  const retries = createDownloadRetries(gateway.policy)
  for (;;) {
    try {
      return await transfer.take(await requestUrl(gateway, url, transfer.headers(), tools))
    } catch (failure) {
      if (failure instanceof ExchangeError && policy.refusal !== undefined) throw policy.refusal
      const retry = retries.next(failure, gateway.clock.random())
      if (retry.waitS === undefined) throw retry.error
      if (retry.fromStart) transfer.restart()
      tellRetry(gateway, retry, retry.waitS)
      await sleep(gateway.clock, retry.waitS * 1000, gateway.signal).catch((reason: unknown) => {
        throw reason instanceof DeadlinePassed ? retry.error : reason
      })
    }
  }
}

function tellRetry(
  { onRetry }: Gateway,
  { error, attempt, attemptsLeft }: DownloadRetry,
  waitS: number,
): void {
  onRetry({
    attempt,
    attempts_left: attemptsLeft,
    wait_s: Math.round(waitS * 1000) / 1000,
    http_status: error instanceof ModelgateError ? (error.facts.httpStatus ?? null) : null,
    reason: error instanceof Error ? error.message : String(error),
  })
}
