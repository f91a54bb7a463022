import { ContractError, ModelgateError } from '../../errors.ts'
import { redirectTarget } from '../../gateway/download/download.ts'
import { createUrlPolicy, refused } from '../../gateway/download/url-policy.ts'
import type { ExchangeRequest, Reply } from '../../gateway/exchange.ts'
import { maxRedirects, redirectStatuses } from '../../gateway/url.ts'
import { isLoopback } from '../../loopback.ts'
import { saveBytes } from './file-digest.ts'
import { invalidStore, maxBlobBytes, type ByteSource } from './blob-store.ts'
import {
  connectStore,
  isForTheMoment,
  unavailable,
  type StoreContext,
  type StoreNetwork,
} from './store-request.ts'

/**
 * A plain web server, which is only read: `BASE/ab/abcd…`. Neither it nor a host that it redirects to is sent
 * credentials. A bucket that may not be listed answers 403 for what it does not hold, so that counts as absent.
 * @param location its query, as of a signed address, is part of each request
 */
export function openHttpsStore(
  context: StoreContext,
  location: string,
  network: Pick<StoreNetwork, 'connection' | 'trace'>,
): ByteSource {
  const { clock } = context
  const base = parseBase(location)
  const shown = base.origin + base.pathname
  const proxied = network.connection.proxies === undefined ? undefined : clock

  async function follow(sha256: string, path: string, maxBytes: number): Promise<boolean> {
    const policy = createUrlPolicy({ gateway: { baseUrl: base }, allowPrivate: false, proxied })
    const connection = { ...network.connection, lookup: policy.lookup }
    const send = connectStore(context, { ...network, connection }, shown)
    let url = new URL(base)
    url.pathname += `${sha256.slice(0, 2)}/${sha256}`
    for (let hops = 0; hops <= maxRedirects.download; hops++) {
      // A redirect never leaves TLS, and clear text never leaves this machine.
      const isClear = url.protocol !== 'https:'
      if (isClear && (base.protocol === 'https:' || !isAllowed(url))) {
        throw refused(`${url.protocol} URLs are not allowed.`)
      }
      await policy.check(url)
      const next = async () => {
        // Of a name that leads to this network the connection only says that it has failed.
        if (policy.refusal !== undefined) throw policy.refusal
        return requestOf(url)
      }
      const found = await send(next, async (reply) => {
        if (redirectStatuses.has(reply.status)) return redirectTarget(reply, url)
        if (reply.status !== 200) return absentOrFailed(shown, reply, clock.now())
        return await saveBytes(context, reply.body, { sha256, maxBytes }, path)
      })
      if (!(found instanceof URL)) return found
      url = found
    }
    throw refused(`it redirects more than ${maxRedirects.download} times.`)
  }

  return {
    shown,
    async fetch(sha256, path, maxBytes = maxBlobBytes) {
      return await follow(sha256, path, maxBytes).catch((error: unknown) => {
        const isRefused = error instanceof ContractError && error.code === 'url_refused'
        throw isRefused ? error.amend({ message: `The store ${shown}: ${error.message}`, hint: null }) : error
      })
    },
  }
}

function requestOf(url: URL): ExchangeRequest {
  return {
    method: 'GET',
    url,
    headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': `modelgate/${__VERSION__}` },
  }
}

/** @returns false for a server without the object */
function absentOrFailed(shown: string, reply: Reply, now: number): false {
  const { status } = reply
  if (status === 401) {
    throw new ModelgateError('key', 'store_refused', `The store ${shown} demands credentials (401).`, {
      phase: 'connect',
      billed: 'no',
      httpStatus: status,
      hint: 'No credentials are sent to a web server: use a folder or s3://bucket/prefix.',
    })
  }
  const isRepeatable = isForTheMoment(status)
  if (status < 500 && !isRepeatable) return false
  throw unavailable(shown, `${status}`, reply, now, isRepeatable)
}

/** @throws UsageError, in which none but the origin and path of the address is shown */
function parseBase(location: string): URL {
  const refuse = (problem: string) => invalidStore(problem, 'Write it like https://assets.example/shop.')
  const url = URL.parse(location)
  if (url === null) throw refuse('The address of the store is not valid.')
  if (url.username !== '' || url.password !== '') {
    throw refuse(`The address of the store at ${url.host} has a user name or a password in it.`)
  }
  if (!isAllowed(url)) throw refuse(`The store at ${url.host} would send files in clear text.`)
  url.pathname = url.pathname.replace(/\/*$/, '/')
  url.hash = ''
  return url
}

function isAllowed({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}
