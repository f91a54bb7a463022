import { Readable, pipeline, type Transform } from 'node:stream'
import { exchange, type ExchangeRequest, type Reply, type ConnectionOptions } from './exchange.ts'
import type { Clock } from '../context.ts'
import { createUrlPolicy } from './download/url-policy.ts'

export interface PassedRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** As the caller sent them: other keys are left out. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body?: Uint8Array | undefined
  readonly signal: AbortSignal
}

interface UpstreamOptions extends ConnectionOptions {
  /** An origin, and the path in front of those of the endpoints. */
  readonly baseUrl: URL
  /** In place of the callers' own. */
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly clock: Clock
  /** All other limits are the caller's, whose connection ends then. */
  readonly connectMs: number | undefined
}

/** The gateway that a recorder passes requests of other programs on to, each on a connection of its own and sent once. */
export function createUpstream(options: UpstreamOptions) {
  const { baseUrl, key, clock, connectMs, proxies } = options
  const limits = { connect: connectMs, firstByte: undefined, idle: undefined }
  const pass = async (
    { method, body, signal }: PassedRequest,
    url: URL,
    headers: ExchangeRequest['headers'],
    connection: Partial<ConnectionOptions> = {},
  ) => {
    const sent = body && { body: { length: body.length, chunks: () => [body] } }
    const request = { method, url, headers, ...sent }
    return decoded(await exchange(request, { ...options, ...connection, clock, limits, signal }))
  }
  return {
    baseUrl,
    key,
    /** @param path of the endpoint, with its query. @throws ExchangeError; the signal's reason */
    send(request: PassedRequest, path: string): Promise<Reply> {
      // Set part by part, so that no path leads to another host.
      const url = new URL(baseUrl)
      const [pathname = '', query = ''] = path.split(/\?(.*)/s)
      url.pathname = baseUrl.pathname.replace(/\/+$/, '') + pathname
      url.search = query
      const inQuery = url.searchParams.get('key')
      // Google's clients may send it in the URL, which services log.
      url.searchParams.delete('key')
      return pass(request, url, {
        ...passedOn(request.headers),
        ...keyHeaders(request.headers, inQuery, key),
        ...options.headers,
      })
    },
    /** Without the key unless the URL is the gateway's own. @throws ContractError for a refused URL; as `send` */
    async fetch(request: PassedRequest, address: string): Promise<Reply> {
      const url = new URL(address)
      const policy = createUrlPolicy({ gateway: { baseUrl }, allowPrivate: false, proxied: proxies && clock })
      await policy.check(url)
      const own =
        url.origin === baseUrl.origin ? { ...keyHeaders(request.headers, null, key), ...options.headers } : {}
      try {
        return await pass(request, url, { ...passedOn(request.headers), ...own }, { lookup: policy.lookup })
      } catch (error) {
        throw policy.refusal ?? error
      }
    },
  }
}

/** Those of one connection (RFC 9110, section 7.6.1), of its target, with keys, and of browsers. */
const ownHeaders =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|content-length|accept-encoding|authorization|x-goog-api-key|api-key|x-api-key|cookie|origin|referer|sec-.*)$/i

function passedOn(headers: PassedRequest['headers']): Record<string, string> {
  const passed = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    value === undefined || ownHeaders.test(name)
      ? []
      : [[name, Array.isArray(value) ? value.join(', ') : value]],
  )
  return { ...Object.fromEntries(passed), 'accept-encoding': 'identity' }
}

/** The key in the form in which the caller sent its own; as the specification says if it sent none. */
function keyHeaders(
  { authorization, 'x-goog-api-key': google }: PassedRequest['headers'],
  inQuery: string | null,
  key: string | undefined,
): Record<string, string> {
  if (typeof authorization === 'string') {
    return { authorization: key === undefined ? authorization : `Bearer ${key}` }
  }
  const own = typeof google === 'string' ? google : (inQuery ?? undefined)
  if (own !== undefined) return { 'x-goog-api-key': key ?? own }
  return key === undefined ? {} : { authorization: `Bearer ${key}` }
}

/** Services may compress although they were asked not to. What has an unknown encoding stays as it is. */
async function decoded(reply: Reply): Promise<Reply> {
  const { 'content-encoding': encoding = 'identity', ...others } = reply.headers
  if (/^identity$/i.test(encoding.trim())) return { ...reply, headers: others, body: copied(reply.body) }
  const decoder = await decoderOf(encoding.trim().toLowerCase())
  if (decoder === undefined) return { ...reply, body: copied(reply.body) }
  const { 'content-length': _, ...headers } = others
  // The last of them reports what goes wrong in any.
  const body = pipeline(Readable.from(copied(reply.body)), decoder, () => {})
  return { ...reply, headers, body }
}

async function decoderOf(encoding: string): Promise<Transform | undefined> {
  const zlib = await import('node:zlib')
  if (encoding === 'gzip' || encoding === 'x-gzip') return zlib.createGunzip()
  if (encoding === 'deflate') return zlib.createInflate()
  if (encoding === 'br') return zlib.createBrotliDecompress()
  return encoding === 'zstd' ? zlib.createZstdDecompress() : undefined
}

/** The memory of a chunk is reused, and whoever writes it to another connection needs it for longer. */
async function* copied(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield Buffer.from(chunk)
}
